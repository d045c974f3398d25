import type { Migration } from './index.js';

/**
 * Times are bigint milliseconds since 1970 by the pipeline's clock, hashes and addresses 0x-hex in lower case, amounts
 * stand inside the JSON of order and receipt as decimal strings.
 */
export const pipelineTables: Migration = {
  version: 1,
  name: 'pipeline tables',
  sql: `
-- Names this set of tables, so that two deployments on one Redis do not take each other's hints.
CREATE TABLE assay.deployment (id text PRIMARY KEY);
INSERT INTO assay.deployment (id) VALUES (gen_random_uuid()::text);

-- A process that works on these tables. What a dead one had claimed is taken up again.
CREATE TABLE assay.instances (
  id           text   PRIMARY KEY,
  pid          integer NOT NULL,
  started_at   bigint NOT NULL,
  heartbeat_at bigint NOT NULL
);

-- What is to be done next for every order and every batch. This table is the truth; the queue only hints at it.
-- 'attempt' is the fence: it grows with every step and every retry, and each commit names the attempt that it belongs to.
CREATE TABLE assay.work (
  subject    text    PRIMARY KEY,
  kind       text    NOT NULL CHECK (kind IN ('order', 'batch')),
  step       text    NOT NULL CHECK (step IN ('run', 'route', 'sign', 'sealing', 'batched', 'post', 'audit', 'settle', 'done')),
  attempt    integer NOT NULL,
  -- Failures of this step in a row.
  retries    integer NOT NULL DEFAULT 0,
  due_at     bigint  NOT NULL,
  hinted_at  bigint  NOT NULL,
  claimed_by text,
  claimed_at bigint,
  last_error jsonb
);
CREATE INDEX work_due ON assay.work (due_at) WHERE step NOT IN ('sealing', 'batched', 'done');

CREATE TABLE assay.attempts (
  subject    text    NOT NULL REFERENCES assay.work (subject),
  attempt    integer NOT NULL,
  step       text    NOT NULL,
  instance   text    NOT NULL,
  -- Executor at work, where the step has one.
  executor   text,
  started_at bigint  NOT NULL,
  ended_at   bigint,
  outcome    text    CHECK (outcome IN ('done', 'waiting', 'failed', 'lost')),
  error      jsonb,
  PRIMARY KEY (subject, attempt)
);

-- Written in the transaction of the change that makes a step due; a relay turns rows into queue jobs.
CREATE TABLE assay.outbox (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subject text    NOT NULL,
  step    text    NOT NULL,
  attempt integer NOT NULL
);

CREATE TABLE assay.nodes (
  address      text PRIMARY KEY,
  engine       text NOT NULL,
  operator     text NOT NULL,
  suspended_at bigint,
  reason       text
);

CREATE TABLE assay.orders (
  order_hash      text   PRIMARY KEY REFERENCES assay.work (subject),
  requester       text   NOT NULL,
  idempotency_key text   NOT NULL,
  order_json      jsonb  NOT NULL,
  signature       text   NOT NULL,
  model_digest    text   NOT NULL,
  input_file      text   NOT NULL,
  -- Lane and the reasons of the routing policy, as recorded by the route step.
  lane_decision   jsonb,
  -- The one that the requester named; null: any.
  wanted_executor text,
  executor        text,
  outcome         text   CHECK (outcome IN ('accepted', 'rejected', 'void', 'failed')),
  error           jsonb,
  created_at      bigint NOT NULL,
  ended_at        bigint,
  UNIQUE (requester, idempotency_key)
);

CREATE TABLE assay.executions (
  order_hash  text    PRIMARY KEY REFERENCES assay.orders (order_hash),
  executor    text    NOT NULL,
  engine      text    NOT NULL,
  input_root  text    NOT NULL,
  output_root text    NOT NULL,
  trace_root  text    NOT NULL,
  op_count    integer NOT NULL,
  output_file text    NOT NULL,
  trace_file  text,
  -- Becomes the receipt's issuedAt: fixed before signing, so that signing again gives the same receipt.
  finished_at bigint  NOT NULL
);

CREATE TABLE assay.batches (
  batch_hash   text    PRIMARY KEY REFERENCES assay.work (subject),
  salt         text    NOT NULL,
  poster       text    NOT NULL,
  count        integer NOT NULL,
  sealed_at    bigint  NOT NULL,
  commit_block bigint,
  commit_tx    text,
  -- Hash of the block that holds the commit: a reorganisation shows as another one.
  commit_block_hash text,
  header_json  jsonb,
  seed         text,
  drawn_at     bigint,
  settled_at   bigint
);

CREATE TABLE assay.receipts (
  receipt_hash text   PRIMARY KEY,
  order_hash   text   NOT NULL UNIQUE REFERENCES assay.orders (order_hash),
  executor     text   NOT NULL,
  receipt_json jsonb  NOT NULL,
  signature    text   NOT NULL,
  signed_at    bigint NOT NULL,
  batch_hash   text   REFERENCES assay.batches (batch_hash),
  batch_index  integer,
  -- What the contract answered when the batch was settled.
  chain_status text,
  UNIQUE (batch_hash, batch_index)
);
CREATE INDEX receipts_open ON assay.receipts (signed_at) WHERE batch_hash IS NULL;

-- The receipts of a batch that the seed has drawn for re-execution, and what came of it.
CREATE TABLE assay.draws (
  batch_hash  text    NOT NULL REFERENCES assay.batches (batch_hash),
  batch_index integer NOT NULL,
  order_hash  text    NOT NULL REFERENCES assay.orders (order_hash),
  finding     text    CHECK (finding IN ('match', 'fraud', 'checker-odd', 'undecided')),
  reason      text,
  PRIMARY KEY (batch_hash, batch_index)
);

CREATE TABLE assay.audits (
  batch_hash  text    NOT NULL,
  batch_index integer NOT NULL,
  round       integer NOT NULL CHECK (round IN (1, 2)),
  checker     text    NOT NULL,
  engine      text    NOT NULL,
  input_root  text    NOT NULL,
  output_root text    NOT NULL,
  trace_root  text    NOT NULL,
  finished_at bigint  NOT NULL,
  PRIMARY KEY (batch_hash, batch_index, round),
  FOREIGN KEY (batch_hash, batch_index) REFERENCES assay.draws (batch_hash, batch_index)
);

CREATE TABLE assay.verdicts (
  batch_hash   text   PRIMARY KEY REFERENCES assay.batches (batch_hash),
  verdict_json jsonb  NOT NULL,
  signatures   jsonb  NOT NULL,
  signed_at    bigint NOT NULL
);

-- An effect wanted on chain. One nonce per intent, for ever; a replacement is another transaction of the same intent.
CREATE TABLE assay.intents (
  key         text   PRIMARY KEY,
  signer      text   NOT NULL,
  nonce       bigint NOT NULL,
  to_address  text   NOT NULL,
  data        text   NOT NULL,
  created_at  bigint NOT NULL,
  mined_tx    text,
  UNIQUE (signer, nonce)
);

-- Signed bytes, stored before they are sent. After a crash the same bytes are sent again.
CREATE TABLE assay.txs (
  hash         text   PRIMARY KEY,
  intent       text   NOT NULL REFERENCES assay.intents (key),
  raw          text   NOT NULL,
  replaces     text   REFERENCES assay.txs (hash),
  signed_at    bigint NOT NULL,
  sent_at      bigint,
  block_number bigint,
  block_hash   text,
  reverted     boolean
);
`,
};
