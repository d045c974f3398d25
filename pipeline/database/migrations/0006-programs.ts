import type { Migration } from './index.js';

export const programs: Migration = {
  version: 6,
  name: 'programs',
  sql: `
-- The program of the proof's model: what has to be on chain before its evidence is.
ALTER TABLE assay.proofs ADD COLUMN program_file text;
`,
};
