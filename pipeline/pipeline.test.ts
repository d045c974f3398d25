import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHEAT_ON,
  connectDeployment,
  orderFor,
  requester,
  tinyBundle,
  type TestDeployment,
} from '../test/kill/fixture.js';
import { prepareChain, startPrepared } from '../test/kill/deploy.js';
import { freshDirectory, makeTemplate } from '../test/kill/harness.js';
import { postgresMissing, startPostgres, type PrivatePostgres } from '../test/kill/servers/private-postgres.js';
import { hasRedis, startRedis, type PrivateRedis } from '../test/kill/servers/private-redis.js';
import { evaluateGraph, inputRoot, outputRoot } from '../graph/index.js';
import { signOrder, verifyReceipt } from '../receipts/index.js';
import type { Hex } from '../receipts/types.js';
import type { Anvil } from '../verifier-contracts/anvil.js';
import type { PipelineSettingsInput } from './config.js';
import { Pipeline, type PipelinePorts } from './pipeline.js';
import type { ExecutorPort } from './ports.js';
import { receiptFileOf } from './receipt-file-of.js';
import type { OrderRequest } from './submit.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-pipeline-'));
const bundle = tinyBundle();
const QUICK = { openAgeMs: 50, batchAgeMs: 150, pollMs: 40, sweepMs: 100 } as const;
let anvil: Anvil;
let rollup: Hex;
let nextNonce = 1;
let nextAccount = 0;
/** In each of them the cheat is caught, so that each has its own. */
const HOMES = ['pglite', 'redis', 'postgres'];

