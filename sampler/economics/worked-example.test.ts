/**
 * The published example: 10,000 requests of 500 tokens at 1.00 per 100,000 tokens, 5 % audited, ten times the price staked.
 * Once by the library, to the last digit; and once by Escrow.sol, whose divisions the library repeats.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RandomStream } from './random-stream.js';
import { endHonest, endSlashed, quoteJob, type JobEnd, type MoneyTerms, type Usage } from './job-money.js';
import { parseRational, rational } from './rational.js';
import {
  addressOf,
  LANE,
  LEAF,
  policyHashOf,
  START_TIMEOUT_MS,
  startEscrow,
  type EscrowFixture,
  type Policy,
} from '../../verifier-contracts/harness/escrow/escrow-fixture.js';

/** Whole units of the token: a millionth. */
const TOKEN = 1_000_000n;
const usage: Usage = { requests: 10_000, tokensPerRequest: 500, unitPrice: { amount: TOKEN, tokens: 100_000 } };
const terms: MoneyTerms = {
  auditRate: parseRational('audit rate', '5%'),
  lockFactorBps: 100_000,
  minLock: 0n,
  bountyAuditBps: 5_000,
  protocolFeeBps: 0,
  gasRefund: 0n,
};
const sumOf = (end: JobEnd): bigint => Object.values(end as unknown as Record<string, bigint>).reduce((a, b) => a + b);
/** "52.5" of so many units. */
const inTokens = (amount: bigint): string => (Number(amount) / Number(TOKEN)).toString();
const spelt = (end: JobEnd): Record<string, string> =>
  Object.fromEntries(
    Object.entries(end).flatMap(([who, amount]) => (amount === 0n ? [] : [[who, inTokens(amount as bigint)]])),
  );

describe('the published example', () => {
  const quote = quoteJob(usage, terms);

  it('base 50, surcharge 2.5, escrow 52.5, stake 500', () => {
    expect(Object.entries(quote).map(([what, amount]) => `${what} ${inTokens(amount as bigint)}`)).toEqual([
      'base 50',
      'surcharge 2.5',
      'escrow 52.5',
      'lock 500',
    ]);
  });

  it('honest: 50 and the stake of 500 to the executor, 2.5 to the checker', () => {
    const end = endHonest(quote, terms);
    expect(spelt(end)).toEqual({ executor: '550', checkerFee: '2.5' });
    expect(sumOf(end)).toBe(quote.escrow + quote.lock);
  });

  it('cheat: stake 500 slashed, 52.5 back, bounty 250, checker 2.5 out of the stake, 247.5 burnt', () => {
    const end = endSlashed(quote, terms);
    expect(spelt(end)).toEqual({ requester: '52.5', checkerFee: '2.5', bounty: '250', burnt: '247.5' });
    expect(sumOf(end)).toBe(quote.escrow + quote.lock);
  });
});

