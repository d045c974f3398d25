/**
 * Counterexamples to earlier texts of the protocol, each as it was found: a lie survived, an honest party lost, or somebody
 * was paid twice. The fixture checks after each call that every unit of money has one owner.
 */
import { id } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../../receipts/types.js';
import type { GameNode } from '../dispute-types.js';
import {
  A,
  addressOf,
  D,
  found,
  gamePolicy,
  notFound,
  R,
  refusal,
  START_TIMEOUT_MS,
  startGame,
  type GameFixture,
  type Job,
} from '../harness/dispute/game-fixture.js';
import {
  chunksNode,
  countingTensor,
  inputsNode,
  outputsNode,
  tensorNode,
  TestTrace,
  traceRootNode,
} from '../harness/dispute/test-trace.js';

let f: GameFixture;
beforeAll(async () => {
  f = await startGame();
}, START_TIMEOUT_MS);
afterAll(() => f.stop());

const tensor = countingTensor(64 * 40);
const trace = new TestTrace([id('slot 0') as Hex, tensor.root], undefined, new Map([[1, tensor]]));
const chunk = (i: number): GameNode => chunksNode(1, i);

const LOCK = gamePolicy.minLock;
const BOUNTY = (LOCK * BigInt(gamePolicy.bountyOpenBps)) / 10_000n;
const GAS = BigInt(gamePolicy.gasKill) * gamePolicy.unitPrice;
const HELD = 1_500_000n + 80_000n;
const costOf = (bytes: number): bigint =>
  (BigInt(gamePolicy.gasAnswer) + BigInt(gamePolicy.gasAnswerByte) * BigInt(bytes)) * gamePolicy.unitPrice;
const baseOf = (bytes: number): bigint => (costOf(bytes) * 6n) / 5n;
/** Of one chunk of int8. */
const CHUNK = baseOf(64);

/** What the party's free balance has changed by. */
async function gainOf(party: Parameters<typeof addressOf>[0], scene: () => Promise<unknown>): Promise<bigint> {
  const before = (await f.ledger())[party]!;
  await scene();
  return (await f.ledger())[party]! - before;
}

async function reveal(job: Job, by: 'watcher' | 'hostile' = 'watcher'): Promise<void> {
  for (const node of [traceRootNode, tensorNode(1), chunk(3)]) {
    await f.demand(job, node, { by });
    await f.answer(job, node);
  }
}

const scene = (name: string, play: () => Promise<void>): void => {
  it(name, () => f.apart(play));
};

describe('E1: a cheat does not escape with a friendly requester', () => {
  scene(
    'an unanswered output demand neither ends the order nor frees the lock before the claim has ended',
    async () => {
      const job = await f.job(trace);
      const range = { tensor: 0, firstChunk: 0, chunkCount: 1 };
      await f.demand(job, chunk(3));
      const { escrow } = f.client;
      await f.send('requester', escrow.demandOutputCall(job, range));
      await f.answer(job, chunk(3));
      await f.passTo((await f.now()) + A + 1);
      expect((await escrow.orderOf(job.receipt.orderHash)).undelivered).toBe(true);
      expect(await refusal(f.settle(job))).toBe('NotFinal');
      expect(await f.stateOf(job)).toBe('challengeable');
    },
  );
});

