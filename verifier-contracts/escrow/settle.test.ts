/** `settle`: the three ends of a bound order, who is paid at each, and every refusal. */
import { id, ZeroAddress } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  addressOf,
  LANE,
  LEAF,
  policyHashOf,
  refusal,
  settlement,
  START_TIMEOUT_MS,
  startEscrow,
  STATE,
  type EscrowFixture,
  type Job,
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
const FEE = 50_000n;
const AMOUNT = 1_000_000n;
const SHARE = 25_000n;
const REFUND = 210_000n;

const settle = (job: Job): Promise<unknown> => f.send('stranger', 'settle', [[settlement(job)]]);

describe('Bound -> Paid', () => {
  it.each(['zk', 'optimistic'] as const)(
    '%s: amount less the share to the account, remainder to the requester, surcharge to the reserve',
    async (lane) => {
      const job = await f.bound({ lane: LANE[lane] });
      const moved = await f.moved(() => f.settle(job));
      expect(moved).toEqual({
        held: -HELD,
        locks: -LOCK,
        account: AMOUNT - SHARE + LOCK,
        governor: SHARE,
        requester: 500_000n,
        reserve: 80_000n,
      });
      expect(await f.stateOf(job.orderHash)).toBe(STATE.paid);
    },
  );

  it('sampled: the earmark goes to the checker whom chance had drawn', async () => {
    const job = await f.bound({ lane: LANE.sampled });
    const moved = await f.moved(() => f.settle(job, LEAF.final, addressOf('checker'), addressOf('reporter')));
    expect(moved).toEqual({
      held: -HELD,
      locks: -LOCK,
      account: AMOUNT - SHARE + LOCK,
      governor: SHARE,
      requester: 500_000n,
      reserve: 80_000n,
      reserved: -FEE,
      checker: FEE,
    });
  });

  it('sampled: the earmark goes back where nobody was drawn', async () => {
    const job = await f.bound({ lane: LANE.sampled });
    const moved = await f.moved(() => f.settle(job));
    expect(moved).toMatchObject({ reserved: -FEE, reserve: 80_000n + FEE });
    expect(moved).not.toHaveProperty('checker');
  });

  it('tells what it paid to whom', async () => {
    const job = await f.bound({ lane: LANE.sampled });
    const { events } = await f.settle(job, LEAF.final, addressOf('checker'));
    expect(events).toEqual([
      { name: 'FeePaid', args: [job.orderHash, addressOf('governor'), SHARE] },
      { name: 'FeePaid', args: [job.orderHash, addressOf('checker'), FEE] },
      { name: 'OrderEnded', args: [job.orderHash, BigInt(STATE.paid), 500_000n, AMOUNT - SHARE + LOCK, 0n] },
    ]);
  });

  it('a receipt that charges nothing, and one that charges all', async () => {
    const nothing = await f.bound({}, { amount: 0n });
    expect(await f.moved(() => f.settle(nothing))).toMatchObject({ account: LOCK, requester: 1_500_000n });
    const all = await f.bound({}, { amount: 1_500_000n });
    const moved = await f.moved(() => f.settle(all));
    expect(moved).toMatchObject({ account: 1_462_500n + LOCK, governor: 37_500n });
    expect(moved).not.toHaveProperty('requester');
  });

  it('waits for the end of the delivery window, however early the leaf is final', async () => {
    for (const lane of ['zk', 'optimistic', 'sampled'] as const) {
      const job = await f.bound({ lane: LANE[lane] });
      await f.judge(job, LEAF.final);
      expect(await refusal(settle(job))).toBe('DeliveryOpen');
      expect(await f.stateOf(job.orderHash)).toBe(STATE.bound);
    }
  });

  it('a suspended node is still paid for what it delivered', async () => {
    const [first, second] = [await f.bound(), await f.bound()];
    await f.settle(first, LEAF.dead);
    expect(await f.read('nodeOf', [addressOf('signer')])).toEqual([addressOf('account'), false]);
    expect(await f.moved(() => f.settle(second))).toMatchObject({ account: AMOUNT - SHARE + LOCK });
  });
});

