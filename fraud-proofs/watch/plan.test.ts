import { id, Wallet } from 'ethers';
import { describe, expect, it } from 'vitest';
import type { Hex } from '../../receipts/types.js';
import type { Call } from '../../verifier-contracts/contract-client.js';
import type { GameNode } from '../../verifier-contracts/dispute-types.js';
import type { NextStep } from './next-step.js';
import { byDeadline, planChallenge, slotOf, type ClaimPlan, type Move } from './plan.js';
import type { ClaimSeen, DemandSeen, World } from './world.js';

const own: Hex = `0x${'aa'.repeat(20)}`;
const other: Hex = `0x${'bb'.repeat(20)}`;
const node: GameNode = { kind: 'trace', slot: 0, height: 255, first: 0, count: 0 };
const call: Call = { to: other, data: '0x' };
/** Names of calls that the game was asked for stand in for their bytes. */
const client = new Proxy(
  {},
  { get: (_, name) => () => ({ ...call, data: `0x${String(name)}` }) },
) as ClaimSeen['game']['client'];

/** t0 = 1,000, W = 800, A = 640, R = 160. */
function seen(change: Partial<ClaimSeen> = {}): ClaimSeen {
  return {
    id: id('claim') as Hex,
    batchHash: id('batch') as Hex,
    claim: { receipt: {}, header: { committedAt: 1_000 }, index: 0 },
    game: {
      client,
      window: 800,
      policy: {
        answerTime: 640,
        responseTime: 160,
        precommitDelay: 10,
        bountyOpenBps: 1_000,
        gasKill: 7,
        unitPrice: 3n,
      },
    },
    order: { state: 'bound', lock: 5_000n },
    view: { until: 1_800, nextAnswerBy: null, killed: false, timedOut: false, demands: 0 },
    state: 'challengeable',
    demands: [],
    kill: null,
    ...change,
  } as unknown as ClaimSeen;
}

const demandSeen = (change: Partial<DemandSeen> = {}): DemandSeen => ({
  nodeId: id('node') as Hex,
  node,
  demander: own,
  answerBy: 1_700,
  deposit: 100n,
  answer: null,
  closed: false,
  ...change,
});

const prove = {
  kind: 'prove',
  proof: { fault: 'step', evidence: '0x', faultId: id('f') },
  place: { operator: 'conv' },
} as unknown as NextStep;
const demand = (change: { level?: number; parentAnswered?: boolean; wrong?: boolean } = {}): NextStep => {
  const { level = 0, parentAnswered = false, wrong = true } = change;
  return {
    kind: 'demand',
    demands: [{ node, path: {} as never, evidence: '0x', level, parentAnswered }],
    why: 'x',
    wrong,
  };
};

function moves(step: NextStep, clock: number, change: Partial<ClaimPlan> = {}): Move[] {
  const plan: ClaimPlan = {
    seen: seen(),
    step,
    order: {} as never,
    announcement: { commitment: id('c') as Hex, salt: id('s') as Hex, countsFrom: null, second: false },
    deposits: [100n],
    readyAt: 1_000,
    bounty: null,
    ...change,
  };
  return planChallenge(plan, { clock } as World, own);
}

