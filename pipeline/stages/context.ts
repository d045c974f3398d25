/** What the stages work with. */
import type { BlobStore } from '../store/blob-store.js';
import type { Heads } from '../chain/chain-watch.js';
import type { TransactionJournal } from '../chain/transaction-journal.js';
import type { Database } from '../database/database.js';
import type {
  AuditorPort,
  BatchProverPort,
  BundleStore,
  ChainPort,
  CheckerPort,
  Clock,
  EncodeEvidence,
  ExecutorPort,
  ProverPort,
} from '../ports.js';
import type { Lane } from '../../receipts/types.js';

export interface StageContext {
  readonly database: Database;
  readonly store: BlobStore;
  readonly bundles: BundleStore;
  readonly executors: readonly ExecutorPort[];
  readonly checkers: readonly CheckerPort[];
  readonly provers: readonly ProverPort[];
  /** Of recursive batches; null where none are made. */
  readonly batchProver: BatchProverPort | null;
  /** Of the zk lane. */
  readonly encodeEvidence: EncodeEvidence;
  readonly auditors: readonly AuditorPort[];
  readonly chain: ChainPort;
  readonly journal: TransactionJournal;
  /** Which blocks are safe and which final, as last seen. */
  readonly heads: () => Heads | null;
  readonly clock: Clock;
  readonly openLanes: readonly Lane[];
  /** An executor or checker that takes longer on one job has vanished. */
  readonly executeTimeoutMs: number;
  /** A prover that takes longer on one job is stopped. */
  readonly proveTimeoutMs: number;
  /** Blocks, a transaction's own included, before anything is built on it. */
  readonly confirmations: number;
  /** How long a step sleeps when the chain is not ready. */
  readonly pollMs: number;
}