describe('E2: self-equivocation neither makes a lie final nor steals a kill', () => {
  scene('demands of a claim that died by a second receipt go back, and nobody answers for money', async () => {
    const job = await f.job(trace);
    await f.demand(job, traceRootNode);
    await f.demand(job, tensorNode(1));
    await f.answer(job, traceRootNode, { by: 'helper', time: (await f.now()) + A / 2 + 2 });
    await f.equivocate(job);
    expect(await f.stateOf(job)).toBe('dead');
    expect(await refusal(f.demand(job, chunk(0)))).toBe('ClaimDead');
    expect(await refusal(f.prove(job))).toBe('ClaimDead');
    const gain = await gainOf('watcher', () => f.close(job));
    expect(gain).toBe(baseOf(4 + 36 * 2) + baseOf(57 + 32 * 512));
  });

  scene('what a second receipt killed is dead behind its end, too', async () => {
    const job = await f.job(trace);
    await f.equivocate(job);
    await f.passTo(job.windowEnd + 1);
    expect(await refusal(f.demand(job, traceRootNode))).toBe('ClaimDead');
    expect(await refusal(f.prove(job))).toBe('ClaimDead');
  });

  scene('what was final before a second receipt is final', async () => {
    const job = await f.job(trace);
    await f.passTo(job.windowEnd + 1);
    await f.equivocate(job);
    expect(await refusal(f.demand(job, traceRootNode))).toBe('ClaimFinal');
    expect(await refusal(f.prove(job))).toBe('ClaimFinal');
  });

  scene('after an overdue demand no second receipt ends the order: the bounty is the demander’s', async () => {
    const job = await f.job(trace);
    const { answerBy } = await f.demand(job, traceRootNode);
    expect(await refusal(f.equivocate(job, 'hostile', answerBy + 1))).toBe('LeafDead');
    expect(await gainOf('watcher', () => f.timeout(job))).toBe(BOUNTY);
  });

  scene('a demand that is overdue after the second receipt earns nobody anything', async () => {
    const job = await f.job(trace);
    const { answerBy } = await f.demand(job, traceRootNode);
    await f.equivocate(job);
    expect(await refusal(f.timeout(job, 'watcher', answerBy + 1))).toBe('ClaimDead');
  });

  scene('killing and settling are one transaction: no second receipt comes between', async () => {
    const job = await f.job(trace);
    await f.precommit(job);
    await f.passTo((await f.now()) + 10);
    const moved = await f.moved(() => f.prove(job));
    expect(moved).toEqual({
      watcher: BOUNTY + GAS,
      requester: HELD,
      orders: -HELD,
      locks: -LOCK,
      burnt: LOCK - BOUNTY - GAS,
    });
    expect(await refusal(f.equivocate(job))).toBe('OrderStateIs');
    expect(await refusal(f.settle(job))).toBe('NothingSettled');
  });

  scene(
    'a leaf that is final stays so when a second receipt comes: deposits are paid as of a claim that stands',
    async () => {
      const job = await f.job(trace);
      await f.demand(job, traceRootNode);
      await f.answer(job, traceRootNode);
      await f.passTo(job.windowEnd + D + 1);
      await f.equivocate(job);
      expect(await f.stateOf(job)).toBe('final');
      expect(await gainOf('account', () => f.close(job))).toBe(costOf(4 + 32 * 2));
    },
  );
});

describe('E4: the honest watcher does not pay for the proof', () => {
  scene('every deposit, answered or not, returns when the claim dies by a proof', async () => {
    const job = await f.job(trace);
    await reveal(job);
    await f.demand(job, chunk(4), { by: 'hostile' });
    await f.prove(job);
    const moved = await f.moved(() => f.close(job));
    expect(moved['account']).toBeUndefined();
    expect(moved['burnt']).toBeUndefined();
    expect(moved['watcher']).toBe(baseOf(4 + 36 * 2) + baseOf(57 + 32 * 512) + CHUNK);
    expect(moved['hostile']).toBe(CHUNK);
  });

  scene('a cheat who proves his own fault with an older precommit leaves the watcher as he was', async () => {
    const job = await f.job(trace);
    await f.precommit(job, found(id('own') as Hex), 'account');
    const loss = await gainOf('watcher', async () => {
      await reveal(job);
      await f.precommit(job);
      await f.prove(job, found(id('own') as Hex), { by: 'account' });
      await f.close(job);
    });
    expect(loss).toBe(0n);
  });

  scene('of a claim that stands: the cost to who answered, the rest back', async () => {
    const job = await f.job(trace);
    await reveal(job);
    const { until } = await f.viewOf(job);
    expect(await refusal(f.close(job, job.demanded, 'watcher', until))).toBe('ClaimOpen');
    const costs = costOf(4 + 32 * 2) + costOf(22 + 32 * 40) + costOf(64);
    const deposits = baseOf(4 + 36 * 2) + baseOf(57 + 32 * 512) + CHUNK;
    const moved = await f.moved(() => f.close(job, job.demanded, 'stranger', until + 1));
    expect(moved).toEqual({ account: costs, watcher: deposits - costs, deposits: -deposits });
    // Once.
    expect(await f.moved(() => f.close(job))).toEqual({});
  });
});

describe('E5: a copied answer earns nothing', () => {
  scene('in the first half the executor earns, whoever sends; a second answer is refused', async () => {
    const job = await f.job(trace);
    const { answerBy } = await f.demand(job, chunk(3), { by: 'hostile' });
    await f.answer(job, chunk(3), { by: 'hostile', time: answerBy - A / 2 });
    expect(await refusal(f.answer(job, chunk(3)))).toBe('DemandAnswered');
    expect((await f.demandOf(job, chunk(3)))!.payee).toBeNull();
    await f.passTo(job.windowEnd + 3 * D + 1);
    const moved = await f.moved(() => f.close(job));
    expect(moved).toEqual({ account: costOf(64), hostile: CHUNK - costOf(64), deposits: -CHUNK });
  });

  scene('in the second half the helper earns', async () => {
    const job = await f.job(trace);
    const { answerBy } = await f.demand(job, chunk(3));
    await f.answer(job, chunk(3), { by: 'helper', time: answerBy });
    expect((await f.demandOf(job, chunk(3)))!.payee).toBe(addressOf('helper'));
    await f.passTo(job.windowEnd + 3 * D + 1);
    expect(await gainOf('helper', () => f.close(job))).toBe(costOf(64));
  });
});

