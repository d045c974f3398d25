/** Demands for output, their answers, and what they do to the end of an order (E1, E4, E5). */
import { id } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openOutput, type OutputOpening, type OutputRange } from '../../graph/commitment/open-output.js';
import { outputRoot } from '../../graph/commitment/index.js';
import type { IntegerGraph } from '../../graph/integer/types.js';
import {
  addressOf,
  depositOf,
  LANE,
  LEAF,
  refusal,
  settlement,
  START_TIMEOUT_MS,
  startEscrow,
  STATE,
  tableCost,
  type EscrowFixture,
  type Job,
  type Party,
} from '../harness/escrow/escrow-fixture.js';

let f: EscrowFixture;
let clean: string;
beforeAll(async () => {
  f = await startEscrow();
}, START_TIMEOUT_MS);
afterAll(() => f.stop());
beforeEach(async () => {
  clean = await f.snapshot();
});
afterEach(() => f.revertTo(clean));

const LOCK = 3_000_000n;
const HELD = 1_580_000n;
const PAID = 975_000n;

/** Two outputs of a job: 300 elements of one byte (5 chunks) and 70 of four (2 chunks). */
const graph = {
  name: 'outputs',
  tensors: [
    { shape: [300], range: { lo: -128, hi: 127 }, layout: [0] },
    { shape: [7, 10], range: { lo: -(2 ** 31), hi: 2 ** 31 - 1 }, layout: [1, 0] },
  ],
  outputs: [0, 1],
} as unknown as IntegerGraph;
const values = [
  Int32Array.from({ length: 300 }, (_, i) => (i * 37) % 128),
  Int32Array.from({ length: 70 }, (_, i) => -i * 30_000_001),
];
const ROOT = outputRoot(graph, values, 1);
const opening = (range: OutputRange): OutputOpening => openOutput(graph, values, 1, range);
const RANGE: OutputRange = { tensor: 0, firstChunk: 1, chunkCount: 3 };
const COST = tableCost({ gasAnswer: 30_000n, gasAnswerByte: 41n, unitPrice: 3n }, 3n);
const DEPOSIT = (COST * 6n) / 5n;

const boundJob = (lane: keyof typeof LANE = 'optimistic'): Promise<Job> =>
  f.bound({ lane: LANE[lane] }, { outputRoot: ROOT });
/** @returns time by which the demand must be answered */
async function demand(job: Job, range = RANGE, time?: number): Promise<number> {
  const { events } = await f.send('requester', 'demandOutput', [settlement(job), range], time);
  return Number(events[0]!.args[3]);
}
const answer = (job: Job, from: Party = 'stranger', range = RANGE, time?: number): Promise<unknown> =>
  f.send(from, 'answerOutput', [settlement(job), range, opening(range)], time);
const settle = (job: Job, time?: number): Promise<unknown> => f.send('stranger', 'settle', [[settlement(job)]], time);

