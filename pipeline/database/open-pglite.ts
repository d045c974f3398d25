/**
 * The embedded home: PostgreSQL compiled to WebAssembly, in a data directory of one owner process.
 *
 * A commit is in the operating system's hands when it returns, so killing the process loses nothing. PGlite does not
 * flush to the disk itself (fsync is compiled out): against power loss use a PostgreSQL server.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { AssayError } from '../../common/errors.js';
import type { Database } from './database.js';
import { migrate } from './migrate.js';
import { takeOwnership } from './owner-lock.js';
import { PgliteSessions } from './pglite-sessions.js';
import { poolDatabase } from './pool-database.js';

/** Sessions cost a stream object each; the queue's workers hold one each for their notifications. */
const MAX_SESSIONS = 64;

/**
 * Opens (and creates or migrates) the database in a directory.
 * @throws AssayError DATA_DIRECTORY_BUSY when another process owns it, DATABASE_UNAVAILABLE when it cannot be opened.
 */
export async function openPglite(directory: string): Promise<Database> {
  mkdirSync(directory, { recursive: true });
  const lock = takeOwnership(directory);
  let db: PGlite | undefined;
  try {
    db = await PGlite.create(join(directory, 'pglite'));
    // Sessions share one backend: the search path is set once, for the queue; our tables name their schema.
    await db.exec('SET search_path = bullmq, public');
    const sessions = new PgliteSessions(db);
    const pool = new pg.Pool({
      stream: () => sessions.open(),
      max: MAX_SESSIONS,
      user: 'postgres',
      database: 'postgres',
    } as pg.PoolConfig);
    const held = new Set<string>();
    const opened = db;
    const database = poolDatabase({
      home: 'pglite',
      soleOwner: true,
      pool,
      where: directory,
      // All sessions are one backend, so its advisory locks exclude nobody; the directory has one owner, so a set does.
      tryLock: async (name) => {
        if (held.has(name)) return null;
        held.add(name);
        return { lost: new AbortController().signal, release: async () => void held.delete(name) };
      },
      close: async () => {
        await opened.close();
        lock.release();
      },
    });
    await migrate(database);
    return database;
  } catch (error) {
    if (db !== undefined && !db.closed) await db.close();
    lock.release();
    if (error instanceof AssayError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new AssayError('DATABASE_UNAVAILABLE', `The embedded database in ${directory} cannot be opened: ${why}.`, {
      cause: error,
      meta: { directory },
    });
  }
}
