/** Whose database it is, who posts, and who is told when a pipeline closes. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectDeployment, orderFor, tinyBundle, type TestDeployment } from '../test/kill/fixture.js';
import { deployTestSettlement, enrol, prepareChain, startPrepared } from '../test/kill/deploy.js';
import { freshDirectory, makeTemplate } from '../test/kill/harness.js';
import { postgresMissing, startPostgres, type PrivatePostgres } from '../test/kill/servers/private-postgres.js';
import type { Hex } from '../receipts/types.js';
import type { Anvil } from '../verifier-contracts/anvil.js';
import { Pipeline, type PipelinePorts } from './pipeline.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-ownership-'));
const bundle = tinyBundle();
const QUICK = { openAgeMs: 50, batchAgeMs: 100, pollMs: 40, sweepMs: 100, hintAgainMs: 1_000 } as const;
let anvil: Anvil;
let rollup: Hex;
let account = 0;
let nonce = 1;

beforeAll(async () => {
  const prepared = await prepareChain();
  rollup = prepared.rollup;
  anvil = await startPrepared(prepared, { blockTimeS: 0.1 });
  await makeTemplate(join(scratch, 'template'));
});
afterAll(async () => {
  await anvil?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

const deploy = (name: string, contract = rollup) => {
  if (!existsSync(join(scratch, name))) freshDirectory(join(scratch, 'template'), join(scratch, name));
  return connectDeployment({
    directory: join(scratch, name),
    url: anvil.url,
    rollup: contract,
    bundle,
    name: 'one',
    posterAccount: account++ % 9,
    executors: ['honest'],
  });
};
const open = (name: string, ports: PipelinePorts, databaseUrl?: string, confirmations = 1) =>
  Pipeline.open(
    {
      dataDirectory: join(scratch, name),
      ...QUICK,
      confirmations,
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
    },
    ports,
  );
async function submit(pipeline: Pipeline, deployment: TestDeployment): Promise<Hex> {
  const request = await orderFor(deployment.client, bundle, deployment.honest.address, 1, nonce++);
  return pipeline.submit(request, `order ${request.order.nonce}`);
}

/** Repeats a submission that the database refused for want of a connection. */
async function whenReachable<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === 20 || (error as { code?: unknown }).code !== 'DATABASE_UNAVAILABLE') throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

describe('a database', () => {
  it('belongs to the contract and the chain of its first pipeline', async () => {
    const deployment = await deploy('bound');
    const elsewhere = await deployTestSettlement(anvil.url);
    await enrol(anvil.url, elsewhere, 'one');
    const other = await deploy('other', elsewhere);
    await (await open('bound', deployment.ports)).close();
    const mismatch = { code: 'CHAIN_MISMATCH', kind: 'usage' };
    await expect(open('bound', other.ports)).rejects.toMatchObject(mismatch);
    const { chain } = deployment.ports;
    await expect(
      open('bound', {
        ...deployment.ports,
        chain: { ...chain, domain: { ...chain.domain, chainId: 1n } },
        poster: { address: deployment.honest.address, signTransaction: () => Promise.reject(new Error('no key')) },
      }),
    ).rejects.toMatchObject(mismatch);
    // Refused without a trace: its own still opens.
    await (await open('bound', deployment.ports)).close();
    await deployment.close();
    await other.close();
  });
});

describe('a poster', () => {
  it("is no account of anvil's on another chain than anvil's", async () => {
    const deployment = await deploy('dev-key');
    const { chain } = deployment.ports;
    const directory = join(scratch, 'never made');
    await expect(
      Pipeline.open(
        { dataDirectory: directory },
        { ...deployment.ports, chain: { ...chain, domain: { ...chain.domain, chainId: 1n } } },
      ),
    ).rejects.toMatchObject({ code: 'DEV_KEY_REFUSED', kind: 'usage' });
    expect(existsSync(directory)).toBe(false);
    await deployment.close();
  });
});

