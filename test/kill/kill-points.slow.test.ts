/**
 * The long form of kill-points.test.ts: every point on a fresh life of its own, on every home that the machine has, at
 * its first, second and fifth passing; and many random kills.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
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
import { postgresMissing, startPostgres, type PrivatePostgres } from './servers/private-postgres.js';
import { hasRedis, startRedis, type PrivateRedis } from './servers/private-redis.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-kill-slow-'));
const template = join(scratch, 'template');
let anvil: Anvil;
let chain: Chain;
let counter = 0;

beforeAll(async () => {
  anvil = await startAnvil({ blockTimeS: 0.1 });
  const rollup = await deployTestRollup(anvil.url);
  const provider = await connectChain(anvil.url);
  chain = { provider, client: await RollupClient.connect({ provider, address: rollup }) };
  await makeTemplate(template);
}, 120_000);
afterAll(async () => {
  chain?.provider.destroy();
  await anvil?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

function newTask(more: Partial<ChildTask>): ChildTask {
  const id = counter++;
  const directory = join(scratch, `run-${id}`);
  if (more.databaseUrl === undefined) freshDirectory(template, directory);
  else mkdirSync(directory);
  return {
    directory,
    url: anvil.url,
    rollup: chain.client.address,
    posterAccount: id % 8,
    nonces: [0, 1, 2, 3].map((i) => 100 * id + i),
    ...more,
  };
}

function everyPoint(home: (id: number) => Partial<ChildTask>): void {
  it.each(FAIL_POINTS.flatMap((point) => [point, `${point}#2`, `${point}#5`]))(
    '%s',
    async (point) => {
      const task = newTask(home(counter));
      const before = await beforeRun(chain, task.posterAccount);
      const end = await startChild(task, point).ended;
      // A point that is passed only once or twice in such a small run ends it in peace.
      if (!point.includes('#'))
        expect(end, `${point} was never passed. ${end.errors}`).toMatchObject({ signal: 'SIGKILL' });
      await finish(task);
      await expectWhole(task, chain, before);
      rmSync(task.directory, { recursive: true, force: true });
    },
    120_000,
  );

  it('40 random kills (seed printed)', async () => {
    const random = randomFrom('kill-slow');
    const task = newTask(home(counter));
    const before = await beforeRun(chain, task.posterAccount);
    for (let i = 0; i < 40; i++) {
      const child = startChild(task);
      const timer = setTimeout(() => child.process.kill('SIGKILL'), 500 + random() * 3_000);
      await child.ended;
      clearTimeout(timer);
    }
    await finish(task);
    await expectWhole(task, chain, before);
  }, 600_000);
}

describe('PGlite alone', () => everyPoint(() => ({})));

describe.skipIf(!hasRedis)(`PGlite and Redis${hasRedis ? '' : ' (skipped: redis-server is not installed)'}`, () => {
  let redis: PrivateRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(async () => {
    await redis?.stop();
  });
  everyPoint(() => ({ redisUrl: redis.url }));
});

describe.skipIf(postgresMissing !== null)(
  `PostgreSQL${postgresMissing === null ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PrivatePostgres;
    beforeAll(async () => {
      server = await startPostgres();
    }, 120_000);
    afterAll(() => server?.stop());
    everyPoint((id) => ({ databaseUrl: server.createDatabase(`kill_${id}`) }));
  },
);
