/** Orders as money on chain: what keeps one from being opened, who is paid, and what a reorganisation takes back. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  auditors,
  CHEAT_ON,
  connectDeployment,
  orderFor,
  PRICE,
  requester,
  tinyBundle,
  type TestDeployment,
} from '../test/kill/fixture.js';
import {
  accountWallets,
  fund,
  governor,
  prepareChain,
  startPrepared,
  type DeployOptions,
} from '../test/kill/deploy.js';
import { freshDirectory, makeTemplate } from '../test/kill/harness.js';
import { turns } from '../test/kill/turns.js';
import { AssayError } from '../common/errors.js';
import type { Hex, JobOrder } from '../receipts/types.js';
import { anvilKey, type Anvil } from '../verifier-contracts/anvil.js';
import { escrowInterface } from '../verifier-contracts/escrow-client.js';
import type { PipelineSettingsInput } from './config.js';
import { Pipeline } from './pipeline.js';
import type { ChainPort, Clock } from './ports.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-settlement-'));
const bundle = tinyBundle();
const QUICK = { openAgeMs: 50, batchAgeMs: 150, pollMs: 40, sweepMs: 100 } as const;
const addressOf = ({ address }: { readonly address: string }): Hex => address.toLowerCase() as Hex;
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
  readonly chain?: (chain: ChainPort) => Partial<ChainPort>;
  readonly clock?: Clock;
}

const inTurn = turns(2);
const LIMIT = { timeout: 300_000 } as const;

/** A chain and a pipeline of the test's own. */
const inWorld = (options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> =>
  inTurn(async () => {
    const directory = join(scratch, `world-${directories++}`);
    freshDirectory(join(scratch, 'template'), directory);
    const prepared = await prepareChain(options.deploy);
    const anvil = await startPrepared(prepared, { blockTimeS: 0.1 });
    let deployment: TestDeployment | undefined;
    let pipeline: Pipeline | undefined;
    try {
      const { rollup } = prepared;
      deployment = await connectDeployment({ directory, url: anvil.url, rollup, bundle, name: 'one' });
      const { chain } = deployment.ports;
      pipeline = await Pipeline.open(
        { dataDirectory: directory, ...QUICK, ...options.settings },
        {
          ...deployment.ports,
          chain: { ...chain, ...options.chain?.(chain) },
          ...(options.clock === undefined ? {} : { clock: options.clock }),
        },
      );
      await work({ anvil, deployment, pipeline });
    } finally {
      await pipeline?.close();
      await deployment?.close();
      await anvil.stop();
    }
  });

async function submit({ deployment, pipeline }: World, change: Partial<JobOrder> = {}, first = 1): Promise<Hex> {
  const { client, honest } = deployment;
  const request = await orderFor(client, bundle, honest.address, first, nextNonce++, 'sampled', change);
  return pipeline.submit(request, `order ${request.order.nonce}`);
}

/** Looks until it is so; the test's own time limit is the end of patience. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50));
}

const stateOf = async ({ pipeline }: World, id: Hex) => (await pipeline.job(id))!.settlement.state;

/** How often the chain says that the order was opened, bound, ended. */
async function countOf({ deployment }: World, event: string, orderHash: Hex): Promise<number> {
  const { escrow, provider } = deployment.client;
  const topics = escrowInterface.encodeFilterTopics(event, [orderHash]);
  return (await provider.getLogs({ address: escrow.address, fromBlock: 0, topics })).length;
}

describe.concurrent('orders are opened', LIMIT, () => {
  it('together: one transaction, and each knows its state', () =>
    inWorld({ settings: { openAgeMs: 60_000 } }, async (world) => {
      const { pipeline, deployment } = world;
      const ids = await Promise.all(Array.from({ length: 5 }, () => submit(world)));
      const waiting = () => pipeline.database.query(`SELECT 1 FROM assay.work WHERE step = 'opening'`);
      await until(async () => (await waiting()).length === 5);
      for (const id of ids)
        expect(await pipeline.job(id)).toMatchObject({ settlement: { state: 'unopened', depth: null } });
      // Draining, nothing waits for its age.
      await pipeline.drain();
      const openings = await pipeline.database.query('SELECT count FROM assay.openings');
      expect(openings).toEqual([{ count: 5 }]);
      for (const id of ids) {
        expect(await pipeline.job(id)).toMatchObject({ outcome: 'accepted', settlement: { state: 'paid' } });
        expect(await countOf(world, 'OrderOpened', id)).toBe(1);
      }
      // A block is final on anvil when 64 have followed.
      await world.anvil.mine(70);
      await until(async () => (await pipeline.job(ids[0]!))!.settlement.depth === 'finalized');
      expect(await deployment.client.escrow.freeOf(addressOf(requester))).toBeGreaterThan(0n);
    }));

  it('at most 48 at once', () =>
    inWorld({ settings: { openAgeMs: 60_000, concurrency: 16 } }, async (world) => {
      const { pipeline } = world;
      for (let i = 0; i < 50; i++) await submit(world);
      await until(async () => (await pipeline.database.query('SELECT 1 FROM assay.openings')).length > 0);
      await until(
        async () => (await pipeline.database.query(`SELECT 1 FROM assay.work WHERE step = 'opening'`)).length === 2,
      );
      expect(await pipeline.database.query('SELECT count FROM assay.openings')).toEqual([{ count: 48 }]);
    }));

  it('as far as the money goes: the others wait for a deposit, and go on when it comes', () =>
    // For one order and a half.
    inWorld({ deploy: { requesterFunds: 16_500n }, settings: { openAgeMs: 500 } }, async (world) => {
      const { pipeline, deployment } = world;
      const ids = await Promise.all([submit(world), submit(world)]);
      await until(async () => (await Promise.all(ids.map((id) => stateOf(world, id)))).includes('paid'));
      const views = await Promise.all(ids.map(async (id) => (await pipeline.job(id))!));
      const poor = views.find(({ settlement }) => settlement.state === 'unopened')!;
      expect(poor).toMatchObject({ outcome: null, step: 'accept', error: null });
      await fund(deployment.provider, deployment.client.escrow, requester, 1_000_000n);
      expect(await pipeline.waitFor(poor.jobId)).toMatchObject({ outcome: 'accepted' });
      for (const id of ids) expect(await countOf(world, 'OrderOpened', id)).toBe(1);
    }));

  it('until `validUntil`: after that the order fails, with fault and mend', () =>
    inWorld({ deploy: { requesterFunds: 5n } }, async (world) => {
      const { pipeline, deployment } = world;
      const validUntil = (await deployment.client.escrow.clock()) + 600;
      const id = await submit(world, { validUntil });
      await until(async () => (await pipeline.job(id))!.acceptance !== null);
      await deployment.provider.send('evm_increaseTime', [700]);
      const view = await pipeline.waitFor(id);
      expect(view).toMatchObject({ outcome: 'failed', step: 'done', error: { code: 'ORDER_UNOPENABLE' } });
      expect(view.error).toMatchObject({
        meta: { fault: 'expired' },
        mend: expect.stringContaining('deposit') as string,
      });
      expect(await deployment.ports.chain.nonceOf(deployment.ports.poster.address)).toBe(0);
    }));

  it('not at all where the chain will never take them, and nobody waits', () =>
    inWorld({}, async (world) => {
      const { pipeline, deployment, anvil } = world;
      const { escrow } = deployment.client;
      const { cheat } = accountWallets('one');
      const retired = await (
        await cheat.connect(deployment.provider).sendTransaction(escrow.retireNodeCall(deployment.cheat.address))
      ).wait();
      expect(retired!.status).toBe(1);
      await anvil.mine(1);
      const node = await pipeline.waitFor(await submit(world, { executor: deployment.cheat.address }));
      expect(node).toMatchObject({ outcome: 'failed', error: { code: 'ORDER_UNOPENABLE', meta: { fault: 'node' } } });
      const amount = await pipeline.waitFor(await submit(world, { price: 2n ** 200n }));
      expect(amount).toMatchObject({ outcome: 'failed', error: { meta: { fault: 'amount' } } });
      expect(amount.settlement).toEqual({ state: 'unopened', depth: null });
      // Others are not held up.
      expect(await pipeline.waitFor(await submit(world))).toMatchObject({ outcome: 'accepted' });
    }));

  it('by somebody else: found open, and run', () =>
    inWorld(
      {
        // Nothing passes but by the test.
        settings: { openAgeMs: 3_600_000 },
      },
      async (world) => {
        const { pipeline, deployment } = world;
        const id = await submit(world);
        await until(async () => (await pipeline.job(id))!.step === 'opening');
        const { order, orderSignature, acceptance } = (await pipeline.job(id))!;
        const { escrow } = deployment.client;
        const stranger = new Wallet(anvilKey(7), deployment.provider);
        const signed = { order, requesterSignature: orderSignature, executorSignature: acceptance! };
        await (await stranger.sendTransaction(escrow.openCall([signed]))).wait();
        await pipeline.drain();
        expect(await pipeline.job(id)).toMatchObject({ outcome: 'accepted', settlement: { state: 'paid' } });
        expect(await countOf(world, 'OrderOpened', id)).toBe(1);
      },
    ));
});

/** How many orders a call opens or pays; 0 for any other call. */
function ordersIn(data: string, name: 'open' | 'settle'): number {
  const call = escrowInterface.parseTransaction({ data });
  return call?.name === name ? (call.args[0] as unknown[]).length : 0;
}
const countsOf = async ({ pipeline }: World): Promise<number[]> =>
  (await pipeline.database.query<{ count: number }>('SELECT count FROM assay.openings ORDER BY count')).map(
    ({ count }) => count,
  );

describe.concurrent('orders that fail those opened with them', LIMIT, () => {
  it('requesters with code: each order is opened alone', () =>
    inWorld(
      { settings: { openAgeMs: 60_000 }, chain: () => ({ hasCode: () => Promise.resolve(true) }) },
      async (world) => {
        const ids = await Promise.all([submit(world), submit(world), submit(world)]);
        // Nobody is waited for.
        for (const id of ids) await world.pipeline.waitFor(id);
        expect(await countsOf(world)).toEqual([1, 1, 1]);
      },
    ));

  it.each([
    [
      'more gas than was estimated, again and again',
      async (chain: ChainPort, ...call: Parameters<ChainPort['price']>) => ({
        ...(await chain.price(...call)),
        gasLimit: 150_000n,
      }),
    ],
    ['more gas than there is', () => Promise.reject(new AssayError('CHAIN_REVERTED', 'gas estimate: out of gas'))],
  ])('they take %s: each is opened alone after that', (_what, dear) =>
    inWorld(
      {
        settings: { openAgeMs: 1_000 },
        chain: (chain) => ({
          price: (call, from) => (ordersIn(call.data, 'open') > 1 ? dear(chain, call, from) : chain.price(call, from)),
        }),
      },
      async (world) => {
        const ids = await Promise.all([submit(world), submit(world), submit(world)]);
        for (const id of ids) expect(await world.pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted' });
        const counts = await countsOf(world);
        expect(Math.max(...counts)).toBeGreaterThan(1);
        expect(counts.filter((count) => count === 1).length).toBeGreaterThan(1);
      },
    ),
  );

  it('one that fails alone is given up, after five transactions', () =>
    inWorld(
      {
        chain: (chain) => ({
          price: async (call, from) => ({ ...(await chain.price(call, from)), gasLimit: 100_000n }),
        }),
      },
      async (world) => {
        const view = await world.pipeline.waitFor(await submit(world));
        expect(view).toMatchObject({ outcome: 'failed', step: 'done', error: { code: 'CHAIN_REVERTED' } });
        expect(view.settlement.state).toBe('unopened');
        expect(await world.deployment.ports.chain.nonceOf(world.deployment.ports.poster.address)).toBe(5);
      },
    ));
});

describe.concurrent('an executor', LIMIT, () => {
  it("is not asked to sign what came after `deliverBy` by our own clock, though not by the chain's", () =>
    inWorld({ clock: () => Date.now() + 2_500_000_000_000 }, async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({
        outcome: 'failed',
        receipt: null,
        error: { code: 'ORDER_UNDELIVERED', message: expect.stringContaining('issuedAt: due by') as string },
      });
    }));
});

describe.concurrent('the money', LIMIT, () => {
  it.each(['refuses the call', 'makes the estimate fail'])('of an order that %s holds up no other', (how) => {
    const bad: { hash?: Hex } = {};
    const asked: number[] = [];
    return inWorld(
      {
        settings: { batchSize: 5, batchAgeMs: 60_000 },
        chain: (chain) => ({
          settleCall: (orders) => {
            const call = chain.settleCall(orders);
            if (!orders.some(({ receipt }) => receipt.orderHash === bad.hash)) return call;
            asked.push(orders.length);
            return { ...call, data: `${call.data}bad0` };
          },
          price: (call, from) => {
            if (!call.data.endsWith('bad0')) return chain.price(call, from);
            const code = how === 'refuses the call' ? 'CHAIN_REVERTED' : 'CHAIN_UNAVAILABLE';
            return Promise.reject(new AssayError(code, 'staged by the test'));
          },
        }),
      },
      async (world) => {
        const { pipeline } = world;
        const ids = await Promise.all(Array.from({ length: 5 }, () => submit(world)));
        bad.hash = ids[2]!;
        for (const id of ids) await pipeline.waitFor(id);
        const others = ids.filter((id) => id !== bad.hash);
        await until(async () => (await Promise.all(others.map((id) => stateOf(world, id)))).every((s) => s === 'paid'));
        for (const id of others) expect(await pipeline.job(id)).toMatchObject({ step: 'done' });
        expect(await pipeline.job(bad.hash)).toMatchObject({ step: 'batched', settlement: { state: 'bound' } });
        const [work] = await pipeline.database.query(
          `SELECT last_error->>'message' AS error FROM assay.work WHERE step = 'pay'`,
        );
        expect(work).toEqual({ error: 'staged by the test' });
        expect([Math.max(...asked), Math.min(...asked)]).toEqual([5, 1]);
        // It is tried again and again.
        const before = asked.length;
        await until(() => Promise.resolve(asked.length > before + 2));
        delete bad.hash;
        await pipeline.drain();
        for (const id of ids) {
          expect(await pipeline.job(id)).toMatchObject({ step: 'done', settlement: { state: 'paid' } });
          expect(await countOf(world, 'OrderEnded', id)).toBe(1);
        }
      },
    );
  });

  it('goes to the honest executor, and from the cheat; not a unit comes or goes otherwise', () =>
    inWorld({ settings: { batchSize: 2, batchAgeMs: 60_000 } }, async (world) => {
      const { pipeline, deployment } = world;
      const { escrow, policy } = deployment.client;
      const accounts = accountWallets('one');
      const people = { requester, honest: accounts.honest, cheat: accounts.cheat, governor };
      const paid = [...auditors, new Wallet(anvilKey(0))];
      const balances = async () => {
        const entries = Object.entries(people).map(
          async ([name, wallet]) => [name, await escrow.freeOf(addressOf(wallet))] as const,
        );
        const others = await Promise.all(paid.map((wallet) => escrow.freeOf(addressOf(wallet))));
        const { available, held } = await escrow.reserve();
        const others0 = others.reduce((a, b) => a + b);
        const named = Object.fromEntries(await Promise.all(entries)) as Record<keyof typeof people, bigint>;
        return { ...named, others: others0, reserve: available + held };
      };
      const sum = (all: Record<string, bigint>) => Object.values(all).reduce((a, b) => a + b);
      const inContract = () => escrow.tokenBalanceOf(escrow.address);
      const before = await balances();
      expect(sum(before)).toBe(await inContract());

      const good = await submit(world);
      const bad = await submit(world, { executor: deployment.cheat.address }, CHEAT_ON);
      expect(await pipeline.waitFor(good)).toMatchObject({ outcome: 'accepted' });
      expect(await pipeline.waitFor(bad)).toMatchObject({ outcome: 'rejected' });
      await pipeline.drain();
      expect([await stateOf(world, good), await stateOf(world, bad)]).toEqual(['paid', 'slashed']);

      const after = await balances();
      const burnt = sum(before) - sum(after);
      expect(sum(after)).toBe(await inContract());
      const fee = (PRICE * BigInt(policy.protocolFeeBps)) / 10_000n;
      const surcharge = policy.auditFee;
      // The one that was cheated pays nothing, the other the price and its share of the audits.
      expect(after.requester - before.requester).toBe(-(PRICE + surcharge));
      expect(after.honest - before.honest).toBe(PRICE - fee);
      expect(after.governor - before.governor).toBe(fee);
      // The whole lock: gas, fee and bounty of the checker, and the rest burnt.
      expect(after.cheat - before.cheat).toBe(-policy.minLock);
      const bounty = (policy.minLock * BigInt(policy.bountyAuditBps)) / 10_000n;
      const gas = BigInt(policy.gasKill) * policy.unitPrice;
      expect(burnt).toBe(policy.minLock - gas - policy.auditFee - bounty);
      // Two checks, of which the good one is paid by the reserve.
      expect(after.others - before.others).toBe(bounty + gas + 2n * policy.auditFee);
      expect(after.reserve - before.reserve).toBe(surcharge - policy.auditFee);
    }));
});

describe.concurrent('a reorganisation', LIMIT, () => {
  const snapshot = ({ deployment }: World) => deployment.provider.send('evm_snapshot', []) as Promise<string>;
  const revert = async ({ deployment }: World, to: string): Promise<void> => {
    expect(await deployment.provider.send('evm_revert', [to])).toBe(true);
    // The other branch: its blocks have other times, so other hashes.
    await deployment.provider.send('evm_increaseTime', [7]);
  };
  const nonces = async ({ pipeline }: World): Promise<number[]> =>
    (await pipeline.database.query<{ nonce: string }>('SELECT nonce FROM assay.intents ORDER BY nonce')).map(
      ({ nonce }) => Number(nonce),
    );
  /** Every nonce once, and each used on the chain that stands now. */
  const expectOnce = async (world: World, id: Hex): Promise<void> => {
    const { pipeline, deployment } = world;
    await pipeline.drain();
    expect(await pipeline.job(id)).toMatchObject({ step: 'done', outcome: 'accepted', settlement: { state: 'paid' } });
    for (const event of ['OrderOpened', 'OrderBound', 'OrderEnded']) expect(await countOf(world, event, id)).toBe(1);
    const used = await deployment.ports.chain.nonceOf(deployment.ports.poster.address);
    expect(await nonces(world)).toEqual(Array.from({ length: used }, (_, i) => i));
  };

  it('takes out the opening: it is sent again, and the commit waits for it', () =>
    inWorld({ settings: { batchAgeMs: 2_000 } }, async (world) => {
      const before = await snapshot(world);
      const id = await submit(world);
      await until(async () => (await stateOf(world, id)) === 'open');
      await until(async () => (await world.pipeline.job(id))!.step === 'sealing');
      await revert(world, before);
      expect((await world.deployment.client.escrow.orderOf(id)).state).toMatch(/none|open/);
      await world.pipeline.waitFor(id);
      await expectOnce(world, id);
    }));

  it('takes out the commit of a batch that waits for its payment', () => {
    let hold = true;
    return inWorld(
      {
        chain: (chain) => ({
          // The output can still be demanded, as long as the test says so.
          price: async (call, from) => {
            if (hold && escrowInterface.parseTransaction({ data: call.data })?.name === 'settle')
              throw new Error('held by the test');
            return chain.price(call, from);
          },
        }),
      },
      async (world) => {
        const id = await submit(world);
        await until(async () => (await stateOf(world, id)) === 'open');
        const before = await snapshot(world);
        await world.pipeline.waitFor(id);
        expect(await stateOf(world, id)).toBe('bound');
        await revert(world, before);
        hold = false;
        await expectOnce(world, id);
      },
    );
  });

  it('takes out the payment of a job that is done: it is paid again, once', () => {
    let before: string | undefined;
    const current: { world?: World } = {};
    return inWorld(
      {
        chain: (chain) => ({
          // What is taken back must not count as final, however many blocks pass before it is.
          blockAt: (at) => chain.blockAt(at === 'finalized' ? 0 : at),
          price: async (call, from) => {
            const priced = await chain.price(call, from);
            if (escrowInterface.parseTransaction({ data: call.data })?.name === 'settle')
              before ??= await snapshot(current.world!);
            return priced;
          },
        }),
      },
      async (world) => {
        current.world = world;
        const id = await submit(world);
        await world.pipeline.waitFor(id);
        await world.pipeline.drain();
        expect(await stateOf(world, id)).toBe('paid');
        await revert(world, before!);
        expect((await world.deployment.client.escrow.orderOf(id)).state).toMatch(/bound|paid/);
        // The tables follow the chain: paid there again, whatever they said in between.
        await until(async () => (await world.deployment.client.escrow.orderOf(id)).state === 'paid');
        await until(async () => (await world.pipeline.job(id))!.step === 'done');
        await expectOnce(world, id);
      },
    );
  });
});