beforeAll(async () => {
  const prepared = await prepareChain({}, ['one', ...HOMES]);
  rollup = prepared.rollup;
  anvil = await startPrepared(prepared, { blockTimeS: 0.1 });
  await makeTemplate(join(scratch, 'template'));
});
afterAll(async () => {
  await anvil?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

/** A deployment on a directory whose embedded database is made already; making one takes longer than most tests here. */
const deploy = (name: string) => {
  if (!existsSync(join(scratch, name))) freshDirectory(join(scratch, 'template'), join(scratch, name));
  return connectDeployment({
    directory: join(scratch, name),
    url: anvil.url,
    rollup,
    bundle,
    name: HOMES.includes(name) ? name : 'one',
    posterAccount: nextAccount++ % 9,
  });
};
const integers = (tensors: readonly (readonly number[])[]) => tensors.map((values) => Int32Array.from(values));
const nextOrder = (deployment: TestDeployment, first: number, executor = deployment.honest.address) =>
  orderFor(deployment.client, bundle, executor, first, nextNonce++);

async function submitMany(
  pipeline: Pipeline,
  deployment: TestDeployment,
  count: number,
  first: number,
  executor = deployment.honest.address,
): Promise<Hex[]> {
  const ids: Hex[] = [];
  for (let i = 0; i < count; i++) {
    const request = await nextOrder(deployment, first, executor);
    ids.push(await pipeline.submit(request, `order ${request.order.nonce}`));
  }
  return ids;
}

function wholeWay(name: string, settings: () => Partial<PipelineSettingsInput>): void {
  let deployment: TestDeployment;
  let pipeline: Pipeline;
  beforeAll(async () => {
    deployment = await deploy(name);
    pipeline = await Pipeline.open({ dataDirectory: join(scratch, name), ...QUICK, ...settings() }, deployment.ports);
  });
  afterAll(async () => {
    await pipeline?.close();
    await deployment?.close();
  });

  it('takes orders to receipts that the chain vouches for, and catches the cheat', async () => {
    const { honest, cheat } = deployment;
    const ids = [
      ...(await submitMany(pipeline, deployment, 4, CHEAT_ON, honest.address)),
      ...(await submitMany(pipeline, deployment, 4, CHEAT_ON, cheat.address)),
    ];
    const views = await Promise.all(ids.map((id) => pipeline.waitFor(id)));
    for (const view of views) {
      const caught = view.order.executor === cheat.address;
      expect(view).toMatchObject(
        caught
          ? { outcome: 'rejected', chainStatus: 'invalid' }
          : { outcome: 'accepted', chainStatus: 'final-sampled' },
      );
      // The receipt file, checked by somebody who trusts nothing but the contract's address.
      const file = receiptFileOf(view, deployment.client.domain)!;
      const check = await verifyReceipt(file, {
        provider: deployment.provider,
        rollup,
        settlement: 'soft',
        inputRoot: (tensors, items) => inputRoot(bundle.graph, integers(tensors), items) as Hex,
        outputRoot: (tensors, items) => outputRoot(bundle.graph, integers(tensors), items) as Hex,
      });
      expect(check.verdict.verdict).toBe(caught ? 'invalid' : 'valid');
      const truth = evaluateGraph(bundle.graph, view.inputs, 1)[bundle.graph.outputs[0]!]!;
      if (caught) expect(view.outputs![0]).not.toEqual(truth);
      else expect(view.outputs![0]).toEqual(truth);
      expect(view.lane!.reasons.length).toBeGreaterThan(1);
    }
    const [suspended] = await pipeline.database.query<{ reason: string }>(
      'SELECT reason FROM assay.nodes WHERE suspended_at IS NOT NULL',
    );
    expect(suspended!.reason).toContain('fraud in batch 0x');
    // Suspended: nothing is given to it any more.
    const { order } = await nextOrder(deployment, CHEAT_ON);
    expect((await pipeline.quote({ ...order, lane: 'auto' })).offer.executor).toBe(honest.address);
    await expect(submitMany(pipeline, deployment, 1, CHEAT_ON, cheat.address)).rejects.toMatchObject({
      code: 'ORDER_INVALID',
      message: expect.stringContaining('is suspended') as string,
    });
    // The money has followed: paid, or slashed, by the chain's own word.
    await pipeline.drain();
    for (const id of ids) {
      const view = (await pipeline.job(id))!;
      const state = view.order.executor === cheat.address ? 'slashed' : 'paid';
      expect(view).toMatchObject({ step: 'done', settlement: { state } });
      expect(await deployment.client.escrow.orderOf(id)).toMatchObject({ state });
    }
    expect(await deployment.client.escrow.nodeOf(cheat.address)).toMatchObject({ active: false });
  });

  it('loses nothing when the queue is emptied', async () => {
    const ids = await submitMany(pipeline, deployment, 5, 1);
    await pipeline.wipeQueue();
    for (const view of await Promise.all(ids.map((id) => pipeline.waitFor(id)))) expect(view.outcome).toBe('accepted');
  });

  it('is ready', async () => {
    expect(await pipeline.readiness()).toEqual({ ready: true, database: null, queue: null, chain: null });
  });
}

describe('PGlite alone', () => wholeWay('pglite', () => ({})));

describe.skipIf(!hasRedis)(`PGlite and Redis${hasRedis ? '' : ' (skipped: redis-server is not installed)'}`, () => {
  let redis: PrivateRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(async () => {
    await redis?.stop();
  });
  wholeWay('redis', () => ({ redisUrl: redis.url }));

  it('Redis goes away in mid-work: readiness says so, and every job ends when it is back', async () => {
    // A server of its own: the pipeline above has the same name, its database being a copy of the same template.
    const redis = await startRedis();
    const deployment = await deploy('redis-away');
    const pipeline = await Pipeline.open(
      { dataDirectory: join(scratch, 'redis-away'), redisUrl: redis.url, ...QUICK },
      deployment.ports,
    );
    try {
      const ids = await submitMany(pipeline, deployment, 4, 1);
      await redis.kill();
      // An order can still be taken in: it is the table that has it.
      ids.push(...(await submitMany(pipeline, deployment, 2, 1)));
      const readiness = await pipeline.readiness();
      expect(readiness).toMatchObject({
        ready: false,
        queue: { code: 'QUEUE_UNAVAILABLE', kind: 'infrastructure' },
        database: null,
      });
      await redis.restart();
      for (const view of await Promise.all(ids.map((id) => pipeline.waitFor(id))))
        expect(view.outcome).toBe('accepted');
      expect((await pipeline.readiness()).ready).toBe(true);
    } finally {
      await pipeline.close();
      await deployment.close();
      await redis.stop();
    }
  }, 120_000);
});

describe.skipIf(postgresMissing !== null)(
  `PostgreSQL${postgresMissing === null ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PrivatePostgres;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server?.stop());
    wholeWay('postgres', () => ({ databaseUrl: server.createDatabase('whole_way') }));

    it('two pipelines share one database: all work is done once, one of them posts', async () => {
      const deployment = await deploy('shared');
      const databaseUrl = server.createDatabase('shared');
      const open = () =>
        Pipeline.open({ dataDirectory: join(scratch, 'shared'), databaseUrl, ...QUICK }, deployment.ports);
      const pipelines = [await open(), await open()];
      try {
        const ids = await submitMany(pipelines[1]!, deployment, 10, 1);
        for (const view of await Promise.all(ids.map((id) => pipelines[1]!.waitFor(id))))
          expect(view.outcome).toBe('accepted');
        const instances = await pipelines[0]!.database.query(
          `SELECT DISTINCT instance FROM assay.attempts WHERE step IN ('open', 'post', 'audit', 'settle', 'pay')`,
        );
        expect(instances).toHaveLength(1);
        const runs = await pipelines[0]!.database.query(
          `SELECT 1 FROM assay.attempts WHERE step = 'run' AND outcome = 'done'`,
        );
        expect(runs).toHaveLength(10);
      } finally {
        await Promise.all(pipelines.map((pipeline) => pipeline.close()));
        await deployment.close();
      }
    });
  },
);

describe('orders that are refused', () => {
  let deployment: TestDeployment;
  let pipeline: Pipeline;
  beforeAll(async () => {
    deployment = await deploy('refused');
    pipeline = await Pipeline.open(
      { dataDirectory: join(scratch, 'refused'), ...QUICK },
      { ...deployment.ports, bundles: storeOf(bundle.digest) },
    );
  });
  afterAll(async () => {
    await pipeline?.close();
    await deployment?.close();
  });
  const storeOf = (digest: string): PipelinePorts['bundles'] => ({
    get: async (wanted) => {
      if (wanted === digest) return bundle;
      return (await import('./adapters/bundle-folder.js'))
        .openBundleFolder(join(scratch, 'bundles'))
        .then((folder) => folder.get(wanted));
    },
  });
  const resign = async (request: OrderRequest, change: Partial<OrderRequest['order']>): Promise<OrderRequest> => {
    const order = { ...request.order, ...change };
    return { ...request, order, signature: await signOrder(order, deployment.client.domain, requester) };
  };

  it.each([
    ['a lane that is not open', { lane: 'zk' as const }, 'LANE_CLOSED'],
    ['a lane that is not open', { lane: 'optimistic' as const }, 'LANE_CLOSED'],
    ['a deadline that has passed', { deliverBy: 1_000 }, 'ORDER_INVALID'],
    ['a deadline that is too near', { deliverBy: Math.floor(Date.now() / 1_000) + 5 }, 'ORDER_INVALID'],
    ['a time to be opened in that has passed', { validUntil: 1_000 }, 'ORDER_INVALID'],
    ['an executor of somebody else', { executor: `0x${'0b'.repeat(20)}` as Hex }, 'ORDER_INVALID'],
    ['less output than there is', { outputBytes: 2 }, 'ORDER_INVALID'],
    ['less than its share of the audits', { surcharge: 9_999n }, 'ORDER_INVALID'],
    ['the policy of another deployment', { policyHash: `0x${'11'.repeat(32)}` as Hex }, 'ORDER_INVALID'],
    ['the root of another input', { inputRoot: `0x${'22'.repeat(32)}` as Hex }, 'ORDER_INVALID'],
    ['an unknown model', { modelDigest: `0x${'33'.repeat(32)}` as Hex }, 'BUNDLE_MISSING'],
    ['more items than there are', { items: 2 }, 'INPUT_RANGE'],
  ])('%s: %o', async (_what, change, code) => {
    const request = await resign(await nextOrder(deployment, 1), change);
    await expect(pipeline.submit(request, 'refused')).rejects.toMatchObject({ code, kind: 'usage' });
  });

  it('an input out of range', async () => {
    const request = await nextOrder(deployment, 1);
    await expect(pipeline.submit({ ...request, inputs: [Int32Array.of(300, 0, 0, 0)] }, 'range')).rejects.toMatchObject(
      { code: 'INPUT_RANGE' },
    );
  });

  it('a signature over another order', async () => {
    const request = await nextOrder(deployment, 1);
    const other = await nextOrder(deployment, 1);
    await expect(pipeline.submit({ ...request, signature: other.signature }, 'forged')).rejects.toMatchObject({
      code: 'ORDER_INVALID',
    });
  });

  it('one key for two orders; but the same order again is the same job', async () => {
    const request = await nextOrder(deployment, 1);
    const [a, b] = await Promise.all([pipeline.submit(request, 'twice'), pipeline.submit(request, 'twice')]);
    expect(a).toBe(b);
    expect(await pipeline.submit(request, 'another key')).toBe(a);
    await expect(pipeline.submit(await nextOrder(deployment, 1), 'twice')).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    });
    expect(await pipeline.database.query('SELECT 1 FROM assay.orders WHERE order_hash = $1', [a])).toHaveLength(1);
  });

  it('says beforehand which lane an order would take, and why', async () => {
    const { order } = await nextOrder(deployment, 1);
    const { offer, lane } = await pipeline.quote({ ...order, lane: 'auto' });
    expect(lane).toBe('sampled');
    const { escrow, policyHash } = deployment.client;
    expect(offer).toMatchObject({ policyHash, surcharge: 10_000n, outputBytes: 3, lock: 1_000_000n });
    expect(deployment.ports.executors.map(({ address }) => address)).toContain(offer.executor);
    expect(offer.earliestDeliverBy - (await escrow.clock())).toBeLessThanOrEqual(10);
    // What it offers opens and what falls short of it does not.
    const as = async (change: Partial<OrderRequest['order']>) => {
      const request = await resign(await nextOrder(deployment, 1), { ...change, executor: offer.executor });
      return pipeline.submit(request, `offer ${request.order.nonce}`);
    };
    const { surcharge, outputBytes } = offer;
    expect(await pipeline.waitFor(await as({ surcharge, outputBytes }))).toMatchObject({ outcome: 'accepted' });
    await expect(as({ outputBytes: outputBytes - 1 })).rejects.toMatchObject({ code: 'ORDER_INVALID' });
    await expect(pipeline.quote({ ...order, lane: 'zk' })).rejects.toMatchObject({ code: 'LANE_CLOSED' });
  });

  it('a job that does not exist, and orders to a closed pipeline', async () => {
    expect(await pipeline.job(`0x${'44'.repeat(32)}`)).toBeNull();
    await expect(pipeline.waitFor(`0x${'44'.repeat(32)}`)).rejects.toMatchObject({ code: 'ORDER_INVALID' });
    await pipeline.close();
    await expect(pipeline.submit(await nextOrder(deployment, 1), 'late')).rejects.toMatchObject({
      code: 'PIPELINE_CLOSED',
    });
  });
});

describe('executors that fail', () => {
  const run = async (
    name: string,
    executors: (honest: ExecutorPort) => ExecutorPort[],
    work: (pipeline: Pipeline, deployment: TestDeployment) => Promise<void>,
  ) => {
    const deployment = await deploy(name);
    const honest = deployment.ports.executors.find(({ address }) => address === deployment.honest.address)!;
    const pipeline = await Pipeline.open(
      { dataDirectory: join(scratch, name), ...QUICK, executeTimeoutMs: 500 },
      { ...deployment.ports, executors: executors(honest) },
    );
    try {
      await work(pipeline, deployment);
    } finally {
      await pipeline.close();
      await deployment.close();
    }
  };
  /** The executor, whose first attempt goes as `first` says. */
  const failingOnce = (honest: ExecutorPort, first: ExecutorPort['execute']): ExecutorPort => {
    let attempts = 0;
    return { ...honest, execute: (...args) => (attempts++ === 0 ? first(...args) : honest.execute(...args)) };
  };

  it.each([
    ['throws', () => () => Promise.reject(new Error('out of memory')), 'EXECUTOR_FAILED'],
    ['never answers', () => () => new Promise<never>(() => undefined), 'NODE_TIMEOUT'],
    [
      'hands over values that do not hash to its roots',
      (honest: ExecutorPort): ExecutorPort['execute'] =>
        async (...args) => ({ ...(await honest.execute(...args)), outputs: [Int32Array.of(1, 2, 3)] }),
      'EXECUTOR_FAILED',
    ],
  ] as const)('one that %s: nobody else may do its job, so it is asked again', (what, first, code) =>
    run(
      `fails ${what}`,
      (honest) => [failingOnce(honest, first(honest))],
      async (pipeline, deployment) => {
        const [id] = await submitMany(pipeline, deployment, 1, 1);
        const view = await pipeline.waitFor(id!);
        expect(view).toMatchObject({ outcome: 'accepted', order: { executor: deployment.honest.address } });
        const failed = await pipeline.database.query<{ error: { code: string } }>(
          `SELECT error FROM assay.attempts WHERE subject = $1 AND outcome = 'failed'`,
          [id],
        );
        expect(failed.map(({ error }) => error.code)).toEqual([code]);
      },
    ),
  );

  it('again and again: the order fails with the reason, and will be expired', () =>
    run(
      'fails all',
      (honest) => [{ ...honest, execute: () => Promise.reject(new Error('no device')) }],
      async (pipeline, deployment) => {
        const [id] = await submitMany(pipeline, deployment, 1, 1);
        const view = await pipeline.waitFor(id!);
        expect(view).toMatchObject({ outcome: 'failed', receipt: null, error: { code: 'EXECUTOR_FAILED' } });
        expect(view.error!.message).toContain('no device');
        // The money is in the order until its time is over; nobody waits for that.
        expect(view).toMatchObject({ step: 'expire', settlement: { state: 'open' } });
        await pipeline.drain();
      },
    ));

  it('is away: the job waits, over a restart, until it is back', async () => {
    // Known from an earlier life.
    await run(
      'none',
      (honest) => [honest],
      () => Promise.resolve(),
    );
    await run(
      'none',
      () => [],
      async (pipeline, deployment) => {
        const [id] = await submitMany(pipeline, deployment, 1, 1);
        await expect
          .poll(
            async () =>
              (
                await pipeline.database.query<{ last_error: { code: string } | null }>(
                  'SELECT last_error FROM assay.work WHERE subject = $1',
                  [id],
                )
              )[0]?.last_error?.code,
          )
          .toBe('EXECUTOR_NONE');
      },
    );
    await run(
      'none',
      (honest) => [honest],
      async (pipeline) => {
        const [row] = await pipeline.database.query<{ order_hash: Hex }>('SELECT order_hash FROM assay.orders');
        expect(await pipeline.waitFor(row!.order_hash)).toMatchObject({ outcome: 'accepted' });
      },
    );
  });
});
