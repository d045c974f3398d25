/** What the audit does when things go wrong: odd and silent checkers, windows that close, reorganisations. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NonceManager, Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHEAT_ON,
  connectDeployment,
  deployTestRollup,
  orderFor,
  requester,
  tinyBundle,
  type DeployOptions,
  type TestDeployment,
} from '../test/kill/fixture.js';
import { freshDirectory, makeTemplate } from '../test/kill/harness.js';
import { turns } from '../test/kill/turns.js';
import { inputRoot, outputRoot } from '../graph/index.js';
import { signOrder, verifyReceipt } from '../receipts/index.js';
import type { Hex, Receipt } from '../receipts/types.js';
import { anvilKey, startAnvil, type Anvil } from '../verifier-contracts/anvil.js';
import { rollupInterface, RollupClient } from '../verifier-contracts/rollup-client.js';
import type { PipelineSettingsInput } from './config.js';
import { Pipeline, type PipelinePorts } from './pipeline.js';
import type { CheckerPort, ExecutorPort, Roots } from './ports.js';
import { receiptFileOf } from './receipt-file-of.js';
import type { JobView } from './read-job.js';
import type { OrderRequest } from './submit.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-audit-'));
const bundle = tinyBundle();
const QUICK = { batchAgeMs: 150, pollMs: 40, sweepMs: 100 } as const;
const WRONG: Hex = `0x${'ee'.repeat(32)}`;
const OTHER: Hex = `0x${'dd'.repeat(32)}`;
let nextNonce = 1;
let directories = 0;

beforeAll(() => makeTemplate(join(scratch, 'template')));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface World {
  readonly anvil: Anvil;
  readonly deployment: TestDeployment;
  readonly pipeline: Pipeline;
}

interface WorldOptions {
  readonly deploy?: DeployOptions;
  readonly settings?: Partial<PipelineSettingsInput>;
  /** Changes the ports before the pipeline opens. */
  readonly ports?: (deployment: TestDeployment, anvil: Anvil) => Partial<PipelinePorts>;
  /** Seconds between blocks; null: a block for every transaction. @default 0.1 */
  readonly blockTimeS?: number | null;
}