describe('Bound -> output open: demandOutput', () => {
  it.each(['zk', 'optimistic', 'sampled'] as const)(
    '%s: the requester deposits 1.2 times the table cost',
    async (lane) => {
      const job = await boundJob(lane);
      let answerBy = 0;
      const moved = await f.moved(async () => {
        answerBy = await demand(job);
      });
      expect(moved).toEqual({ requester: -DEPOSIT, deposits: DEPOSIT });
      expect(DEPOSIT).toBe(depositOf(f.policy, 3n));
      const [made] = (await f.read('demandsOf', [job.orderHash])) as unknown[][];
      expect(made).toEqual([[0n, 1n, 3n], BigInt(answerBy), `0x${'0'.repeat(40)}`]);
      expect(answerBy).toBe((await f.now()) + Number(f.policy.answerTime));
      expect(await f.orderOf(job.orderHash)).toMatchObject({ undelivered: false, openDemands: 1n });
    },
  );

  it('Unauthorized: only the requester', async () => {
    const job = await boundJob();
    for (const party of ['stranger', 'account', 'signer'] as const) {
      expect(await refusal(f.send(party, 'demandOutput', [settlement(job), RANGE]))).toBe('Unauthorized');
    }
  });

  it('OrderStateIs: the order is not bound', async () => {
    const job = f.job(await f.open());
    expect(await refusal(demand(job))).toBe('OrderStateIs');
    const paid = await boundJob();
    await f.settle(paid);
    expect(await refusal(demand(paid))).toBe('OrderStateIs');
  });

  it('LeafMismatch: a receipt with another output', async () => {
    const job = await boundJob();
    const other = { ...job, receipt: { ...job.receipt, outputRoot: id('x') } };
    expect(await refusal(demand(other))).toBe('LeafMismatch');
  });

  it('LeafDead: nothing is demanded of a dead leaf', async () => {
    const job = await boundJob();
    await f.judge(job, LEAF.dead);
    expect(await refusal(demand(job))).toBe('LeafDead');
  });

  it('DemandClosed: void, or late', async () => {
    const job = await boundJob();
    await f.judge(job, LEAF.void);
    expect(await refusal(demand(job))).toBe('DemandClosed');
    await f.judge(job, LEAF.final);
    expect(await refusal(demand(job, RANGE, f.payableFrom(job)))).toBe('DemandClosed');
  });

  it('DemandClosed: once an answer is late, so that an order that can be settled stays so', async () => {
    const job = await boundJob('zk');
    const answerBy = await demand(job);
    const other = { tensor: 1, firstChunk: 0, chunkCount: 1 };
    expect(await refusal(demand(job, other, answerBy + 1))).toBe('DemandClosed');
    await settle(job);
    expect(await f.stateOf(job.orderHash)).toBe(STATE.refunded);
    // Answered in time, or still to be answered, it closes nothing.
    const next = await boundJob('zk');
    const last = await demand(next);
    await demand(next, other, last - 1);
    await answer(next);
  });

  it('InsufficientFree: the deposit is not there', async () => {
    const job = await boundJob();
    const free = (await f.read('freeOf', [addressOf('requester')])) as bigint;
    await f.send('requester', 'withdraw', [free - DEPOSIT + 1n, addressOf('requester')]);
    expect(await refusal(demand(job))).toBe('InsufficientFree');
  });

  it.each<[string, OutputRange]>([
    ['empty', { tensor: 0, firstChunk: 0, chunkCount: 0 }],
    ['more than 16 KiB', { tensor: 0, firstChunk: 0, chunkCount: 65 }],
    ['beyond 16 bits', { tensor: 0, firstChunk: 65_535, chunkCount: 1 }],
    ['far beyond', { tensor: 0, firstChunk: 2 ** 32 - 1, chunkCount: 64 }],
    ['of a tensor beyond 16 bits', { tensor: 65_536, firstChunk: 0, chunkCount: 1 }],
  ])('DemandInvalid: %s', async (_name, range) => {
    expect(await refusal(demand(await boundJob(), range))).toBe('DemandInvalid');
  });

  it('DemandInvalid: overlapping one before, answered or not; touching is no overlap', async () => {
    const job = await boundJob();
    await demand(job);
    const at = (firstChunk: number, chunkCount: number, tensor = 0): OutputRange => ({
      tensor,
      firstChunk,
      chunkCount,
    });
    for (const range of [RANGE, at(0, 2), at(3, 1), at(3, 9), at(0, 64), at(2, 1)]) {
      expect(await refusal(demand(job, range))).toBe('DemandInvalid');
    }
    await answer(job);
    expect(await refusal(demand(job))).toBe('DemandInvalid');
    await demand(job, at(0, 1));
    await demand(job, at(4, 60));
    await demand(job, at(1, 3, 1));
  });

  it('DemandInvalid: the 33rd', async () => {
    const job = await boundJob();
    for (let i = 0; i < 32; i++) await demand(job, { tensor: i, firstChunk: 0, chunkCount: 1 });
    expect(await refusal(demand(job, { tensor: 32, firstChunk: 0, chunkCount: 1 }))).toBe('DemandInvalid');
    // The worst order still ends within a transaction.
    const { gasUsed } = await f.settle(job);
    expect(gasUsed).toBeLessThan(1_000_000n);
    expect((await f.ledger())['deposits']).toBe(0n);
  });
});