describe('who waits for a job', () => {
  it('is told when the pipeline closes first', async () => {
    const deployment = await deploy('closes');
    const executors = deployment.ports.executors.map((executor) => ({
      ...executor,
      acceptOrder: () => Promise.reject(new Error('not now')),
    }));
    const pipeline = await open('closes', { ...deployment.ports, executors });
    const id = await submit(pipeline, deployment);
    const told = [pipeline.waitFor(id), pipeline.waitFor(id)].map((wait) =>
      expect(wait).rejects.toMatchObject({
        code: 'PIPELINE_CLOSED',
        message: expect.stringContaining(id),
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    await pipeline.close();
    await Promise.all(told);
    await expect(pipeline.waitFor(id)).rejects.toThrow();
    await deployment.close();
  });

  it('is not held up by a job that cannot be read, and who waits for that one is told why', async () => {
    const deployment = await deploy('unreadable');
    const pipeline = await open('unreadable', deployment.ports);
    const [bad, good] = [await submit(pipeline, deployment), await submit(pipeline, deployment)];
    const waits = [pipeline.waitFor(bad), pipeline.waitFor(good)] as const;
    const told = expect(waits[0]).rejects.toMatchObject({ name: 'AssayError' });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await pipeline.database.execute(
      `UPDATE assay.orders SET lane_decision = NULL, order_json = '{}' WHERE order_hash = $1`,
      [bad],
    );
    await pipeline.database.execute(`UPDATE assay.orders SET outcome = 'failed' WHERE order_hash = $1`, [bad]);
    await told;
    expect(await waits[1]).toMatchObject({ outcome: 'accepted' });
    await pipeline.close();
    await deployment.close();
  });
});

describe('the attempts of a step', () => {
  it('are one row however often it looked and waited', async () => {
    const deployment = await deploy('waits');
    const pipeline = await open('waits', deployment.ports, undefined, 6);
    await submit(pipeline, deployment);
    await pipeline.drain();
    const [batch] = await pipeline.database.query<{ subject: string; attempt: number }>(
      `SELECT subject, attempt FROM assay.work WHERE kind = 'batch'`,
    );
    // Each of six blocks takes 100 ms and is looked for every 40: there was waiting, also beyond the four steps' ends.
    expect(batch!.attempt).toBeGreaterThan(6);
    const rows = await pipeline.database.query(
      'SELECT step, outcome FROM assay.attempts WHERE subject = $1 ORDER BY attempt',
      [batch!.subject],
    );
    expect(rows).toEqual(['post', 'audit', 'settle', 'pay'].map((step) => ({ step, outcome: 'done' })));
    await pipeline.close();
    await deployment.close();
  });
});

describe.skipIf(postgresMissing !== null)(
  `the lock of the poster${postgresMissing === null ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PrivatePostgres;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server?.stop());

    it('goes to the other process when the one that posted closes', async () => {
      const deployment = await deploy('takeover');
      const url = server.createDatabase('takeover');
      const first = await open('takeover', deployment.ports, url);
      const second = await open('takeover', deployment.ports, url);
      expect(await first.waitFor(await submit(second, deployment))).toMatchObject({ outcome: 'accepted' });
      await first.close();
      expect(await second.waitFor(await submit(second, deployment))).toMatchObject({ outcome: 'accepted' });
      await second.close();
      await deployment.close();
    });

    it('lost with every connection to another: nothing is signed here until it is held again', async () => {
      const deployment = await deploy('dropped');
      const url = server.createDatabase('dropped');
      const pipeline = await open('dropped', deployment.ports, url);
      const other = new pg.Client({ connectionString: url, application_name: 'other' });
      const admin = new pg.Client({ connectionString: url, application_name: 'other' });
      // Where an expectation fails, the server stops with these two still open.
      for (const client of [other, admin]) client.on('error', () => undefined);
      await Promise.all([other.connect(), admin.connect()]);
      const ids = [await submit(pipeline, deployment)];
      await pipeline.waitFor(ids[0]!);
      await pipeline.drain();
      const sentBefore = await deployment.ports.chain.nonceOf(deployment.ports.poster.address);
      expect(sentBefore).toBe(5);

      // Waits in line, so that it is its turn and not this pipeline's when the connections go.
      const taken = other.query('SELECT pg_advisory_lock(hashtext($1))', [
        `assay:poster:31337:${deployment.ports.poster.address.toLowerCase()}`,
      ]);
      await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name <> 'other' AND datname = 'dropped'`,
      );
      await taken;
      // The pool may not have noticed yet that a connection is gone, and says so: a requester hands in again.
      for (let i = 0; i < 3; i++) ids.push(await whenReachable(() => submit(pipeline, deployment)));
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect(await pipeline.database.query('SELECT 1 FROM assay.intents')).toHaveLength(5);
      expect(await deployment.ports.chain.nonceOf(deployment.ports.poster.address)).toBe(sentBefore);

      await Promise.all([other.end(), admin.end()]);
      for (const id of ids) expect(await pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted' });
      await pipeline.close();
      await deployment.close();
    }, 120_000);
  },
);
