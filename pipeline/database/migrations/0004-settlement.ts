import type { Migration } from './index.js';

export const settlement: Migration = {
  version: 4,
  name: 'settlement',
  sql: `
-- 'route' is a step of earlier releases; the database of one belongs to another contract, and is refused for that.
ALTER TABLE assay.work DROP CONSTRAINT work_step_check, DROP CONSTRAINT work_kind_check;
ALTER TABLE assay.work ADD CONSTRAINT work_kind_check CHECK (kind IN ('order', 'batch', 'opening'));
ALTER TABLE assay.work ADD CONSTRAINT work_step_check
  CHECK (step IN ('accept', 'opening', 'run', 'route', 'sign', 'prove', 'verify', 'sealing', 'batched', 'expire',
                  'open', 'post', 'audit', 'settle', 'pay', 'done'));
DROP INDEX assay.work_due;
CREATE INDEX work_due ON assay.work (due_at) WHERE step NOT IN ('opening', 'sealing', 'batched', 'done');

-- Orders that one transaction opens. Its intent is 'open-<opening>'.
CREATE TABLE assay.openings (
  opening   text    PRIMARY KEY REFERENCES assay.work (subject),
  count     integer NOT NULL,
  sealed_at bigint  NOT NULL
);

ALTER TABLE assay.orders
  -- An order names its executor itself.
  DROP COLUMN wanted_executor,
  -- By the contract's clock, as in the order.
  ADD COLUMN deliver_by  bigint,
  -- The executor's signature that lets the order be opened.
  ADD COLUMN acceptance  text,
  -- Since when it could be opened.
  ADD COLUMN accepted_at bigint,
  -- Null while it waits for one. Orders that their opening could not open wait again.
  ADD COLUMN opening     text REFERENCES assay.openings (opening),
  -- What the chain says about the order, and a block in which it did; null: to be asked again, after a reorganisation.
  ADD COLUMN chain_state text NOT NULL DEFAULT 'none' CHECK (chain_state IN ('none', 'open', 'bound', 'paid', 'slashed', 'refunded')),
  ADD COLUMN chain_block bigint;
CREATE INDEX orders_waiting ON assay.orders (accepted_at) WHERE opening IS NULL;
CREATE INDEX orders_opening ON assay.orders (opening);

ALTER TABLE assay.nodes ADD COLUMN executes boolean NOT NULL DEFAULT false;

ALTER TABLE assay.batches
  ADD COLUMN lane        text NOT NULL DEFAULT 'sampled',
  ADD COLUMN policy_hash text,
  -- By the contract's clock: until then an output may be demanded, and so nobody is paid.
  ADD COLUMN unpaid_until bigint,
  -- All receipts of the batch with their signatures, where 'receipts' does not have them all: somebody else has posted
  -- it, or a part of ours has been bound in another one.
  ADD COLUMN posted_json jsonb;
-- Somebody else's batch may hold receipts for orders that are not ours.
ALTER TABLE assay.draws DROP CONSTRAINT draws_order_hash_fkey;

-- Proof and public values as the contract reads them.
ALTER TABLE assay.proofs ADD COLUMN evidence_file text;
`,
};