/** A chain, a rollup and a pipeline of the test's own: reorganisations and closing windows bear no company. */
const inWorld = (options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> =>
  inTurn(() => makeWorld(options, work));
/** Three at a time: they mostly wait for blocks. The time limit counts the waiting for one's turn. */
const inTurn = turns(3);
const LIMIT = { timeout: 300_000 } as const;

async function makeWorld(options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> {
  const { blockTimeS = 0.1 } = options;
  const directory = join(scratch, `world-${directories++}`);
  if (!existsSync(directory)) freshDirectory(join(scratch, 'template'), directory);
  const anvil = await startAnvil(blockTimeS === null ? {} : { blockTimeS });
  let deployment: TestDeployment | undefined;
  let pipeline: Pipeline | undefined;
  try {
    const rollup = await deployTestRollup(anvil.url, options.deploy);
    deployment = await connectDeployment({ directory, url: anvil.url, rollup, bundle });
    pipeline = await Pipeline.open(
      { dataDirectory: directory, ...QUICK, ...options.settings },
      { ...deployment.ports, ...options.ports?.(deployment, anvil) },
    );
    await work({ anvil, deployment, pipeline });
  } finally {
    await pipeline?.close();
    await deployment?.close();
    await anvil.stop();
  }
}

const nextOrder = ({ deployment }: Pick<World, 'deployment'>, first = 1) =>
  orderFor(deployment.client, bundle, first, nextNonce++);

async function submit(world: World, request: Partial<OrderRequest> = {}, first = 1): Promise<Hex> {
  const order = await nextOrder(world, first);
  return world.pipeline.submit({ ...order, ...request }, `order ${order.order.nonce}`);
}

const waitForAll = ({ pipeline }: World, ids: readonly Hex[]): Promise<JobView[]> =>
  Promise.all(ids.map((id) => pipeline.waitFor(id)));

const errorsOf = async ({ pipeline }: World, step: string): Promise<string[]> =>
  (
    await pipeline.database.query<{ code: string }>(
      `SELECT DISTINCT error->>'code' AS code FROM assay.attempts WHERE step = $1 AND outcome = 'failed'`,
      [step],
    )
  ).map(({ code }) => code);

const suspended = async ({ pipeline }: World): Promise<Hex[]> =>
  (
    await pipeline.database.query<{ address: Hex }>('SELECT address FROM assay.nodes WHERE suspended_at IS NOT NULL')
  ).map(({ address }) => address);

/** Looks until it is so; the test's own time limit is the end of patience. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50));
}

type Check = (honest: () => Promise<Roots>) => Promise<Roots>;

/** The checkers, of which the n-th to be asked about a receipt answers as the n-th of `plan` says; later ones honestly. */
function planned(checkers: readonly CheckerPort[], plan: readonly Check[]): CheckerPort[] {
  const asked = new Map<Hex, number>();
  return checkers.map((checker) => ({
    ...checker,
    check: (wanted, inputs, items, posted) => {
      const turn = asked.get(posted.orderHash) ?? 0;
      asked.set(posted.orderHash, turn + 1);
      const honest = () => checker.check(wanted, inputs, items, posted);
      return plan[turn]?.(honest) ?? honest();
    },
  }));
}
const answers =
  (outputRoot: Hex): Check =>
  async (honest) => ({ ...(await honest()), outputRoot });
const vanishes: Check = () => new Promise<never>(() => undefined);
const throws: Check = () => Promise.reject(new Error('no device'));
const withChecks = (...plan: Check[]): Pick<WorldOptions, 'ports'> => ({
  ports: ({ ports }) => ({ checkers: planned(ports.checkers, plan) }),
});

describe.concurrent('what a check can find', LIMIT, () => {
  it('match, and fraud: the job shows it', () =>
    inWorld({}, async (world) => {
      const { honest, cheat } = world.deployment;
      const [good, bad] = await waitForAll(world, [
        await submit(world, { executor: honest.address }),
        await submit(world, { executor: cheat.address }, CHEAT_ON),
      ]);
      expect(good).toMatchObject({ outcome: 'accepted', audit: { finding: 'match', reason: null } });
      expect(bad).toMatchObject({ outcome: 'rejected', audit: { finding: 'fraud' } });
      expect(bad!.audit!.reason).toMatch(/has another outputRoot, traceRoot, and .* agrees with it/);
      expect(await suspended(world)).toEqual([cheat.address]);
    }));

  it('checker-odd: the first check differs, the second agrees with the receipt, which is accepted', () =>
    inWorld(withChecks(answers(WRONG)), async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'accepted', audit: { finding: 'checker-odd', reason: null } });
      const opinions = await world.pipeline.database.query<{ round: number; output_root: Hex }>(
        'SELECT round, output_root FROM assay.audits ORDER BY round',
      );
      expect(opinions).toEqual([
        { round: 1, output_root: WRONG },
        { round: 2, output_root: view.receipt!.receipt.outputRoot },
      ]);
      expect(await suspended(world)).toEqual([]);
    }));

  it('undecided: three results; nobody vouches for the receipt, nobody is condemned', () =>
    inWorld(withChecks(answers(WRONG), answers(OTHER)), async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'void', chainStatus: 'void', audit: { finding: 'undecided' } });
      expect(view.audit!.reason).toContain('a third one');
      expect(await suspended(world)).toEqual([]);
    }));

  it('a checker that vanishes and one that fails: the next in the drawn order checks', () =>
    inWorld({ ...withChecks(vanishes, throws), settings: { executeTimeoutMs: 300 } }, async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'accepted', audit: { finding: 'match', reason: null } });
      expect(await world.pipeline.database.query('SELECT 1 FROM assay.audits')).toHaveLength(1);
      expect(await errorsOf(world, 'audit')).toEqual([]);
    }));

  it('all of them fail: a silence is never a finding, and the audit is tried again', () =>
    inWorld(withChecks(throws, throws, throws), async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'accepted', audit: { finding: 'match', reason: null } });
      expect(await errorsOf(world, 'audit')).toEqual(['CHECKER_FAILED']);
    }));
});

it.concurrent('who is caught once has all of his receipts in the batch checked, and nobody else', LIMIT, () =>
  // One receipt of each executor is drawn: ceil(1e-6 * n).
  inWorld(
    { deploy: { drawRatePpm: 1 }, settings: { batchSize: 8, batchAgeMs: 600_000, concurrency: 1 } },
    async (world) => {
      const { honest, cheat } = world.deployment;
      const ids: Hex[] = [];
      for (let i = 0; i < 4; i++) {
        ids.push(await submit(world, { executor: honest.address }));
        ids.push(await submit(world, { executor: cheat.address }, CHEAT_ON));
      }
      const views = await waitForAll(world, ids);
      expect(new Set(views.map(({ batchHash }) => batchHash)).size).toBe(1);
      const lies = views.filter(({ executor }) => executor === cheat.address);
      const truths = views.filter(({ executor }) => executor === honest.address);
      expect(lies.map(({ outcome, audit }) => [outcome, audit?.finding])).toEqual(Array(4).fill(['rejected', 'fraud']));
      expect(truths.map(({ outcome }) => outcome)).toEqual(Array(4).fill('accepted'));
      expect(truths.map(({ audit }) => audit?.finding ?? null).sort()).toEqual(['match', null, null, null]);
    },
  ),
);

