/** What the stages work with. */
import type { BlobStore } from '../store/blob-store.js';
import type { TransactionJournal } from '../chain/transaction-journal.js';
import type { Database } from '../database/database.js';
import type { AuditorPort, BundleStore, ChainPort, CheckerPort, Clock, ExecutorPort, ProverPort } from '../ports.js';
import type { Lane } from '../../receipts/types.js';

export interface StageContext {
  readonly database: Database;
  readonly store: BlobStore;
  readonly bundles: BundleStore;
  readonly executors: readonly ExecutorPort[];
  readonly checkers: readonly CheckerPort[];
  readonly provers: readonly ProverPort[];
  readonly auditors: readonly AuditorPort[];
  readonly chain: ChainPort;
  readonly journal: TransactionJournal;
  readonly clock: Clock;
  readonly openLanes: readonly Lane[];
  /** An executor or checker that takes longer on one job has vanished. */
  readonly executeTimeoutMs: number;
  /** A prover that takes longer on one job is stopped. */
  readonly proveTimeoutMs: number;
  /** Blocks, its own included, before the audit acts on a commit, and before an outcome is read from a verdict. */
  readonly confirmations: number;
  /** How long a step sleeps when the chain is not ready. */
  readonly pollMs: number;
}
