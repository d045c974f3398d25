import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bondForJobs,
  colludingShare,
  conviction,
  coverageOf,
  expectedProfit,
  findingChance,
  gainOfLies,
  incentivesOf,
  largestStake,
  leastRatePpm,
  leastStake,
  lockForStake,
  netStake,
  PERFECT_CHECKERS,
  rateBound,
  type JobTerms,
} from './incentives.js';
import { compare, parseRational, rational, toNumber, ZERO } from './rational.js';

const share = (text: string) => parseRational('share', text);
const refused = expect.objectContaining({ code: 'ECONOMICS_INVALID' });
/** In units of a hundredth of the work. */
const COST = 100n;
const terms = (change: Partial<JobTerms> = {}): JobTerms => ({
  ...PERFECT_CHECKERS,
  price: 120n,
  work: COST,
  gain: COST,
  ...change,
});

const shares = (most: number) =>
  fc.integer({ min: 0, max: most }).map((thousandths) => rational(BigInt(thousandths), 1000n));
const anyTerms = fc.record({
  price: fc.bigInt({ min: 0n, max: 10n ** 21n }),
  work: fc.bigInt({ min: 0n, max: 10n ** 21n }),
  gain: fc.bigInt({ min: 0n, max: 10n ** 21n }),
  collusion: shares(999),
  miss: shares(999),
  lazy: shares(999),
  falseAlarm: shares(1000),
});
const anyRate = fc.integer({ min: 1, max: 1_000_000 }).map((ppm) => rational(BigInt(ppm), 1_000_000n));