describe('Bound -> Slashed', () => {
  it('sampled: gas to the reporter, fee and half of the lock to the drawn checker, the rest burnt', async () => {
    const job = await f.bound({ lane: LANE.sampled });
    const bounty = LOCK / 2n;
    const burnt = LOCK - REFUND - FEE - bounty;
    const moved = await f.moved(async () => {
      const { events } = await f.settle(job, LEAF.dead, addressOf('checker'), addressOf('reporter'));
      expect(events).toEqual([
        { name: 'FeePaid', args: [job.orderHash, addressOf('reporter'), REFUND] },
        { name: 'FeePaid', args: [job.orderHash, addressOf('checker'), FEE] },
        { name: 'BountyPaid', args: [job.orderHash, addressOf('checker'), bounty] },
        { name: 'NodeSuspended', args: [addressOf('signer'), job.orderHash] },
        { name: 'OrderEnded', args: [job.orderHash, BigInt(STATE.slashed), HELD, 0n, burnt] },
      ]);
    });
    expect(moved).toEqual({
      held: -HELD,
      requester: HELD,
      locks: -LOCK,
      reporter: REFUND,
      checker: FEE + bounty,
      burnt,
      // The checker is paid from the lock, so the earmark goes back.
      reserve: FEE,
      reserved: -FEE,
    });
  });

  it('optimistic: no fee, and the smaller bounty', async () => {
    const job = await f.bound();
    const bounty = (LOCK * 9n) / 100n;
    const moved = await f.moved(() => f.settle(job, LEAF.dead, addressOf('checker'), addressOf('reporter')));
    expect(moved).toEqual({
      held: -HELD,
      requester: HELD,
      locks: -LOCK,
      reporter: REFUND,
      checker: bounty,
      burnt: LOCK - REFUND - bounty,
    });
  });

  it('dead by the clock alone: whoever settles is paid for telling; without a checker the bounty is burnt', async () => {
    const job = await f.bound();
    const moved = await f.moved(() => f.settle(job, LEAF.dead));
    expect(moved).toEqual({
      held: -HELD,
      requester: HELD,
      locks: -LOCK,
      stranger: REFUND,
      burnt: LOCK - REFUND,
    });
  });

  it('does not wait for the delivery window', async () => {
    const job = await f.bound();
    await f.judge(job, LEAF.dead);
    await settle(job);
    expect(await f.stateOf(job.orderHash)).toBe(STATE.slashed);
  });

  it('E4: the payments fit the least lock that the policy admits, to the last unit', async () => {
    const tight = { ...f.policy, minLock: 1_909_090n, lockFactorBps: 0n, auditFee: 248_181n };
    // Half the lock is 954,545; with 210,000 of gas it leaves 744,545, and three fees are 744,543.
    await f.send('governor', 'addPolicy', [tight]);
    await f.passTo((await f.now()) + 301);
    const job = await f.bound({ policyHash: policyHashOf(tight), lane: LANE.sampled });
    const moved = await f.moved(() => f.settle(job, LEAF.dead, addressOf('checker'), addressOf('reporter')));
    expect(moved).toMatchObject({
      locks: -1_909_090n,
      checker: 248_181n + 954_545n,
      reporter: REFUND,
      burnt: 496_364n,
    });
  });

  it('a slash takes the lock of its order and no other', async () => {
    const [bad, good] = [await f.bound(), await f.bound()];
    await f.settle(bad, LEAF.dead);
    expect((await f.ledger())['locks']).toBe(LOCK);
    await f.settle(good);
    expect((await f.ledger())['locks']).toBe(0n);
  });

  it('self-dealing: requester, executor, checker and reporter in one hand lose what is burnt', async () => {
    const account = addressOf('account');
    const job = await f.bound({ lane: LANE.sampled });
    const moved = await f.moved(() => f.settle(job, LEAF.dead, account, account));
    const gained = (moved['account'] ?? 0n) + moved['requester']!;
    expect(HELD + LOCK - gained).toBe(moved['burnt']);
    expect(moved['burnt']).toBeGreaterThan(LOCK / 3n);
  });
});

