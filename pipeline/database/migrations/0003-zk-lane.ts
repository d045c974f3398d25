import type { Migration } from './index.js';

export const zkLane: Migration = {
  version: 3,
  name: 'zk lane',
  sql: `
ALTER TABLE assay.work DROP CONSTRAINT work_step_check;
ALTER TABLE assay.work ADD CONSTRAINT work_step_check
  CHECK (step IN ('run', 'route', 'sign', 'prove', 'verify', 'sealing', 'batched', 'post', 'audit', 'settle', 'done'));

-- Receipts of the zk lane never wait for a batch.
ALTER TABLE assay.receipts ADD COLUMN lane text NOT NULL GENERATED ALWAYS AS (receipt_json ->> 'lane') STORED;
DROP INDEX assay.receipts_open;
CREATE INDEX receipts_open ON assay.receipts (lane, signed_at) WHERE batch_hash IS NULL;

-- The proof of a job of the zk lane. One that does not verify is deleted, and made again.
CREATE TABLE assay.proofs (
  order_hash     text   PRIMARY KEY REFERENCES assay.orders (order_hash),
  prover         text   NOT NULL,
  scheme         text   NOT NULL,
  proof_file     text   NOT NULL,
  -- The integers that the proof is about.
  published_file text   NOT NULL,
  proved_at      bigint NOT NULL,
  -- Null until the proof has been verified. 'match': it shows the output that the receipt states; 'executor-wrong': another.
  finding        text   CHECK (finding IN ('match', 'executor-wrong')),
  verified_at    bigint
);
`,
};
