/** `Database` over a node-postgres pool: everything the two homes have in common. */
import type { Pool, PoolClient } from 'pg';
import { AssayError } from '../../common/errors.js';
import type { AdvisoryLock, Database, Queryable } from './database.js';

/** Failures of the way to the server, as against refusals of a statement. */
const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENOENT',
]);

/** The error of a statement, as DATABASE_UNAVAILABLE where only the way to the server failed. */
export function translate(error: unknown, where: string): unknown {
  if (!(error instanceof Error)) return error;
  const code = (error as { code?: unknown }).code;
  const lost =
    (typeof code === 'string' && (CONNECTION_CODES.has(code) || code.startsWith('08') || code.startsWith('57P'))) ||
    /Connection terminated|timeout exceeded when trying to connect|is not queryable|Query read timeout|Cannot use a pool after calling end/i.test(
      error.message,
    );
  if (!lost) return error;
  return new AssayError('DATABASE_UNAVAILABLE', `The database ${where} cannot be reached: ${error.message}.`, {
    cause: error,
    meta: { where },
  });
}

/** Queries on one connection or on the pool. */
function queryable(target: Pool | PoolClient, where: string): Queryable {
  const run = async (text: string, parameters: readonly unknown[] | undefined) => {
    try {
      return await target.query(text, parameters === undefined ? undefined : [...parameters]);
    } catch (error) {
      throw translate(error, where);
    }
  };
  return {
    query: async <R extends object>(text: string, parameters?: readonly unknown[]) =>
      (await run(text, parameters)).rows as R[],
    execute: async (text, parameters) => (await run(text, parameters)).rowCount ?? 0,
  };
}

export interface PoolDatabaseParts {
  readonly home: Database['home'];
  readonly soleOwner: boolean;
  readonly pool: Pool;
  /** What messages call this database: a directory, or host and name without password. */
  readonly where: string;
  readonly tryLock: (name: string) => Promise<AdvisoryLock | null>;
  /** Runs after the pool has ended. */
  readonly close: () => Promise<void>;
}

export function poolDatabase(parts: PoolDatabaseParts): Database {
  const { pool, where } = parts;
  // An idle connection that drops must not end the process; the next query reports it.
  pool.on('error', () => undefined);
  // Nor must one that drops while it is lent: the pool takes its own listener off it then.
  pool.on('connect', (client) => client.on('error', () => undefined));
  // Every queue and worker on this pool adds its own.
  pool.setMaxListeners(0);
  let closing: Promise<void> | undefined;
  return {
    home: parts.home,
    soleOwner: parts.soleOwner,
    pool,
    ...queryable(pool, where),
    async transaction(work) {
      let client: PoolClient;
      try {
        client = await pool.connect();
      } catch (error) {
        throw translate(error, where);
      }
      const tx = queryable(client, where);
      let broken = true;
      try {
        await tx.execute('BEGIN');
        try {
          const result = await work(tx);
          await tx.execute('COMMIT');
          broken = false;
          return result;
        } catch (error) {
          await tx.execute('ROLLBACK');
          broken = false;
          throw error;
        }
      } finally {
        // A connection in an unknown state is thrown away, which also ends its transaction.
        client.release(broken);
      }
    },
    tryLock: parts.tryLock,
    close() {
      closing ??= pool.end().then(parts.close);
      return closing;
    },
  };
}
