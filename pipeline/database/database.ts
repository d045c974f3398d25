/**
 * The service's own tables, behind one interface with two homes: PGlite embedded in a data directory, and a
 * PostgreSQL server. Both speak through node-postgres, so SQL, parameter and result types are the same.
 *
 * Our tables live in the schema `assay` and are always written with it: the search path belongs to the queue.
 */
import type { Pool } from 'pg';

export interface Queryable {
  /**
   * Runs one statement.
   * @param parameters values of $1, $2 ...
   * @returns the rows; bigint and numeric columns come as decimal strings, bytea as Buffer, json parsed.
   * @throws AssayError DATABASE_UNAVAILABLE when the server cannot be reached.
   */
  query<R extends object>(text: string, parameters?: readonly unknown[]): Promise<R[]>;
  /** As `query`, for statements that change rows. @returns the number of rows changed. */
  execute(text: string, parameters?: readonly unknown[]): Promise<number>;
}

/** A lock that outlives transactions; it ends with `release`, with its process, or with its connection. */
export interface AdvisoryLock {
  /** Aborts when the lock was lost without `release`: another may have it from then on. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

export interface Database extends Queryable {
  readonly home: 'pglite' | 'postgres';
  /** True where no other process can be working on these tables: an embedded directory has one owner. */
  readonly soleOwner: boolean;
  /** The connections; the queue's PostgreSQL backend shares them. */
  readonly pool: Pool;
  /** Runs the work in one transaction: commits when it resolves, rolls back and rethrows when it rejects. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /**
   * @returns the lock of that name, or null while another holder (in this process or elsewhere) has it.
   * @throws AssayError DATABASE_UNAVAILABLE
   */
  tryLock(name: string): Promise<AdvisoryLock | null>;
  close(): Promise<void>;
}