describe.concurrent('the executor that an order names', LIMIT, () => {
  it('is the one that runs it, or nobody', () => {
    let skewMs = 0;
    return inWorld({ ports: () => ({ clock: () => Date.now() + skewMs }) }, async (world) => {
      const { pipeline, deployment } = world;
      const { honest, cheat } = deployment;
      // Connected: all by him, though the other is first in the list and idle.
      const named = await waitForAll(
        world,
        await Promise.all([1, 2, 3].map(() => submit(world, { executor: honest.address }))),
      );
      expect(named.map(({ executor, outcome }) => [executor, outcome])).toEqual(
        Array(3).fill([honest.address, 'accepted']),
      );

      // Suspended: the order fails.
      await pipeline.database.execute('UPDATE assay.nodes SET suspended_at = 1 WHERE address = $1', [cheat.address]);
      const refused = await pipeline.waitFor(await submit(world, { executor: cheat.address }));
      expect(refused).toMatchObject({ outcome: 'failed', executor: null, error: { code: 'ORDER_UNDELIVERED' } });
      expect(refused.error!.message).toContain('suspended');

      // Not connected: the order waits until its deadline.
      const absent: Hex = `0x${'0c'.repeat(20)}`;
      const request = await nextOrder(world);
      const order = { ...request.order, deliverBy: Math.floor(Date.now() / 1_000) + 3_600 };
      const signature = await signOrder(order, deployment.client.domain, requester);
      const id = await pipeline.submit({ ...request, order, signature, executor: absent }, 'absent');
      await until(async () => (await errorsOf(world, 'run')).includes('EXECUTOR_NONE'));
      expect(await pipeline.job(id)).toMatchObject({ outcome: null, executor: null, step: 'run' });
      skewMs = 2 * 3_600_000;
      const late = await pipeline.waitFor(id);
      expect(late).toMatchObject({ outcome: 'failed', executor: null, error: { code: 'ORDER_UNDELIVERED' } });
      expect(late.error!.message).toContain('deadline');
    });
  });

  it('is part of the request: a malformed one is refused, another one is another request', () =>
    inWorld({}, async (world) => {
      const { pipeline, deployment } = world;
      const request = await nextOrder(world);
      const { honest, cheat } = deployment;
      const checksummed = honest.address.toUpperCase().replace('0X', '0x') as Hex;
      await expect(pipeline.submit({ ...request, executor: checksummed }, 'key')).rejects.toMatchObject({
        code: 'ORDER_INVALID',
      });
      const id = await pipeline.submit({ ...request, executor: honest.address }, 'key');
      expect(await pipeline.submit({ ...request, executor: honest.address }, 'key')).toBe(id);
      expect(await pipeline.submit({ ...request, executor: honest.address }, 'another key')).toBe(id);
      for (const executor of [{ executor: cheat.address }, {}])
        for (const key of ['key', 'yet another key'])
          await expect(pipeline.submit({ ...request, ...executor }, key)).rejects.toMatchObject({
            code: 'IDEMPOTENCY_CONFLICT',
          });
    }));
});

