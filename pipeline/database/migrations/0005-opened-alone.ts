import type { Migration } from './index.js';

export const openedAlone: Migration = {
  version: 5,
  name: 'opened-alone',
  sql: `
-- Whether the order gets an opening of its own.
ALTER TABLE assay.orders ADD COLUMN alone boolean NOT NULL DEFAULT false;
`,
};