describe("Escrow's own rounding", () => {
  let f: EscrowFixture;
  const FEE = 2_500_000n;
  const GAS = 21_000n;
  beforeAll(async () => {
    // The contract demands a price for gas, and a least lock that three audits fit into.
    f = await startEscrow({
      policy: {
        lockFactorBps: 100_000n,
        minLock: 20n * TOKEN,
        protocolFeeBps: 0n,
        auditFee: FEE,
        gasKill: GAS,
        unitPrice: 1n,
      },
    });
    await f.send('requester', 'fundReserve', [FEE]);
  }, START_TIMEOUT_MS);
  afterAll(() => f.stop());
  let clean: string;
  beforeEach(async () => {
    clean = await f.snapshot();
  });
  afterEach(() => f.revertTo(clean));

  it('the example: nothing differs but the gas of the call, which the contract always pays back', async () => {
    const own = { ...terms, gasRefund: GAS };
    const quote = quoteJob(usage, own);
    const order = { lane: LANE.sampled, price: quote.base, surcharge: quote.surcharge };
    const honest = await f.bound(order, { amount: quote.base });
    const paid = await f.moved(() => f.settle(honest, LEAF.final, addressOf('checker'), addressOf('reporter')));
    expect(paid).toEqual({
      held: -quote.escrow,
      locks: -quote.lock,
      account: endHonest(quote, own).executor,
      checker: FEE,
      // The earmark has paid the checker, and the surcharge takes its place.
      reserve: FEE,
      reserved: -FEE,
    });
    const cheat = await f.bound(order, { amount: quote.base });
    const slashed = await f.moved(() => f.settle(cheat, LEAF.dead, addressOf('checker'), addressOf('reporter')));
    const end = endSlashed(quote, own);
    expect(slashed).toEqual({
      held: -quote.escrow,
      locks: -quote.lock,
      requester: end.requester,
      checker: end.checkerFee + end.bounty,
      reporter: GAS,
      burnt: end.burnt,
      reserve: FEE,
      reserved: -FEE,
    });
    expect(inTokens(end.burnt)).toBe('247.479');
  });

  it('odd numbers, where every division leaves a rest', async () => {
    const random = new RandomStream(20_261);
    const policy: Policy = {
      ...f.policy,
      bountyAuditBps: 3_333n,
      protocolFeeBps: 777n,
      lockFactorBps: 15_001n,
      minLock: 2_000_003n,
      auditFee: 50_001n,
      gasKill: 21_001n,
      unitPrice: 3n,
      noShowFee: 0n,
    };
    await f.send('governor', 'addPolicy', [policy]);
    await f.passTo((await f.now()) + 301);
    const own: MoneyTerms = {
      auditRate: rational(1n, 1n),
      lockFactorBps: 15_001,
      minLock: 2_000_003n,
      bountyAuditBps: 3_333,
      protocolFeeBps: 777,
      gasRefund: 63_003n,
    };
    for (let i = 0; i < 4; i++) {
      const amount = BigInt(1 + random.below(10_000_000));
      const quote = {
        ...quoteJob({ requests: 1, tokensPerRequest: 1, unitPrice: { amount, tokens: 1 } }, own),
        surcharge: policy.auditFee,
        escrow: amount + policy.auditFee,
      };
      const terms = {
        policyHash: policyHashOf(policy),
        lane: LANE.sampled,
        price: quote.base,
        surcharge: quote.surcharge,
      };
      const honest = await f.bound(terms, { amount });
      const paid = await f.moved(() => f.settle(honest, LEAF.final, addressOf('checker'), addressOf('reporter')));
      const good = endHonest(quote, own);
      expect(paid, `amount ${amount}`).toMatchObject({ account: good.executor, checker: good.checkerFee });
      expect(paid['governor'] ?? 0n).toBe(good.governor);
      const unslashed = await f.snapshot();
      const cheat = await f.bound(terms, { amount });
      const slashed = await f.moved(() => f.settle(cheat, LEAF.dead, addressOf('checker'), addressOf('reporter')));
      const bad = endSlashed(quote, own);
      expect(slashed, `amount ${amount}`).toMatchObject({
        requester: bad.requester,
        checker: bad.checkerFee + bad.bounty,
        reporter: bad.gasRefund,
        burnt: bad.burnt,
      });
      // The slashed node is suspended for ever, but for this.
      await f.revertTo(unslashed);
    }
  });
});

it('a lock that cannot pay what it must is refused', () => {
  const quote = { base: 50n, surcharge: 300n, escrow: 350n, lock: 500n };
  expect(() => endSlashed(quote, terms)).toThrow(/^lock: expected at least the bounty 250, the fee 300/);
  expect(() => quoteJob({ ...usage, requests: 0 }, terms)).toThrow(/^requests: expected a whole number/);
  expect(() => quoteJob(usage, { ...terms, auditRate: rational(2n) })).toThrow(/^auditRate: expected a share/);
});