describe.concurrent('the audit window closes', LIMIT, () => {
  it('without a seed: the receipts are void', () => {
    let early = true;
    return inWorld(
      {
        deploy: { auditWindow: 1_000 },
        ports: ({ ports: { chain } }) => ({
          chain: { ...chain, drawBlockOf: (header) => (early ? Number.MAX_SAFE_INTEGER : chain.drawBlockOf(header)) },
        }),
      },
      async (world) => {
        const id = await submit(world);
        await until(async () => (await world.pipeline.job(id))!.position !== null);
        await world.anvil.mine(1_010);
        early = false;
        const view = await world.pipeline.waitFor(id);
        expect(view).toMatchObject({ outcome: 'void', chainStatus: 'void', audit: null });
        expect(await world.deployment.client.seedOf(view.batchHash!)).toBeNull();
      },
    );
  });

  it('half, and one receipt cannot be checked: that one alone is void, the others are final', () =>
    inWorld(
      {
        deploy: { auditWindow: 1_000 },
        settings: { batchSize: 2, batchAgeMs: 60_000 },
        ports: ({ ports }) => ({
          checkers: ports.checkers.map((checker) => ({
            ...checker,
            check: (...args) =>
              args[1][0]![0] === -3 ? Promise.reject(new Error('no device')) : checker.check(...args),
          })),
        }),
      },
      async (world) => {
        const ids = [await submit(world, {}, -3), await submit(world, {}, 2)];
        await until(async () => (await errorsOf(world, 'audit')).includes('CHECKER_FAILED'));
        await world.anvil.mine(600);
        const [unchecked, checked] = await waitForAll(world, ids);
        expect(unchecked).toMatchObject({ outcome: 'void', chainStatus: 'void', audit: { finding: 'undecided' } });
        expect(checked).toMatchObject({ outcome: 'accepted', chainStatus: 'final-sampled' });
        expect(checked!.batchHash).toBe(unchecked!.batchHash);
      },
    ));

  it('while the auditors are away: void, and the cheat is suspended all the same', () =>
    inWorld({ deploy: { auditWindow: 1_000 }, ports: () => ({ auditors: [] }) }, async (world) => {
      const { cheat } = world.deployment;
      const id = await submit(world, { executor: cheat.address }, CHEAT_ON);
      await until(async () => (await errorsOf(world, 'settle')).includes('AUDITORS_MISSING'));
      await world.anvil.mine(1_010);
      const view = await world.pipeline.waitFor(id);
      expect(view).toMatchObject({ outcome: 'void', chainStatus: 'void', audit: { finding: 'fraud' } });
      expect(await suspended(world)).toEqual([cheat.address]);
    }));
});

describe.concurrent('receipts that do not bind', LIMIT, () => {
  /** An executor whose receipts somebody else posts first, where `taken` says so. */
  const frontRun = (
    { ports, client }: TestDeployment,
    taken: (receipt: Receipt) => boolean,
  ): { executors: ExecutorPort[] } => {
    const poster = new NonceManager(new Wallet(anvilKey(8), client.provider));
    const rival = RollupClient.connect({ provider: client.provider, address: client.address, signer: poster });
    return {
      executors: ports.executors.map((executor) => ({
        ...executor,
        signReceipt: async (receipt) => {
          const signature = await executor.signReceipt(receipt);
          if (taken(receipt)) await (await rival).commit('sampled', [{ receipt, signature }], receipt.orderHash);
          return signature;
        },
      })),
    };
  };

  it('one of two: it fails with the reason, the other goes its way', () => {
    let first: Hex | undefined;
    return inWorld(
      {
        settings: { batchSize: 2, batchAgeMs: 600_000, concurrency: 1 },
        ports: (deployment) => frontRun(deployment, ({ orderHash }) => (first ??= orderHash) === orderHash),
      },
      async (world) => {
        const views = await waitForAll(world, [await submit(world), await submit(world)]);
        const [taken, other] = views.sort(({ jobId }) => (jobId === first ? -1 : 1));
        expect(taken!.batchHash).toBe(other!.batchHash);
        expect(taken).toMatchObject({
          outcome: 'failed',
          chainStatus: 'unknown',
          error: { code: 'RECEIPT_UNBOUND' },
          audit: null,
        });
        expect(other).toMatchObject({ outcome: 'accepted', audit: { finding: 'match' } });
        expect(taken!.position!.header.unbound).not.toBe(0n);
      },
    );
  });

  it('all of them: nothing is posted, and the orders fail with the reason', () =>
    inWorld({ ports: (deployment) => frontRun(deployment, () => true) }, async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'failed', position: null, error: { code: 'BATCH_COMMIT_REFUSED' } });
      expect(await world.deployment.provider.getTransactionCount(world.deployment.ports.poster.address)).toBe(0);
      await world.pipeline.drain();
    }));
});