describe('output open -> Bound: answerOutput', () => {
  it('moves nothing until the order ends (E4)', async () => {
    const job = await boundJob();
    await demand(job);
    expect(await f.moved(() => answer(job))).toEqual({});
    expect(await f.orderOf(job.orderHash)).toMatchObject({ undelivered: false, openDemands: 0n });
  });

  it('shows that a range is not there: neither such chunks nor such an output', async () => {
    const job = await boundJob();
    for (const range of [
      { tensor: 0, firstChunk: 5, chunkCount: 2 },
      { tensor: 1, firstChunk: 2, chunkCount: 64 },
      { tensor: 2, firstChunk: 0, chunkCount: 1 },
    ]) {
      await demand(job, range);
      await answer(job, 'signer', range);
    }
  });

  it('a demand that reaches beyond the end is answered with what there is, and not with "outside"', async () => {
    const job = await boundJob();
    const beyond = { tensor: 0, firstChunk: 3, chunkCount: 8 };
    await demand(job, beyond);
    const none = opening({ ...beyond, firstChunk: 5 });
    const args = [settlement(job), beyond, none];
    expect(await refusal(f.send('signer', 'answerOutput', args))).toBe('OpeningInvalid');
    expect(opening(beyond).elements).toBe(opening({ ...beyond, chunkCount: 2 }).elements);
    await answer(job, 'signer', beyond);
  });

  it('DemandUnknown: never asked, or asked in other pieces', async () => {
    const job = await boundJob();
    expect(await refusal(answer(job))).toBe('DemandUnknown');
    await demand(job);
    expect(await refusal(answer(job, 'signer', { ...RANGE, chunkCount: 2 }))).toBe('DemandUnknown');
  });

  it('DemandAnswered: a second answer reads this as done', async () => {
    const job = await boundJob();
    await demand(job);
    await answer(job);
    expect(await refusal(answer(job))).toBe('DemandAnswered');
  });

  it('DemandClosed: late', async () => {
    const job = await boundJob();
    const answerBy = await demand(job);
    expect(await refusal(answer(job, 'signer', RANGE, answerBy + 1))).toBe('DemandClosed');
  });

  it('OpeningInvalid: one changed byte of the elements, of the header, of a sibling; of another range', async () => {
    const job = await boundJob();
    await demand(job);
    const good = opening(RANGE);
    const flip = (hex: string): string => `${hex.slice(0, -1)}${hex.endsWith('0') ? '1' : '0'}`;
    const bad: OutputOpening[] = [
      { ...good, elements: flip(good.elements) },
      { ...good, tensorHeader: flip(good.tensorHeader) },
      { ...good, chunkPath: [flip(good.chunkPath[0]!), ...good.chunkPath.slice(1)] },
      { ...good, portPath: [flip(good.portPath[0]!)] },
      { ...good, outputCount: 3 },
      { ...good, elements: '0x' },
      opening({ ...RANGE, firstChunk: 2 }),
      opening({ tensor: 1, firstChunk: 0, chunkCount: 2 }),
    ] as OutputOpening[];
    for (const other of bad) {
      const call = f.send('signer', 'answerOutput', [settlement(job), RANGE, other]);
      expect(await refusal(call)).toBe('OpeningInvalid');
    }
    await answer(job);
  });

  it('LeafMismatch, OrderStateIs: the receipt must be the one that the order is bound to', async () => {
    const job = await boundJob();
    await demand(job);
    const other = { ...job, receipt: { ...job.receipt, amount: 1n } };
    expect(await refusal(answer(other))).toBe('LeafMismatch');
    await f.judge(job, LEAF.dead);
    await settle(job);
    expect(await refusal(answer(job))).toBe('OrderStateIs');
  });
});

describe('what becomes of the deposits', () => {
  it('Paid, answered in the first half: table cost to the executor, a fifth back', async () => {
    const job = await boundJob();
    await demand(job);
    await answer(job, 'signer');
    const moved = await f.moved(() => f.settle(job));
    expect(moved).toMatchObject({
      deposits: -DEPOSIT,
      requester: 500_000n + DEPOSIT - COST,
      account: PAID + LOCK + COST,
    });
  });

  it('E5: a copier who answers in the first half earns for the executor, not for himself', async () => {
    const job = await boundJob();
    const answerBy = await demand(job);
    const half = answerBy - Number(f.policy.answerTime) / 2;
    await answer(job, 'watcher', RANGE, half);
    const moved = await f.moved(() => f.settle(job));
    expect(moved).toMatchObject({ account: PAID + LOCK + COST });
    expect(moved).not.toHaveProperty('watcher');
  });

  it('E5: in the second half whoever answers is paid', async () => {
    const job = await boundJob();
    const answerBy = await demand(job);
    const half = answerBy - Number(f.policy.answerTime) / 2;
    await answer(job, 'watcher', RANGE, half + 1);
    const moved = await f.moved(() => f.settle(job));
    expect(moved).toMatchObject({ watcher: COST, account: PAID + LOCK, requester: 500_000n + DEPOSIT - COST });
  });

  it('Refunded for a late answer: unanswered ones go back whole, answered ones pay', async () => {
    const job = await boundJob();
    const other = { tensor: 1, firstChunk: 0, chunkCount: 1 };
    const cost = tableCost(f.policy, 1n);
    await demand(job);
    const answerBy = await demand(job, other);
    await answer(job, 'signer', other);
    await f.judge(job, LEAF.final);
    const moved = await f.moved(() => settle(job, answerBy + 1));
    const fee = f.policy.noShowFee;
    expect(moved).toEqual({
      held: -HELD,
      locks: -LOCK,
      deposits: -DEPOSIT - depositOf(f.policy, 1n),
      requester: HELD + fee + DEPOSIT + depositOf(f.policy, 1n) - cost,
      account: LOCK - fee + cost,
    });
    expect(await f.stateOf(job.orderHash)).toBe(STATE.refunded);
  });

  it('Refunded for a late answer: the checker of a final leaf is paid all the same, of one that is not final he is not', async () => {
    const fee = f.policy.auditFee;
    const ended = async (leaf: number, checker?: string): Promise<Record<string, bigint>> => {
      const job = await boundJob('sampled');
      const answerBy = await demand(job);
      await f.judge(job, leaf, checker);
      return f.moved(() => settle(job, answerBy + 1));
    };
    const paid = await ended(LEAF.final, addressOf('checker'));
    expect(paid).toMatchObject({ checker: fee, reserved: -fee, locks: -LOCK, held: -HELD });
    expect(paid).not.toHaveProperty('reserve');
    expect(await ended(LEAF.final)).toMatchObject({ reserve: fee, reserved: -fee });
    const undecided = await ended(LEAF.void, addressOf('checker'));
    expect(undecided).toMatchObject({ reserve: fee, reserved: -fee });
    expect(undecided).not.toHaveProperty('checker');
  });

  it('E4: on death every deposit goes back, also of what was answered; whoever answered gets nothing', async () => {
    const job = await boundJob();
    await demand(job);
    await demand(job, { tensor: 1, firstChunk: 0, chunkCount: 1 });
    await answer(job, 'watcher');
    await f.judge(job, LEAF.dead);
    const moved = await f.moved(() => settle(job));
    expect(moved).toMatchObject({ requester: HELD + DEPOSIT + depositOf(f.policy, 1n) });
    expect(moved).not.toHaveProperty('watcher');
    expect(moved).not.toHaveProperty('account');
  });

  it('void: answers are paid, the rest goes back; late answers cost the no-show fee', async () => {
    const job = await boundJob();
    await demand(job);
    await answer(job);
    await f.judge(job, LEAF.void);
    const moved = await f.moved(() => settle(job));
    expect(moved).toMatchObject({ requester: HELD + DEPOSIT - COST, account: LOCK + COST });
    const late = await boundJob();
    const answerBy = await demand(late);
    await f.judge(late, LEAF.void);
    const fee = f.policy.noShowFee;
    expect(await f.moved(() => settle(late, answerBy + 1))).toMatchObject({
      requester: HELD + fee + DEPOSIT,
      account: LOCK - fee,
    });
  });
});