describe('Bound -> Refunded', () => {
  it.each(['optimistic', 'sampled'] as const)('void (%s): everything back, at once', async (lane) => {
    const before = await f.ledger();
    const job = await f.bound({ lane: LANE[lane] });
    await f.judge(job, LEAF.void, addressOf('checker'), addressOf('reporter'));
    await settle(job);
    expect(await f.ledger()).toEqual(before);
    expect(await f.stateOf(job.orderHash)).toBe(STATE.refunded);
  });
});

describe('settle is refused', () => {
  it.each([
    ['pending', LEAF.pending],
    ['challengeable', LEAF.challengeable],
  ])('NotFinal: the leaf is %s', async (_name, state) => {
    const job = await f.bound();
    await f.judge(job, state);
    expect(await refusal(f.send('stranger', 'settle', [[settlement(job)]], f.payableFrom(job)))).toBe('NotFinal');
  });

  it.each(['none', 'open'] as const)('OrderStateIs: the order is %s', async (state) => {
    const order = state === 'none' ? await f.order() : await f.open();
    expect(await refusal(settle(f.job(order)))).toBe('OrderStateIs');
  });

  it('LeafMismatch: another receipt, batch or index than the order is bound to', async () => {
    const job = await f.bound();
    await f.judge(job, LEAF.final);
    await f.passTo(f.payableFrom(job));
    const others: Job[] = [
      { ...job, receipt: { ...job.receipt, amount: 1_500_000n } },
      { ...job, receipt: { ...job.receipt, outputRoot: id('another') } },
      { ...job, header: { ...job.header, salt: id('another') } },
      { ...job, header: { ...job.header, committedAt: 0 } },
      { ...job, index: 6 },
    ];
    for (const other of others) expect(await refusal(settle(other))).toBe('LeafMismatch');
    // The leaf of one order does not serve another.
    const second = await f.bound();
    expect(await refusal(settle({ ...job, order: second.order }))).toBe('LeafMismatch');
    await settle(job);
  });

  it('NothingSettled: ended before; with one that has not, the ended one is passed over', async () => {
    const [first, second] = [await f.bound(), await f.bound()];
    await f.judge(second, LEAF.final);
    await f.settle(first);
    expect(await refusal(settle(first))).toBe('NothingSettled');
    expect(await refusal(f.send('stranger', 'settle', [[]]))).toBe('NothingSettled');
    await f.passTo(f.payableFrom(second));
    const both = [settlement(first), settlement(second), settlement(second)];
    const moved = await f.moved(() => f.send('stranger', 'settle', [both]));
    expect(moved).toMatchObject({ account: AMOUNT - SHARE + LOCK, locks: -LOCK });
  });

  it('several at once: paid, slashed and refunded, burnt in one transfer', async () => {
    const jobs = [await f.bound(), await f.bound(), await f.bound(), await f.bound({ lane: LANE.zk })];
    const states = [LEAF.final, LEAF.dead, LEAF.void, LEAF.final];
    for (const [i, job] of jobs.entries()) await f.judge(job, states[i]!, ZeroAddress, addressOf('reporter'));
    await f.passTo(f.payableFrom(jobs[3]!));
    const moved = await f.moved(() => f.send('stranger', 'settle', [jobs.map(settlement)]));
    expect(moved).toEqual({
      held: -4n * HELD,
      locks: -4n * LOCK,
      requester: 2n * HELD + 2n * 500_000n,
      account: 2n * (AMOUNT - SHARE) + 3n * LOCK,
      governor: 2n * SHARE,
      reserve: 160_000n,
      reporter: REFUND,
      burnt: LOCK - REFUND,
    });
    const ends = await Promise.all(jobs.map((job) => f.stateOf(job.orderHash)));
    expect(ends).toEqual([STATE.paid, STATE.slashed, STATE.refunded, STATE.paid]);
  });
});