describe.concurrent('reorganisations', LIMIT, () => {
  const snapshot = ({ provider }: TestDeployment): Promise<string> =>
    provider.send('evm_snapshot', []) as Promise<string>;
  const revert = async ({ provider }: TestDeployment, to: string): Promise<void> => {
    expect(await provider.send('evm_revert', [to])).toBe(true);
    // The other branch: its blocks have other times, so other hashes.
    await provider.send('evm_increaseTime', [7]);
  };

  const committed = ({ provider, client }: TestDeployment) =>
    provider.getLogs({
      address: client.address,
      fromBlock: 0,
      topics: rollupInterface.encodeFilterTopics('BatchCommitted', []),
    });

  const integers = (tensors: readonly (readonly number[])[]) => tensors.map((values) => Int32Array.from(values));

  const expectValid = async ({ deployment }: World, view: JobView): Promise<void> => {
    const { provider, client } = deployment;
    const check = await verifyReceipt(receiptFileOf(view, client.domain)!, {
      provider,
      rollup: client.address,
      settlement: 'soft',
      inputRoot: (tensors, items) => inputRoot(bundle.graph, integers(tensors), items) as Hex,
      outputRoot: (tensors, items) => outputRoot(bundle.graph, integers(tensors), items) as Hex,
    });
    expect(check.verdict).toEqual({ verdict: 'valid' });
    expect(await client.headerOf(view.batchHash!)).toEqual(view.position!.header);
  };

  it('takes out the commit, the seed and an earlier batch during the audit: posted, drawn and checked anew', () => {
    let before = '';
    let checks = 0;
    let headerBefore: number | undefined;
    return inWorld(
      {
        ports: (deployment) => ({
          checkers: deployment.ports.checkers.map((checker) => ({
            ...checker,
            check: async (...args) => {
              // The check of the second batch; the first is done by then.
              if (++checks === 2) {
                const blocks = (await committed(deployment)).map(({ blockNumber }) => blockNumber);
                headerBefore = blocks.at(-1);
                await revert(deployment, before);
              }
              return checker.check(...args);
            },
          })),
        }),
      },
      async (world) => {
        const { deployment, pipeline } = world;
        before = await snapshot(deployment);
        await pipeline.waitFor(await submit(world));
        const view = await pipeline.waitFor(await submit(world));
        expect(view).toMatchObject({ outcome: 'accepted', audit: { finding: 'match' } });
        expect(checks).toBe(3);
        expect(view.position!.header.committedAt).not.toBe(headerBefore);
        await expectValid(world, view);
        await pipeline.drain();
      },
    );
  });

  it('takes out the seed but not the commit: the old draw is void, the new seed draws', () => {
    let before: string | undefined;
    let seen: Hex | null = null;
    return inWorld(
      {
        blockTimeS: null,
        deploy: { drawRatePpm: 250_000 },
        settings: { batchSize: 8, batchAgeMs: 600_000 },
        ports: (deployment, anvil) => ({
          chain: {
            ...deployment.ports.chain,
            seedOf: async (batchHash) => {
              // The commit is in the newest block; no block follows but by this test.
              if (before === undefined) {
                before = await snapshot(deployment);
                await anvil.mine(2);
              }
              return deployment.ports.chain.seedOf(batchHash);
            },
          },
          checkers: deployment.ports.checkers.map((checker) => ({
            ...checker,
            check: async (wanted, inputs, items, posted) => {
              if (seen === null) {
                const hash = await deployment.client.boundIn(posted.orderHash, deployment.honest.address);
                seen = await deployment.client.seedOf(hash!);
                await revert(deployment, before!);
                await anvil.mine(2);
              }
              return checker.check(wanted, inputs, items, posted);
            },
          })),
        }),
      },
      async (world) => {
        const { pipeline, deployment } = world;
        const ids: Hex[] = [];
        for (let i = 0; i < 8; i++) ids.push(await submit(world, { executor: deployment.honest.address }));
        const views = await waitForAll(world, ids);
        expect(views.map(({ outcome }) => outcome)).toEqual(Array(8).fill('accepted'));
        const seed = await deployment.client.seedOf(views[0]!.batchHash!);
        expect(seed).not.toBe(seen);
        expect(await pipeline.database.query('SELECT seed FROM assay.batches')).toEqual([{ seed }]);
        expect(views.filter(({ audit }) => audit !== null)).toHaveLength(2);
        for (const view of views) await expectValid(world, view);
      },
    );
  });

  it('with three confirmations wanted, no outcome is taken from a verdict that has one', () =>
    inWorld({ blockTimeS: null, settings: { confirmations: 3 } }, async (world) => {
      const { pipeline, deployment, anvil } = world;
      const id = await submit(world);
      await until(async () => {
        const view = (await pipeline.job(id))!;
        if (view.batchHash !== null && (await deployment.client.verdictOf(view.batchHash)) !== null) return true;
        await anvil.mine(1);
        return false;
      });
      await new Promise((resolve) => setTimeout(resolve, 400));
      expect(await pipeline.job(id)).toMatchObject({ step: 'batched', outcome: null });
      await anvil.mine(2);
      expect(await pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted' });
    }));
});
