import type { Migration } from './index.js';

export const recursiveBatches: Migration = {
  version: 8,
  name: 'recursive-batches',
  sql: `
ALTER TABLE assay.work DROP CONSTRAINT work_step_check;
ALTER TABLE assay.work ADD CONSTRAINT work_step_check
  CHECK (step IN ('accept', 'opening', 'run', 'route', 'sign', 'prove', 'verify', 'join', 'sealing', 'batched', 'expire',
                  'open', 'wrap', 'post', 'audit', 'settle', 'challenge', 'pay', 'done'));
-- The order's input root is a Poseidon commitment: it is proved together with others.
ALTER TABLE assay.orders ADD COLUMN recursive boolean NOT NULL DEFAULT false;
-- Of a recursive batch: which circuit it is wrapped in, and what is put before the contract.
ALTER TABLE assay.batches ADD COLUMN circuit integer;
ALTER TABLE assay.batches ADD COLUMN evidence_file text;
`,
};
