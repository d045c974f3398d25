import type { Migration } from './index.js';

export const optimisticLane: Migration = {
  version: 7,
  name: 'optimistic-lane',
  sql: `
ALTER TABLE assay.work DROP CONSTRAINT work_step_check;
ALTER TABLE assay.work ADD CONSTRAINT work_step_check
  CHECK (step IN ('accept', 'opening', 'run', 'route', 'sign', 'prove', 'verify', 'sealing', 'batched', 'expire',
                  'open', 'post', 'audit', 'settle', 'challenge', 'pay', 'done'));
`,
};
