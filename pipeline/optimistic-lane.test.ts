/** The optimistic lane from order to payment: the window passes unchallenged, or somebody shows that the claim cannot stand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { largestAnswerBytes } from '../fraud-proofs/answer/capacity.js';
import { nodePath } from '../fraud-proofs/nodes/answer-node.js';
import { KnownClaim } from '../fraud-proofs/nodes/known-claim.js';
import { TRACE_ROOT } from '../fraud-proofs/nodes/places.js';
import { StepModel } from '../fraud-proofs/step/step-model.js';
import { fund, prepareChain, sendAs, startPrepared } from '../test/kill/deploy.js';
import { connectDeployment, orderFor, tinyBundle, type TestDeployment } from '../test/kill/fixture.js';
import { freshDirectory, makeTemplate } from '../test/kill/harness.js';
import { turns } from '../test/kill/turns.js';
import { batchHash } from '../receipts/index.js';
import type { Hex, JobOrder } from '../receipts/types.js';
import { anvilKey, type Anvil } from '../verifier-contracts/anvil.js';
import type { Claim } from '../verifier-contracts/dispute-types.js';
import { Pipeline } from './pipeline.js';
import type { ChainPort } from './ports.js';
import { isDisputeCapacityFull } from './stages/dispute-capacity.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-optimistic-'));
const bundle = tinyBundle();
/** Seconds, which pass here as they pass. */
const WINDOW = 6;
const POLICY = { answerTime: 4, responseTime: 4 } as const;
const LIMIT = { timeout: 300_000 } as const;
const inTurn = turns(2);
let nextNonce = 1;
let directories = 0;

beforeAll(() => makeTemplate(join(scratch, 'template')));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface World {
  readonly anvil: Anvil;
  readonly deployment: TestDeployment;
  readonly pipeline: Pipeline;
}

const inWorld = (
  work: (world: World) => Promise<void>,
  chainOf?: (chain: ChainPort) => Partial<ChainPort>,
): Promise<void> =>
  inTurn(async () => {
    const directory = join(scratch, `world-${directories++}`);
    freshDirectory(join(scratch, 'template'), directory);
    const prepared = await prepareChain({ window: WINDOW, policy: POLICY });
    const anvil = await startPrepared(prepared, { blockTimeS: 0.1 });
    let deployment: TestDeployment | undefined;
    let pipeline: Pipeline | undefined;
    try {
      const { rollup } = prepared;
      deployment = await connectDeployment({ directory, url: anvil.url, rollup, bundle, name: 'one' });
      const { chain } = deployment.ports;
      pipeline = await Pipeline.open(
        {
          dataDirectory: directory,
          openLanes: ['sampled', 'optimistic'],
          openAgeMs: 50,
          batchAgeMs: 150,
          pollMs: 40,
          sweepMs: 100,
        },
        { ...deployment.ports, chain: { ...chain, ...chainOf?.(chain) } },
      );
      await work({ anvil, deployment, pipeline });
    } finally {
      await pipeline?.close();
      await deployment?.close();
      await anvil.stop();
    }
  });

async function submit({ deployment, pipeline }: World, change: Partial<JobOrder> = {}): Promise<Hex> {
  const { client, honest } = deployment;
  const request = await orderFor(client, bundle, honest.address, 1, nextNonce++, 'optimistic', change);
  return pipeline.submit(request, `order ${request.order.nonce}`);
}

/** Looks until it is so; the test's own time limit is the end of patience. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Once its receipt is bound. */
async function claimOf(world: World, id: Hex): Promise<Claim> {
  await until(async () => ((await world.pipeline.job(id))?.position ?? null) !== null);
  const { receipt, position } = (await world.pipeline.job(id))!;
  return { receipt: receipt!.receipt, header: position!.header, index: position!.index };
}

