/**
 * The long form of kill-points.test.ts: every point in a life of its own, on every home that the machine has, at its
 * first, second and fifth passing; and many random kills.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  EXPIRE_FAIL_POINTS,
  FAIL_POINTS,
  OPTIMISTIC_FAIL_POINTS,
  ZK_FAIL_POINTS,
  type FailPoint,
} from '../../pipeline/fail-points.js';
import type { Anvil } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import type { ChildTask } from './child.js';
import { enrol, prepareChain, startPrepared } from './deploy.js';
import {
  beforeRun,
  expectWhole,
  finish,
  freshDirectory,
  makeTemplate,
  randomFrom,
  removeCompiledChild,
  startChild,
  type Chain,
} from './harness.js';
import { postgresMissing, startPostgres, type PrivatePostgres } from './servers/private-postgres.js';
import { hasRedis, startRedis, type PrivateRedis } from './servers/private-redis.js';
import { turns } from './turns.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-kill-slow-'));
const template = join(scratch, 'template');
let anvil: Anvil;
let chain: Chain;
let counter = 0;
/** Seconds in which a receipt of the optimistic lane may be challenged. */
const WINDOW = 3;

beforeAll(async () => {
  const prepared = await prepareChain({ window: WINDOW });
  anvil = await startPrepared(prepared, { blockTimeS: 0.1 });
  const provider = await connectChain(anvil.url);
  chain = { provider, client: await SettlementClient.connect({ provider, rollup: prepared.rollup }) };
  await makeTemplate(template);
}, 120_000);
afterAll(async () => {
  chain?.provider.destroy();
  await anvil?.stop();
  removeCompiledChild();
  rmSync(scratch, { recursive: true, force: true });
});

function newTask(more: Partial<ChildTask> & Pick<ChildTask, 'posterAccount'>): ChildTask {
  const id = counter++;
  const directory = join(scratch, `run-${id}`);
  if (more.databaseUrl === undefined) freshDirectory(template, directory);
  else mkdirSync(directory);
  return {
    directory,
    url: anvil.url,
    rollup: chain.client.rollup.address,
    name: `life ${id}`,
    nonces: [0, 1, 2, 3].map((i) => 100 * id + i),
    ...more,
  };
}

/** Two at a time: one waits for blocks while the other computes. */
const two = turns(2);
/** On a shared database a start mostly waits until what a dead process held is given up. */
const five = turns(5);
/** Anvil accounts that no life posts with just now. */
const posters = [0, 1, 2, 3, 4, 5, 6, 7];
const LIMIT = { timeout: 3_600_000 } as const;

/** Killed at the first, second and fifth passing of the point, each time with four more orders to do. */
async function killThrice(point: FailPoint, first: ChildTask): Promise<void> {
  let task = first;
  await enrol(task.url, task.rollup, task.name);
  const before = await beforeRun(chain, task.posterAccount);
  for (const passing of [1, 2, 5]) {
    const end = await startChild(task, `${point}#${passing}`).ended;
    // A point that is passed only once or twice in such a small run ends it in peace.
    if (passing === 1) expect(end, `${point} was never passed. ${end.errors}`).toMatchObject({ signal: 'SIGKILL' });
    else expect([0, null], end.errors).toContain(end.code);
    const next = task.nonces.at(-1)! + 1;
    task = { ...task, nonces: [...task.nonces, next, next + 1, next + 2, next + 3] };
  }
  await finish(task);
  await expectWhole(task, chain, before);
  rmSync(task.directory, { recursive: true, force: true });
}

const RANDOM_KILLS = 20;
async function killAtRandom(task: ChildTask): Promise<void> {
  const random = randomFrom('kill-slow');
  await enrol(task.url, task.rollup, task.name);
  const before = await beforeRun(chain, task.posterAccount);
  for (let i = 0; i < RANDOM_KILLS; i++) {
    const child = startChild(task);
    const timer = setTimeout(() => child.process.kill('SIGKILL'), 400 + random() * 2_500);
    await child.ended;
    clearTimeout(timer);
  }
  await finish(task);
  await expectWhole(task, chain, before);
}

function everyPoint(inTurn: ReturnType<typeof turns>, home: () => Partial<ChildTask>): void {
  const live = (life: (task: ChildTask) => Promise<void>) =>
    inTurn(async () => {
      const posterAccount = posters.shift()!;
      try {
        await life(newTask({ ...home(), posterAccount }));
      } finally {
        posters.push(posterAccount);
      }
    });
  it.each(FAIL_POINTS)('%s', (point) => live((task) => killThrice(point, task)));
  it.each(ZK_FAIL_POINTS)('%s', (point) => live((task) => killThrice(point, { ...task, zk: true })));
  it.each(OPTIMISTIC_FAIL_POINTS)('%s', (point) => live((task) => killThrice(point, { ...task, optimistic: true })));
  it.each(EXPIRE_FAIL_POINTS)('%s', (point) =>
    live(async (task) => {
      const deliverBy = (await chain.client.escrow.clock()) + 45;
      await killThrice(point, { ...task, undelivered: { nonce: task.nonces[1]!, deliverBy } });
    }),
  );
  it(`${RANDOM_KILLS} random kills with proofs (seed printed)`, () =>
    live((task) => killAtRandom({ ...task, zk: true })));
  it(`${RANDOM_KILLS} random kills (seed printed)`, () => live(killAtRandom));
}

describe.concurrent('PGlite alone', LIMIT, () => everyPoint(two, () => ({})));

describe
  .skipIf(!hasRedis)
  .concurrent(`PGlite and Redis${hasRedis ? '' : ' (skipped: redis-server is not installed)'}`, LIMIT, () => {
    let redis: PrivateRedis;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(async () => {
      await redis?.stop();
    });
    everyPoint(two, () => ({ redisUrl: redis.url }));
  });

describe
  .skipIf(postgresMissing !== null)
  .concurrent(`PostgreSQL${postgresMissing === null ? '' : ` (skipped: ${postgresMissing})`}`, LIMIT, () => {
    let server: PrivatePostgres;
    beforeAll(async () => {
      server = await startPostgres();
    }, 120_000);
    afterAll(() => server?.stop());
    let databases = 0;
    everyPoint(five, () => ({ databaseUrl: server.createDatabase(`kill_${databases++}`) }));
  });
