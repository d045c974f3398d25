/**
 * Kills the pipeline process with SIGKILL at every named point, at random times, and with its queue emptied; starts it
 * again, and looks whether anything was lost or done twice. The chain lives on in this process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
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
import { hasRedis, startRedis, type PrivateRedis } from './servers/private-redis.js';
import { turns } from './turns.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-kill-'));
const template = join(scratch, 'template');
let anvil: Anvil;
let chain: Chain;
let counter = 0;
/** Seconds in which a receipt of the optimistic lane may be challenged. */
const WINDOW = 3;

/** Every second point; all of them, three times each, are in the slow suite. */
const POINTS = FAIL_POINTS.filter((_point, i) => i % 2 === 0);

/** Points killed at in one life of a data directory, ever later in the way of a job. */
const GROUPS = 4;
const groups = Array.from({ length: GROUPS }, (_, group) => POINTS.filter((_point, i) => i % GROUPS === group));

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

/** Two at a time: one waits for blocks while the other computes. */
const inTurn = turns(2);

/** A task on its own directory; every task has its own orders, and those that run at once have their own poster. */
function newTask(more: Partial<ChildTask> = {}): ChildTask {
  const id = counter++;
  const directory = join(scratch, `run-${id}`);
  freshDirectory(template, directory);
  return {
    directory,
    url: anvil.url,
    rollup: chain.client.rollup.address,
    name: `life ${id}`,
    posterAccount: id % 8,
    nonces: [100 * id, 100 * id + 1],
    ...more,
  };
}

/** Kills at each point in turn; each start finds what the last left, and gets two more orders. */
async function killAtEach(
  points: readonly string[],
  more: Partial<ChildTask> = {},
  afterKill: () => Promise<void> = async () => undefined,
): Promise<void> {
  let task = newTask(more);
  await enrol(task.url, task.rollup, task.name);
  const before = await beforeRun(chain, task.posterAccount);
  for (const point of points) {
    const end = await startChild(task, point).ended;
    expect(end, `${point} was never passed. ${end.errors}`).toMatchObject({ code: null, signal: 'SIGKILL' });
    await afterKill();
    const next = task.nonces.at(-1)! + 1;
    task = { ...task, nonces: [...task.nonces, next, next + 1] };
  }
  await finish(task);
  await expectWhole(task, chain, before);
  rmSync(task.directory, { recursive: true, force: true });
}

async function killAtRandom(): Promise<void> {
  const random = randomFrom('kill test');
  const task = newTask();
  await enrol(task.url, task.rollup, task.name);
  const before = await beforeRun(chain, task.posterAccount);
  for (let i = 0; i < 4; i++) {
    const child = startChild(task);
    const timer = setTimeout(() => child.process.kill('SIGKILL'), 500 + random() * 1_500);
    await child.ended;
    clearTimeout(timer);
  }
  await finish(task);
  await expectWhole(task, chain, before);
}

async function wipeWhileDue(): Promise<void> {
  const task = newTask({ wipeQueue: true });
  await enrol(task.url, task.rollup, task.name);
  const before = await beforeRun(chain, task.posterAccount);
  await finish(task);
  await expectWhole(task, chain, before);
}

/** On a Redis of its own. @param between done to it after each kill */
async function killOnRedis(points: readonly string[], between?: (redis: PrivateRedis) => Promise<void>): Promise<void> {
  const redis = await startRedis();
  try {
    await killAtEach(points, { redisUrl: redis.url }, () => between?.(redis) ?? Promise.resolve());
  } finally {
    await redis.stop();
  }
}

const TIMEOUT_MS = 1_200_000;
/** The longest first. */
const REDIS_POINTS = [
  'relay.after-enqueue',
  'step.after-claim',
  'run.after-execute',
  'tx.after-store',
  'settle.after-verdict-posted',
] as const satisfies readonly FailPoint[];
const redisTitle = `with the queue on Redis${hasRedis ? '' : ' (skipped: redis-server is not installed)'}`;

describe.concurrent('killed, and started again', () => {
  it.skipIf(!hasRedis)(
    `${redisTitle}, at ${REDIS_POINTS.join(', ')}`,
    () => inTurn(() => killOnRedis(REDIS_POINTS)),
    TIMEOUT_MS,
  );

  it.each(groups.map((points) => [points.join(', '), points] as const))(
    'at %s',
    (_name, points) => inTurn(() => killAtEach(points)),
    TIMEOUT_MS,
  );

  it(
    `with proofs, at ${ZK_FAIL_POINTS.join(', ')}`,
    () => inTurn(() => killAtEach(ZK_FAIL_POINTS, { zk: true })),
    TIMEOUT_MS,
  );

  it(
    `in the optimistic lane, at ${OPTIMISTIC_FAIL_POINTS.join(', ')}`,
    () => inTurn(() => killAtEach(OPTIMISTIC_FAIL_POINTS, { optimistic: true })),
    TIMEOUT_MS,
  );

  it(
    `with an order that nobody delivers, at ${EXPIRE_FAIL_POINTS.join(', ')}`,
    () =>
      inTurn(async () => {
        // Time enough for the others, and little to wait for this one.
        const deliverBy = (await chain.client.escrow.clock()) + 45;
        const nonces = [100 * counter, 100 * counter + 1];
        await killAtEach(EXPIRE_FAIL_POINTS, { nonces, undelivered: { nonce: nonces[1]!, deliverBy } });
      }),
    TIMEOUT_MS,
  );

  it('at random times (seed printed), four times in one life', () => inTurn(killAtRandom), TIMEOUT_MS);

  it.skipIf(!hasRedis)(
    `${redisTitle}, which loses everything before the next start`,
    () => inTurn(() => killOnRedis(['sign.after-sign'], (redis) => redis.restart())),
    TIMEOUT_MS,
  );

  it('not killed, but the queue is emptied while steps are due', () => inTurn(wipeWhileDue), TIMEOUT_MS);
});
