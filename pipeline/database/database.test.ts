import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresMissing, startPostgres, type PrivatePostgres } from '../../test/kill/servers/private-postgres.js';
import type { Database } from './database.js';
import { MIGRATIONS } from './migrations/index.js';
import { openPglite } from './open-pglite.js';
import { openPostgres } from './open-postgres.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-database-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function contract(open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
    await database.execute(
      'CREATE TABLE IF NOT EXISTS assay.probe (id bigint PRIMARY KEY, note text, facts jsonb, raw bytea, amount numeric(78, 0))',
    );
  });
  afterAll(async () => {
    await database?.close();
  });

  it('gives the same types back whatever the home', async () => {
    const amount = (2n ** 255n).toString();
    const facts = { a: [1, 'x', null] };
    await database.execute('INSERT INTO assay.probe VALUES ($1, $2, $3, $4, $5)', [
      '9007199254740993',
      'äöü',
      JSON.stringify(facts),
      Buffer.from([0, 255]),
      amount,
    ]);
    const rows = await database.query(
      'SELECT id, note, facts, raw, amount, true AS yes, NULL AS nothing FROM assay.probe',
    );
    expect(rows).toEqual([
      { id: '9007199254740993', note: 'äöü', facts, raw: Buffer.from([0, 255]), amount, yes: true, nothing: null },
    ]);
    expect(await database.execute('DELETE FROM assay.probe')).toBe(1);
  });

  it('commits what resolves and undoes what rejects', async () => {
    await database.transaction((tx) => tx.execute("INSERT INTO assay.probe (id, note) VALUES (1, 'kept')"));
    await expect(
      database.transaction(async (tx) => {
        await tx.execute("INSERT INTO assay.probe (id, note) VALUES (2, 'undone')");
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await database.query('SELECT note FROM assay.probe')).toEqual([{ note: 'kept' }]);
    await database.execute('DELETE FROM assay.probe');
  });

  it('keeps an open transaction apart from every other session', async () => {
    let outside: Promise<unknown[]> | undefined;
    await expect(
      database.transaction(async (tx) => {
        await tx.execute("INSERT INTO assay.probe (id, note) VALUES (3, 'mine')");
        outside = database.query('SELECT id FROM assay.probe');
        // Give the other session every chance to slip in between.
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(await tx.query('SELECT id FROM assay.probe')).toEqual([{ id: '3' }]);
        throw new Error('undo');
      }),
    ).rejects.toThrow('undo');
    expect(await outside).toEqual([]);
  });

  it('answers 200 concurrent statements, each with its own result', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => database.query<{ twice: number }>('SELECT $1::int * 2 AS twice', [i])),
    );
    expect(answers.map((rows) => rows[0]!.twice)).toEqual(Array.from({ length: 200 }, (_, i) => i * 2));
  });

  it('goes on after a refused statement, inside and outside a transaction', async () => {
    await expect(database.query('SELECT nonsense FROM nowhere')).rejects.toThrow(/nowhere/);
    await expect(database.transaction((tx) => tx.query('SELECT 1/0 AS x'))).rejects.toThrow(/zero/);
    expect(await database.query('SELECT 1 AS x')).toEqual([{ x: 1 }]);
  });

  it('rolls back the transaction of a connection that goes away', async () => {
    const client = await database.pool.connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO assay.probe (id) VALUES (4)');
    client.release(true);
    await expect.poll(() => database.query('SELECT id FROM assay.probe')).toEqual([]);
  });

  it('delivers a notification to every session that listens and to no other query', async () => {
    const clients = await Promise.all([database.pool.connect(), database.pool.connect()]);
    const heard: string[] = [];
    for (const [i, client] of clients.entries()) {
      client.on('notification', (n) => heard.push(`${i}:${n.channel}:${n.payload}`));
      await client.query('LISTEN assay_probe');
    }
    await database.query("SELECT pg_notify('assay_probe', 'hello')");
    await expect.poll(() => heard.sort()).toEqual(['0:assay_probe:hello', '1:assay_probe:hello']);
    for (const client of clients) client.release(true);
  });

  it('gives a lock to one holder at a time', async () => {
    const first = await database.tryLock('poster');
    expect(first).not.toBeNull();
    expect(await database.tryLock('poster')).toBeNull();
    const other = await database.tryLock('other');
    expect(other).not.toBeNull();
    await first!.release();
    await expect
      .poll(async () => {
        const again = await database.tryLock('poster');
        await again?.release();
        return again !== null;
      })
      .toBe(true);
    await other!.release();
  });

  it('migrates once', async () => {
    const again = await database.query<{ version: number }>('SELECT version FROM assay.migration ORDER BY version');
    expect(again).toEqual(MIGRATIONS.map(({ version }) => ({ version })));
  });
}