describe('the condition p > G / (c (R + S) - a S)', () => {
  it.each([
    ['20', '10%', 5.2],
    ['100', '10%', 1.1],
    ['100', '33%', 1.5],
    ['1000', '10%', 0.11],
  ])('published rows: S/C = %s, r = %s: above %d %%', (stake, collusion, percent) => {
    const bound = rateBound(terms({ collusion: share(collusion) }), COST * BigInt(stake))!;
    expect(100 * toNumber(bound)).toBeCloseTo(percent, percent < 1 ? 2 : 1);
  });

  it('false alarms cost honest executors: at S = 1,000 C and p = 1 %, 1 % of them is 0.1 C a job', () => {
    const { honest } = expectedProfit(terms({ falseAlarm: share('1%') }), share('1%'), 1000n * COST);
    expect(honest).toEqual(rational(20n - 10n));
    // With 2 % of them the whole margin of 0.2 C is gone.
    const noisy = terms({ falseAlarm: share('2%') });
    expect(incentivesOf(noisy, share('1%'), 1000n * COST).worthWorking).toBe(false);
    expect(largestStake(noisy, share('1%'))).toBe(1000n * COST - 1n);
    expect(largestStake(terms(), share('1%'))).toBeNull();
  });

  it('is where expected profits cross (random)', () => {
    fc.assert(
      fc.property(anyTerms, anyRate, fc.bigInt({ min: 0n, max: 10n ** 23n }), (job, p, stake) => {
        const bound = rateBound(job, stake);
        const best = incentivesOf(job, p, stake).honestIsBest;
        expect(best).toBe(bound !== null && compare(p, bound) > 0);
        const least = leastRatePpm(job, stake);
        if (least === null) return;
        const at = (ppm: number) => incentivesOf(job, rational(BigInt(ppm), 1_000_000n), stake).honestIsBest;
        expect(at(least)).toBe(true);
        if (least > 1) expect(at(least - 1)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('least stake: enough, and one unit less is not (random)', () => {
    fc.assert(
      fc.property(anyTerms, anyRate, (job, p) => {
        const least = leastStake(job, p);
        if (least === null) {
          for (const stake of [0n, 10n ** 30n]) expect(incentivesOf(job, p, stake).honestIsBest).toBe(false);
          return;
        }
        expect(incentivesOf(job, p, least).honestIsBest).toBe(true);
        if (least > 0n) expect(incentivesOf(job, p, least - 1n).honestIsBest).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('largest stake: still worth working, and one unit more is not (random)', () => {
    fc.assert(
      fc.property(anyTerms, anyRate, (job, p) => {
        fc.pre(job.price > job.work);
        const largest = largestStake(job, p);
        if (largest === null) return;
        expect(incentivesOf(job, p, largest).worthWorking).toBe(true);
        expect(incentivesOf(job, p, largest + 1n).worthWorking).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('colluding, missing and copying checkers are so many fewer; several independent ones collude together rarely', () => {
    expect(conviction({ collusion: share('10%'), miss: share('20%'), lazy: share('50%'), falseAlarm: ZERO })).toEqual(
      rational(36n, 100n),
    );
    expect(findingChance(PERFECT_CHECKERS, share('5%'))).toEqual(rational(1n, 20n));
    expect(colludingShare(share('10%'), 3)).toEqual(rational(1n, 1000n));
  });

  it('no rate and no stake helps against checkers that are no better than chance', () => {
    const blind = terms({ collusion: share('100%') });
    expect(leastRatePpm(blind, 10n ** 9n)).toBeNull();
    expect(leastStake(blind, share('50%'))).toBeNull();
    expect(leastStake(terms(), ZERO)).toBeNull();
    // The price alone is enough.
    expect(leastStake(terms(), share('90%'))).toBe(0n);
  });
});

describe('one bond over many jobs', () => {
  it('known values', () => {
    const q = share('5%');
    expect(bondForJobs(COST, q, 1)).toBe(2000n);
    // 2 * 100 / (1 - 0.95^2) = 2051.28...
    expect(bondForJobs(COST, q, 2)).toBe(2052n);
    expect(bondForJobs(COST, q, 1, 5000n)).toBe(5000n);
    expect(bondForJobs(COST, ZERO, 5)).toBeNull();
    expect(coverageOf(COST, q, 2000n)).toEqual({ openGain: 100n, jobs: 1 });
    expect(coverageOf(COST, q, 1999n).jobs).toBe(0);
    // The rule of thumb allows 5 open jobs, the exact one 99: a cheat of many lies is found nearly always.
    expect(coverageOf(COST, q, 10_000n)).toEqual({ openGain: 500n, jobs: 99 });
  });

  it('covers the cheat who chooses how many lies he tells, and not a job more (random)', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 20n }),
        fc.integer({ min: 1, max: 999 }).map((n) => rational(BigInt(n), 1000n)),
        fc.integer({ min: 1, max: 60 }),
        (gain, q, jobs) => {
          const bond = bondForJobs(gain, q, jobs)!;
          const brings = (lies: number, stake: bigint) => compare(gainOfLies(gain, q, stake, lies), ZERO);
          for (let lies = 1; lies <= jobs; lies++) expect(brings(lies, bond)).toBeLessThanOrEqual(0);
          expect(brings(jobs, bond - 1n)).toBeGreaterThan(0);
          const covered = coverageOf(gain, q, bond).jobs;
          expect(covered).toBeGreaterThanOrEqual(jobs);
          expect(bondForJobs(gain, q, covered)!).toBeLessThanOrEqual(bond);
          expect(bondForJobs(gain, q, covered + 1)!).toBeGreaterThan(bond);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('what a cheat gets back by giving himself up does not count (random)', () => {
    const shares = { bountyOpenBps: 1_000, gasRefund: 50n };
    expect(netStake(1_000n, shares)).toBe(850n);
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 24n }),
        fc.integer({ min: 0, max: 9_999 }),
        fc.bigInt({ min: 0n, max: 10n ** 20n }),
        (stake, bountyOpenBps, gasRefund) => {
          const lock = lockForStake(stake, { bountyOpenBps, gasRefund });
          expect(netStake(lock, { bountyOpenBps, gasRefund })).toBeGreaterThanOrEqual(stake);
          expect(netStake(lock - 1n, { bountyOpenBps, gasRefund })).toBeLessThan(stake);
        },
      ),
    );
  });
});

describe('bad numbers', () => {
  it.each([
    ['price: expected an amount', () => rateBound(terms({ price: -1n }), 1n)],
    ['stake: expected an amount', () => rateBound(terms(), -1n)],
    ['collusion: expected a share', () => rateBound(terms({ collusion: rational(11n, 10n) }), 1n)],
    ['rate: expected a share', () => leastStake(terms(), rational(-1n, 2n))],
    ['nobody would take the job', () => largestStake(terms({ price: 100n }), share('5%'))],
    ['jobs: expected a whole number from 1 to 100000', () => bondForJobs(1n, share('5%'), 0)],
    ['checkers: expected a whole number', () => colludingShare(share('5%'), 0)],
    ['bountyOpenBps: expected', () => netStake(1n, { bountyOpenBps: 10_000, gasRefund: 0n })],
  ])('%s', (message, ask) => {
    expect(ask).toThrow(refused);
    expect(ask).toThrow(message);
  });
});
