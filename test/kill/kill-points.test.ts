/**
 * Kills the pipeline process with SIGKILL at every named point, at random times, and with its queue emptied; starts it
 * again, and looks whether anything was lost or done twice. The chain lives on in this process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAIL_POINTS } from '../../pipeline/fail-points.js';
import { startAnvil, type Anvil } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { RollupClient } from '../../verifier-contracts/rollup-client.js';
import type { ChildTask } from './child.js';
import { deployTestRollup } from './fixture.js';
import {
  beforeRun,
  expectWhole,
  finish,
  freshDirectory,
  makeTemplate,
  randomFrom,
  startChild,
  type Chain,
} from './harness.js';
import { hasRedis, startRedis, type PrivateRedis } from './servers/private-redis.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-kill-'));
const template = join(scratch, 'template');
let anvil: Anvil;
let chain: Chain;
let counter = 0;

/** Points killed at in one life of a data directory, ever later in the way of a job. */
const GROUPS = 8;
const groups = Array.from({ length: GROUPS }, (_, group) => FAIL_POINTS.filter((_point, i) => i % GROUPS === group));

beforeAll(async () => {
  anvil = await startAnvil({ blockTimeS: 0.1 });
  const rollup = await deployTestRollup(anvil.url);
  const provider = await connectChain(anvil.url);
  chain = { provider, client: await RollupClient.connect({ provider, address: rollup }) };
  await makeTemplate(template);
}, 60_000);
afterAll(async () => {
  chain?.provider.destroy();
  await anvil?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

/** Two at a time: one waits for blocks while the other computes. */
const turns: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];
let turn = 0;
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const at = turn++ % turns.length;
  const done = turns[at]!.then(work);
  turns[at] = done.catch(() => undefined);
  return done;
}

/** A task on its own directory; every task has its own orders, and those that run at once have their own poster. */
function newTask(more: Partial<ChildTask> = {}): ChildTask {
  const id = counter++;
  const directory = join(scratch, `run-${id}`);
  freshDirectory(template, directory);
  return {
    directory,
    url: anvil.url,
    rollup: chain.client.address,
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

describe('killed at named points', () => {
  it.concurrent.each(groups.map((points) => [points.join(', '), points] as const))(
    '%s',
    (_name, points) => inTurn(() => killAtEach(points)),
    600_000,
  );
});

it('killed at random times (seed printed), four times in one life', async () => {
  const random = randomFrom('kill test');
  const task = newTask();
  const before = await beforeRun(chain, task.posterAccount);
  for (let i = 0; i < 4; i++) {
    const child = startChild(task);
    const timer = setTimeout(() => child.process.kill('SIGKILL'), 700 + random() * 1_500);
    await child.ended;
    clearTimeout(timer);
  }
  await finish(task);
  await expectWhole(task, chain, before);
}, 300_000);

it('the queue is emptied while steps are due', async () => {
  const task = newTask({ wipeQueue: true });
  const before = await beforeRun(chain, task.posterAccount);
  await finish(task);
  await expectWhole(task, chain, before);
});

describe.skipIf(!hasRedis)(
  `with the queue on Redis${hasRedis ? '' : ' (skipped: redis-server is not installed)'}`,
  () => {
    let redis: PrivateRedis;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(async () => {
      await redis?.stop();
    });

    it(
      'relay.after-enqueue, step.after-claim, run.after-execute, tx.after-store, settle.after-verdict-posted',
      () =>
        killAtEach(
          [
            'relay.after-enqueue',
            'step.after-claim',
            'run.after-execute',
            'tx.after-store',
            'settle.after-verdict-posted',
          ],
          { redisUrl: redis.url },
        ),
      300_000,
    );

    it(
      'Redis loses everything between the kill and the next start',
      () => killAtEach(['sign.after-sign'], { redisUrl: redis.url }, () => redis.restart()),
      300_000,
    );
  },
);
