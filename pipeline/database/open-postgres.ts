/** The server home: any PostgreSQL from version 13 on, named by a connection URL. */
import pg from 'pg';
import { AssayError } from '../../common/errors.js';
import type { Database } from './database.js';
import { migrate } from './migrate.js';
import { poolDatabase } from './pool-database.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** Each queue worker keeps one connection for its notifications; the rest serve queries. */
const MAX_CONNECTIONS = 20;

/**
 * Connects to and migrates the database.
 * @param url `postgres://user:password@host:port/name`
 * @throws AssayError DATABASE_UNAVAILABLE when it cannot be reached, CONFIG_INVALID when the URL is not one.
 */
export async function openPostgres(url: string): Promise<Database> {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new AssayError(
      'CONFIG_INVALID',
      `DATABASE_URL: expected postgres://user:password@host:port/name, found something else.`,
    );
  }
  const { host, pathname } = new URL(url);
  const where = `${host}${pathname}`;
  const pool = new pg.Pool({
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    options: '-c search_path=bullmq,public',
  });
  const database = poolDatabase({
    home: 'postgres',
    soleOwner: false,
    pool,
    where,
    tryLock: async (name) => {
      const client = await pool.connect();
      const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock(hashtext($1)) AS held', [
        `assay:${name}`,
      ]);
      if (rows[0]?.held !== true) {
        client.release();
        return null;
      }
      // The lock lives in this session: destroying the connection is the surest way to end it.
      return { release: async () => client.release(true) };
    },
    close: async () => undefined,
  });
  try {
    await migrate(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}