describe('delivery and finality', () => {
  it('E1: a friendly requester frees no lock: an unanswered demand leaves the order bound until its leaf is final', async () => {
    const job = await boundJob();
    const answerBy = await demand(job);
    await f.passTo(answerBy + 1);
    expect(await f.orderOf(job.orderHash)).toMatchObject({ undelivered: true, openDemands: 0n });
    const moved = await f.moved(async () => {
      for (const state of [LEAF.challengeable, LEAF.pending]) {
        await f.judge(job, state);
        expect(await refusal(settle(job))).toBe('NotFinal');
      }
    });
    expect(moved).toEqual({});
    // A dispute that ends later still finds the whole lock.
    await f.judge(job, LEAF.dead, addressOf('checker'), addressOf('reporter'));
    expect(await f.moved(() => settle(job))).toMatchObject({ locks: -LOCK, requester: HELD + DEPOSIT });
    expect(await f.stateOf(job.orderHash)).toBe(STATE.slashed);
  });

  it('E1: the order of the looks: dead before undelivered', async () => {
    const job = await boundJob();
    const answerBy = await demand(job);
    await f.judge(job, LEAF.dead);
    await settle(job, answerBy + 1);
    expect(await f.stateOf(job.orderHash)).toBe(STATE.slashed);
  });

  it('DeliveryOpen: an answer may still come, also where another is late', async () => {
    const job = await boundJob();
    await f.judge(job, LEAF.final);
    const first = await demand(job);
    const second = await demand(job, { tensor: 1, firstChunk: 0, chunkCount: 1 }, first - 10);
    expect(await refusal(settle(job))).toBe('DeliveryOpen');
    expect(await refusal(settle(job, first + 1))).toBe('DeliveryOpen');
    await settle(job, second + 1);
    expect(await f.stateOf(job.orderHash)).toBe(STATE.refunded);
  });

  it('DeliveryOpen: a demand at the end of the window delays payment by one answer time at most', async () => {
    const job = await boundJob('zk');
    const answerBy = await demand(job, RANGE, f.payableFrom(job) - 1);
    expect(await refusal(settle(job, f.payableFrom(job)))).toBe('DeliveryOpen');
    await answer(job, 'signer');
    await settle(job, answerBy);
    expect(await f.stateOf(job.orderHash)).toBe(STATE.paid);
  });

  it('1.13: without delivery nobody is paid, in any lane', async () => {
    for (const lane of ['zk', 'optimistic', 'sampled'] as const) {
      const job = await boundJob(lane);
      await demand(job);
      const moved = await f.moved(() => f.settle(job));
      expect(moved).toMatchObject({ requester: HELD + DEPOSIT + f.policy.noShowFee });
      expect(moved).not.toHaveProperty('governor');
      expect(await f.stateOf(job.orderHash)).toBe(STATE.refunded);
    }
  });
});