describe('PGlite', () => {
  contract(() => openPglite(join(scratch, 'contract')));

  it('keeps what was committed over closing and opening', async () => {
    const directory = join(scratch, 'reopened');
    const first = await openPglite(directory);
    await first.execute("INSERT INTO assay.nodes (address, engine, operator) VALUES ('0x01', 'reference', 'me')");
    await first.close();
    const second = await openPglite(directory);
    expect(await second.query('SELECT address FROM assay.nodes')).toEqual([{ address: '0x01' }]);
    await second.close();
  });

  it('brings a database of before the zk lane to the present, its receipts with it', async () => {
    const directory = join(scratch, 'older');
    const older = await openPglite(directory);
    await older.execute(`
      DROP SCHEMA assay CASCADE;
      CREATE SCHEMA assay;
      CREATE TABLE assay.migration (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
    for (const { version, name, sql } of MIGRATIONS.filter(({ version }) => version < 3)) {
      await older.execute(sql);
      await older.execute('INSERT INTO assay.migration (version, name) VALUES ($1, $2)', [version, name]);
    }
    await older.execute(`
      INSERT INTO assay.work (subject, kind, step, attempt, due_at, hinted_at) VALUES ('0x0c', 'order', 'route', 2, 0, 0);
      INSERT INTO assay.work (subject, kind, step, attempt, due_at, hinted_at) VALUES ('0x0a', 'order', 'sealing', 3, 0, 0);
      INSERT INTO assay.orders (order_hash, requester, idempotency_key, order_json, signature, model_digest, input_file, created_at)
        VALUES ('0x0a', '0x01', 'key', '{"lane": "sampled"}', '0x', '0x', '', 0);
      INSERT INTO assay.receipts (receipt_hash, order_hash, executor, receipt_json, signature, signed_at)
        VALUES ('0x0b', '0x0a', '0x02', '{"lane": "sampled"}', '0x', 0)`);
    await older.close();
    const present = await openPglite(directory);
    expect(await present.query('SELECT receipt_hash, lane FROM assay.receipts')).toEqual([
      { receipt_hash: '0x0b', lane: 'sampled' },
    ]);
    expect(await present.execute(`UPDATE assay.work SET step = 'prove'`)).toBe(2);
    expect(await present.execute(`UPDATE assay.work SET step = 'accept'`)).toBe(2);
    expect(await present.query('SELECT chain_state, acceptance FROM assay.orders')).toEqual([
      { chain_state: 'none', acceptance: null },
    ]);
    await expect(present.execute(`UPDATE assay.work SET step = 'express'`)).rejects.toThrow('work_step_check');
    await present.close();
  });

  it('refuses a directory that this or another living process owns, and takes over that of a dead one', async () => {
    const directory = join(scratch, 'owned');
    const first = await openPglite(directory);
    await expect(openPglite(directory)).rejects.toMatchObject({ code: 'DATA_DIRECTORY_BUSY', kind: 'usage' });
    await first.close();

    const sleeper = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    await once(sleeper, 'spawn');
    const lock = join(directory, 'owner.json');
    writeFileSync(lock, JSON.stringify({ pid: sleeper.pid, startTicks: null }));
    await expect(openPglite(directory)).rejects.toMatchObject({
      code: 'DATA_DIRECTORY_BUSY',
      meta: { pid: sleeper.pid },
    });
    const ended = once(sleeper, 'exit');
    sleeper.kill('SIGKILL');
    await ended;
    await (await openPglite(directory)).close();

    // A pid that lives, but started at another time than the owner did: the number was given out again.
    writeFileSync(lock, JSON.stringify({ pid: process.pid, startTicks: '1' }));
    if (process.platform === 'linux') await (await openPglite(directory)).close();
  });

  it('refuses a database of a newer build, and a directory that holds something else', async () => {
    const directory = join(scratch, 'newer');
    const first = await openPglite(directory);
    await first.execute("INSERT INTO assay.migration (version, name) VALUES (999, 'from the future')");
    await first.close();
    await expect(openPglite(directory)).rejects.toMatchObject({ code: 'DATABASE_NEWER' });

    const broken = join(scratch, 'broken');
    mkdirSync(join(broken, 'pglite'), { recursive: true });
    writeFileSync(join(broken, 'pglite', 'PG_VERSION'), '9.6\n');
    await expect(openPglite(broken)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  });
});

describe.skipIf(postgresMissing !== null)(
  `PostgreSQL${postgresMissing === null ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PrivatePostgres;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server?.stop());

    contract(() => openPostgres(server.createDatabase('contract')));
  },
);

describe('a PostgreSQL that is not there', () => {
  it('is a typed error', async () => {
    await expect(openPostgres('postgres://assay@127.0.0.1:1/none')).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      kind: 'infrastructure',
    });
    await expect(openPostgres('mysql://x')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
