/** Brings the tables of schema `assay` to the version of this build, in one transaction. */
import { AssayError } from '../../common/errors.js';
import type { Database } from './database.js';
import { MIGRATIONS } from './migrations/index.js';

/** Serialises starters; the digits spell nothing, they only must never change. */
const MIGRATION_LOCK = 7_221_913;

/** @throws AssayError DATABASE_NEWER when a newer Assay has migrated this database. */
export async function migrate(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await tx.execute('CREATE SCHEMA IF NOT EXISTS assay');
    await tx.execute(
      'CREATE TABLE IF NOT EXISTS assay.migration (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())',
    );
    const [row] = await tx.query<{ version: number }>(
      'SELECT COALESCE(MAX(version), 0)::int AS version FROM assay.migration',
    );
    const found = row!.version;
    const newest = MIGRATIONS[MIGRATIONS.length - 1]!.version;
    if (found > newest) {
      throw new AssayError(
        'DATABASE_NEWER',
        `The database is at schema version ${found}; this build knows up to ${newest}.`,
        {
          meta: { found, newest },
        },
      );
    }
    for (const { version, name, sql } of MIGRATIONS) {
      if (version <= found) continue;
      await tx.execute(sql);
      await tx.execute('INSERT INTO assay.migration (version, name) VALUES ($1, $2)', [version, name]);
    }
  });
}