describe('what a challenger does', () => {
  it('leaves alone what is right, unknown, or awaited', () => {
    for (const step of [
      { kind: 'right' },
      { kind: 'pending' },
      { kind: 'unknown', reason: 'no model' },
      { kind: 'wait', why: 'x', wrong: true },
    ] as NextStep[])
      expect(moves(step, 1_100)).toEqual([]);
  });

  it('demands before the end of the window, and below an answer until the end of its level', () => {
    expect(moves(demand(), 1_100)).toMatchObject([{ kind: 'demand', deadline: 1_800, deposit: 100n, payout: 100n }]);
    const below = demand({ level: 2, parentAnswered: true });
    expect(moves(below, 1_100)).toMatchObject([{ deadline: 1_800 + 2 * 800 }]);
    // Of a claim that may be right nothing comes back.
    expect(moves(demand({ wrong: false }), 1_100)).toMatchObject([{ payout: 0n }]);
  });

  it('announces, waits until it counts, and proves', () => {
    expect(moves(prove, 1_100)).toMatchObject([{ kind: 'precommit', deadline: 1_790, payout: 0n }]);
    const announced = (countsFrom: number, second = false) => ({
      announcement: { commitment: id('c') as Hex, salt: id('s') as Hex, countsFrom, second },
    });
    expect(moves(prove, 1_100, announced(1_110))).toEqual([]);
    expect(moves(prove, 1_110, announced(1_110))).toMatchObject([
      { kind: 'prove', at: 1_110, deadline: 1_800, payout: 500n + 21n },
    ]);
    // Somebody announced before: he may prove first.
    expect(moves(prove, 1_110, announced(1_110, true))).toMatchObject([{ kind: 'prove', at: 1_110 + 20 }]);
  });

  it('proves at once where there is no time left to announce', () => {
    expect(moves(prove, 1_795)).toMatchObject([{ kind: 'prove', at: 1_795, payout: 0n }]);
  });

  it('does nothing that needs an order which cannot be read', () => {
    expect(moves(prove, 1_795, { order: null })).toEqual([]);
  });

  it('ends a claim that owes an answer, the demander first', () => {
    const overdue = (demander: Hex) =>
      seen({
        state: 'dead',
        view: { until: 2_600, nextAnswerBy: 1_700, killed: false, timedOut: false, demands: 1 },
        demands: [demandSeen({ demander, deposit: 7n })],
      });
    expect(moves(demand(), 1_701, { seen: overdue(own) })).toMatchObject([
      { kind: 'timeout', at: 1_701, payout: 521n },
    ]);
    const [mine] = moves(demand(), 1_701, { seen: overdue(other) });
    expect(mine).toMatchObject({ kind: 'timeout', payout: 21n });
    expect(mine!.at).toBeGreaterThanOrEqual(1_700);
  });

  it('collects when the claim has ended: own deposits, and a bounty that was left', () => {
    const dead = seen({
      state: 'dead',
      view: { until: 2_600, nextAnswerBy: null, killed: true, timedOut: false, demands: 1 },
      order: { state: 'slashed', lock: 5_000n } as never,
      demands: [demandSeen(), demandSeen({ demander: other }), demandSeen({ closed: true })],
      kill: { how: 'proof', fault: 'step', transactionHash: '0x', blockNumber: 1 },
    });
    expect(moves(prove, 2_000, { seen: dead, bounty: { amount: 9n, until: 2_100 } })).toMatchObject([
      { kind: 'claim-bounty', deadline: 2_100, payout: 9n },
      { kind: 'close', payout: 100n },
    ]);
    // Of a claim that stands only the rest comes back, which depends on the answers.
    const final = seen({ state: 'final', demands: [demandSeen()] });
    expect(moves({ kind: 'right' }, 9_000, { seen: final })).toMatchObject([{ kind: 'close', payout: 0n }]);
  });

  it('takes the nearest deadline first, and what has none last', () => {
    const move = (deadline: number | null): Move => ({ deadline }) as Move;
    expect([move(null), move(9), move(3)].sort(byDeadline).map(({ deadline }) => deadline)).toEqual([3, 9, null]);
  });
});

describe('slots', () => {
  it('are the same for the same address and move, within the first quarter, and differ between most addresses', () => {
    const addresses = Array.from(
      { length: 200 },
      (_, i) => new Wallet(id(`watcher ${i}`)).address.toLowerCase() as Hex,
    );
    const slots = addresses.map((address) => slotOf(address, 'prove x', 1_000, 640).at);
    expect(slotOf(addresses[0]!, 'prove x', 1_000, 640).at).toBe(slots[0]);
    for (const at of slots) expect((at - 1_000) % 20).toBe(0);
    expect(Math.min(...slots)).toBe(1_000);
    expect(Math.max(...slots)).toBe(1_000 + 7 * 20);
    for (let i = 0; i < 8; i++) expect(slots.filter((at) => at === 1_000 + 20 * i).length).toBeGreaterThan(5);
  });

  it('are none where they would be shorter than a few blocks', () => {
    expect(slotOf(own, 'x', 1_000, 63)).toEqual({ at: 1_000, length: 0 });
  });

  it('put nothing off beyond half of its time', () => {
    for (const last of [own, other])
      for (let i = 0; i < 50; i++) {
        const change = { seen: seen({ id: id(`claim ${i}`) as Hex, demands: [demandSeen({ demander: last })] }) };
        for (const move of [...moves(demand(), 1_001, change), ...moves(prove, 1_001, change)])
          expect(move.at).toBeLessThanOrEqual(1_000 + 800 / 2);
      }
  });
});
