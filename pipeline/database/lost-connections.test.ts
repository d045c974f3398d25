import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresMissing, startPostgres, type PrivatePostgres } from '../../test/kill/servers/private-postgres.js';
import type { Database } from './database.js';
import { openPostgres } from './open-postgres.js';

// Vitest itself fails a file in which an error went uncaught, so every test here also says: the process lives on.
describe.skipIf(postgresMissing !== null)(
  `PostgreSQL drops connections${postgresMissing === null ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PrivatePostgres;
    let url: string;
    let database: Database;
    let admin: pg.Client;
    let stopped = false;
    beforeAll(async () => {
      server = await startPostgres();
      url = server.createDatabase('dropped');
      database = await openPostgres(url);
      admin = new pg.Client({ connectionString: url });
      admin.on('error', () => undefined);
      await admin.connect();
    });
    afterAll(async () => {
      await admin?.end();
      await database?.close();
      if (!stopped) server?.stop();
    });
    const dropAll = () =>
      admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'dropped'`,
      );

    it('one that holds a lock: the lock says so, and can be taken again', async () => {
      const lock = (await database.tryLock('poster'))!;
      expect(lock.lost.aborted).toBe(false);
      const lost = new Promise((resolve) => lock.lost.addEventListener('abort', resolve));
      await dropAll();
      await lost;
      const again = (await database.tryLock('poster'))!;
      expect(again.lost.aborted).toBe(false);
      await lock.release();
      expect(await database.tryLock('poster')).toBeNull();
      await again.release();
      expect(again.lost.aborted).toBe(false);
    });

    it('one that is lent but idle: its next statement is a typed error', async () => {
      await expect(
        database.transaction(async (tx) => {
          await dropAll();
          await new Promise((resolve) => setTimeout(resolve, 100));
          await tx.query('SELECT 1');
        }),
      ).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', kind: 'infrastructure' });
      expect(await database.query('SELECT 1 AS x')).toEqual([{ x: 1 }]);
    });

    it('all of them for good: asking for a lock is a typed error', async () => {
      const lock = (await database.tryLock('poster'))!;
      server.stop();
      stopped = true;
      await expect.poll(() => lock.lost.aborted).toBe(true);
      await expect(database.tryLock('poster')).rejects.toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        kind: 'infrastructure',
      });
    });
  },
);
