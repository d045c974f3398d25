import type { Migration } from './index.js';

export const deploymentDomain: Migration = {
  version: 2,
  name: 'deployment domain',
  sql: `
-- The contract that these tables are about; null until the first pipeline opens on them.
ALTER TABLE assay.deployment ADD COLUMN chain_id numeric(78, 0), ADD COLUMN rollup text;
`,
};
