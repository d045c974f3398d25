/** The server home: any PostgreSQL from version 13 on, named by a connection URL. */
import pg from 'pg';
import { AssayError } from '../../common/errors.js';
import type { AdvisoryLock, Database } from './database.js';
import { migrate } from './migrate.js';
import { poolDatabase, translate } from './pool-database.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** How often a held lock's connection is tried; a server that is gone without a word shows only by its silence. */
const LOCK_LOOK_MS = 5_000;
const LOCK_ANSWER_MS = 5_000;
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
      try {
        return await tryLock(pool, name);
      } catch (error) {
        throw translate(error, where);
      }
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

/** The lock lives in its session: it is lost with the connection, and destroying the connection is how it is released. */
async function tryLock(pool: pg.Pool, name: string): Promise<AdvisoryLock | null> {
  const client = await pool.connect();
  const lost = new AbortController();
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    clearInterval(look);
    client.release(true);
  };
  const lose = (): void => {
    if (ended) return;
    end();
    lost.abort();
  };
  let look: NodeJS.Timeout | undefined;
  client.once('error', lose);
  client.once('end', lose);
  try {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock(hashtext($1)) AS held', [
      `assay:${name}`,
    ]);
    if (rows[0]?.held !== true) {
      client.off('error', lose);
      client.off('end', lose);
      if (!ended) client.release();
      return null;
    }
  } catch (error) {
    end();
    throw error;
  }
  const ask = { text: 'SELECT 1', query_timeout: LOCK_ANSWER_MS } as pg.QueryConfig;
  if (!ended) look = setInterval(() => void client.query(ask).catch(lose), LOCK_LOOK_MS).unref();
  return { lost: lost.signal, release: async () => end() };
}