describe('E6: watchers are not priced out', () => {
  scene(
    'the surcharge grows with each eighth demand; roots are free of it; it is burnt of a claim that stands',
    async () => {
      const job = await f.job(trace);
      const base = baseOf(64);
      for (let i = 0; i < 24; i++) {
        const expected = base * (1n + BigInt(i < 8 ? 0 : Math.floor((i - 7) / 8)));
        await f.demand(job, chunk(i), { by: 'hostile' });
        expect((await f.demandOf(job, chunk(i)))!.deposit, `demand ${i}`).toBe(expected);
      }
      for (const [node, bytes] of [
        [traceRootNode, 4 + 36 * 2],
        [inputsNode, 4 + 32 * 512],
        [outputsNode, 4 + 32 * 512],
      ] as const) {
        await f.demand(job, node);
        expect((await f.demandOf(job, node))!.deposit).toBe(baseOf(bytes));
      }
      expect((await f.viewOf(job)).demands).toBe(24);
      const surcharges = base * (8n + 2n);
      expect(await f.game.depositOf(job.claim, chunk(30))).toBe(baseOf(256) * 3n);
      await f.apart(async () => {
        await f.prove(job);
        const moved = await f.moved(() => f.close(job));
        expect(moved['hostile']).toBe(base * 24n + surcharges);
        expect(moved['burnt']).toBeUndefined();
      });
      for (const node of job.demanded) await f.answer(job, node);
      await f.passTo(job.windowEnd + 3 * D + 1);
      const moved = await f.moved(() => f.close(job));
      expect(moved['burnt']).toBe(surcharges);
      expect(moved['hostile']).toBe(24n * (base - costOf(64)));
    },
  );

  scene('a flood of demands does not keep the honest one from the trace', async () => {
    const job = await f.job(trace);
    for (let i = 0; i < 20; i++) await f.demand(job, chunk(i), { by: 'hostile' });
    const { answerBy } = await f.demand(job, traceRootNode);
    for (let i = 0; i < 20; i++) await f.answer(job, chunk(i));
    // The one that was not answered is overdue, wherever in the list it stood.
    expect((await f.viewOf(job)).nextAnswerBy).toBe(answerBy);
    await f.passTo(answerBy + 1);
    expect(await f.stateOf(job)).toBe('dead');
    expect(await gainOf('watcher', () => f.timeout(job))).toBe(BOUNTY);
  });
});

describe('E7, E20: the game judges what it was named for', () => {
  scene('a claim whose receipt, header or index is another is none', async () => {
    const job = await f.job(trace);
    const claims = [
      { ...job.claim, receipt: { ...job.receipt, traceRoot: id('other') as Hex } },
      { ...job.claim, index: 1 },
      { ...job.claim, header: { ...job.header, committedAt: job.header.committedAt + 1_000_000 } },
      { ...job.claim, header: { ...job.header, salt: id('salt') as Hex } },
      { ...job.claim, header: { ...job.header, unbound: 2n } },
    ];
    for (const claim of claims) expect(await refusal(f.demand({ ...job, claim }, traceRootNode))).toBe('ClaimUnbound');
  });
});