describe.concurrent('the optimistic lane', LIMIT, () => {
  it('pays for what nobody challenges, once the window is over', () =>
    inWorld(async (world) => {
      const { pipeline, deployment } = world;
      const ids = [await submit(world), await submit(world)];
      const { header } = await claimOf(world, ids[0]!);
      expect(header.lane).toBe('optimistic');
      const job = (await pipeline.job(ids[0]!))!;
      expect(job).toMatchObject({ outcome: null, lane: { lane: 'optimistic' }, audit: null });
      // The trace is committed to, and is on the executor's disk for whoever asks.
      expect(await deployment.honest.traces.has('trace', job.receipt!.receipt.traceRoot)).toBe(true);
      for (const id of ids) {
        await pipeline.waitFor(id);
        const ended = (await pipeline.job(id))!;
        expect(ended).toMatchObject({ outcome: 'accepted', chainStatus: 'final-optimistic' });
        const now = await deployment.client.escrow.clock();
        expect(now).toBeGreaterThan(header.committedAt + WINDOW);
      }
      await pipeline.drain();
      for (const id of ids) expect(await pipeline.job(id)).toMatchObject({ settlement: { state: 'paid' } });
    }));

  it('rejects what is demanded and not answered, and the executor gets no more work', () =>
    inWorld(async (world) => {
      const { pipeline, deployment } = world;
      const { client, provider } = deployment;
      const id = await submit(world);
      const claim = await claimOf(world, id);
      const game = client.game!;
      const watcher = new Wallet(anvilKey(5));
      await fund(provider, client.escrow, watcher, 10n ** 12n);
      await sendAs(provider, watcher, client.escrow.allowCall(game.address, 10n ** 12n));
      const path = nodePath(new StepModel(bundle), new KnownClaim(claim.receipt), TRACE_ROOT)!;
      await sendAs(provider, watcher, game.demandCall(claim, TRACE_ROOT, path));
      const { nextAnswerBy } = await game.claimOf(batchHash(claim.header, client.domain), claim.header, claim.index);
      await until(async () => (await client.escrow.clock()) > nextAnswerBy!);
      const { order } = (await pipeline.job(id))!;
      await sendAs(provider, watcher, game.timeoutCall({ order, ...claim }));
      await pipeline.waitFor(id);
      await pipeline.drain();
      expect(await pipeline.job(id)).toMatchObject({
        outcome: 'rejected',
        chainStatus: 'invalid',
        settlement: { state: 'slashed' },
      });
      const nodes = await pipeline.database.query<{ reason: string }>(
        'SELECT reason FROM assay.nodes WHERE address = $1 AND suspended_at IS NOT NULL',
        [order.executor],
      );
      expect(nodes[0]!.reason).toContain('fraud in batch');
    }));

  it('takes an order on only while its executor could answer for all that is open', () =>
    inWorld(
      async (world) => {
        const { pipeline } = world;
        const first = await submit(world);
        await claimOf(world, first);
        const second = await submit(world);
        const { bundles, chain } = world.deployment.ports;
        const full = await isDisputeCapacityFull(
          { database: pipeline.database, bundles, chain: { ...chain, gasPerTick: async () => GAS_FOR_ONE } },
          (await pipeline.job(second))!.order,
        );
        expect(full).toBe(true);
        expect((await pipeline.job(second))!.acceptance).toBeNull();
        // The first is final, and the second is taken on.
        await pipeline.waitFor(second);
        expect((await pipeline.job(first))!.outcome).toBe('accepted');
        await expect(
          isDisputeCapacityFull(
            { database: pipeline.database, bundles, chain: { ...chain, gasPerTick: async () => 1_000 } },
            (await pipeline.job(second))!.order,
          ),
        ).rejects.toMatchObject({ code: 'LANE_CLOSED' });
      },
      () => ({ gasPerTick: async () => GAS_FOR_ONE }),
    ));
});

/** 5 % of it, over the answer time, is eight largest answers (50,000 + 48 a byte), and half of one more. */
const GAS_FOR_ONE = (8.5 * (50_000 + 48 * largestAnswerBytes(bundle.graph, 1))) / (0.05 * POLICY.answerTime);