describe('E9: precommit and bounty', () => {
  scene('repeating an announcement changes nothing: the first one counts', async () => {
    const job = await f.job(trace);
    const { time } = await f.precommit(job);
    await f.precommit(job, found(), 'watcher', time + 3);
    // The commitment names the watcher, whoever sends it.
    const gain = await gainOf('watcher', () => f.prove(job, found(), { time: time + gamePolicy.precommitDelay }));
    expect(gain).toBe(BOUNTY + GAS);
  });

  scene('a copied proof takes nothing from who had announced in time', async () => {
    const job = await f.job(trace);
    const { time } = await f.precommit(job);
    expect(await gainOf('hostile', () => f.prove(job, found(), { by: 'hostile' }))).toBe(0n);
    expect(await f.game.bountyOf(job.batchHash, 0)).toEqual({
      amount: BOUNTY + GAS,
      claimableUntil: (await f.now()) + R,
    });
    expect(await refusal(f.claimBounty(job, found(), { by: 'hostile' }))).toBe('BountyUnavailable');
    // The judge is asked again.
    expect(await refusal(f.claimBounty(job, notFound))).toBe('NoFault');
    const gain = await gainOf('watcher', () =>
      f.claimBounty(job, found(), { by: 'stranger', beneficiary: 'watcher', time: time + 10 }),
    );
    expect(gain).toBe(BOUNTY + GAS);
    expect(await refusal(f.claimBounty(job))).toBe('BountyUnavailable');
  });

  scene('an announcement of the block of the kill, or later, claims nothing', async () => {
    const job = await f.job(trace);
    const { time } = await f.prove(job, found(), { by: 'hostile' });
    await f.precommit(job, found(), 'watcher', time + 1);
    expect(await refusal(f.claimBounty(job, found(), { time: time + 20 }))).toBe('BountyUnavailable');
    const moved = await f.moved(() => f.claimBounty(job, found(), { time: time + R + 1 }));
    expect(moved).toEqual({ bounties: -BOUNTY - GAS, burnt: BOUNTY + GAS });
  });

  scene('an announcement of another fault of the claim claims the bounty too', async () => {
    const job = await f.job(trace);
    const other = found(id('another fault') as Hex);
    await f.precommit(job, other);
    await f.prove(job, found(), { by: 'hostile' });
    const time = (await f.now()) + 10;
    expect(await gainOf('watcher', () => f.claimBounty(job, other, { time }))).toBe(BOUNTY + GAS);
  });

  scene('an announcement is of one fault, claim and beneficiary; other openings of the same fault serve', async () => {
    const job = await f.job(trace);
    await f.precommit(job);
    await f.passTo((await f.now()) + 10);
    expect(await f.apart(() => gainOf('hostile', () => f.prove(job, found(), { beneficiary: 'hostile' })))).toBe(0n);
    const other = found(id('other') as Hex);
    expect(await f.apart(() => gainOf('watcher', () => f.prove(job, other)))).toBe(0n);
    const reopened = found(undefined, [], 7);
    expect(await gainOf('watcher', () => f.prove(job, reopened, { by: 'stranger', beneficiary: 'watcher' }))).toBe(
      BOUNTY + GAS,
    );
  });
});

describe('E12: a freeze', () => {
  scene('nothing moves, and no side loses time', async () => {
    const job = await f.job(trace);
    const { answerBy } = await f.demand(job, traceRootNode);
    await f.send('guardian', f.client.escrow.freezeCall());
    for (const call of [
      () => f.demand(job, chunk(0)),
      () => f.answer(job, traceRootNode),
      () => f.precommit(job),
      () => f.prove(job),
      () => f.timeout(job),
      () => f.claimBounty(job),
      () => f.close(job),
      () => f.send('watcher', f.client.escrow.transferCall(addressOf('helper'), 1n)),
      () => f.send('watcher', f.client.escrow.allowCall(addressOf('helper'), 1n)),
    ])
      expect(await refusal(call())).toBe('Frozen');
    // Long after the demand was due by the calendar.
    const began = await f.client.escrow.clock();
    await f.passTo((await f.now()) + 900);
    expect(await f.client.escrow.clock()).toBe(began);
    expect(await f.stateOf(job)).toBe('challengeable');
    await f.send('guardian', f.client.escrow.unfreezeCall());
    expect(await f.client.escrow.clock()).toBeLessThan(answerBy);
    await f.answer(job, traceRootNode);
  });
});

describe('timeouts', () => {
  scene('the bounty is the demander’s whose demand was due first, the gas the caller’s', async () => {
    const job = await f.job(trace);
    await f.demand(job, chunk(0), { by: 'helper' });
    await f.demand(job, chunk(1));
    const { answerBy } = await f.demand(job, chunk(2), { by: 'hostile' });
    await f.answer(job, chunk(0));
    const moved = await f.moved(() => f.timeout(job, 'stranger', answerBy + 1));
    expect(moved).toEqual({
      watcher: BOUNTY,
      stranger: GAS,
      requester: HELD,
      orders: -HELD,
      locks: -LOCK,
      burnt: LOCK - BOUNTY - GAS,
    });
    expect(await refusal(f.timeout(job))).toBe('ClaimDead');
    expect(await refusal(f.answer(job, chunk(1)))).toBe('ClaimDead');
    expect((await f.moved(() => f.close(job)))['helper']).toBe(CHUNK);
  });

  scene('after a stranger had Escrow settle, the bounty is still the demander’s, once', async () => {
    const job = await f.job(trace);
    const { answerBy } = await f.demand(job, chunk(1));
    expect(await gainOf('stranger', () => f.settle(job, 'stranger', answerBy + 1))).toBe(GAS);
    expect(await f.moved(() => f.timeout(job, 'hostile'))).toEqual({ watcher: BOUNTY, bounties: -BOUNTY });
    expect(await refusal(f.timeout(job))).toBe('ClaimDead');
  });

  scene('nothing is overdue where all was answered, or nothing demanded', async () => {
    const job = await f.job(trace);
    expect(await refusal(f.timeout(job))).toBe('NotOverdue');
    const { answerBy } = await f.demand(job, chunk(1));
    await f.answer(job, chunk(1));
    expect(await refusal(f.timeout(job, 'stranger', answerBy + 1))).toBe('NotOverdue');
  });
});
