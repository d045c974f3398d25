/**
 * When honesty pays. All amounts are whole units of the settlement token, all shares are exact fractions.
 *
 *   R  price of a job            p  share of jobs that are drawn
 *   C  cost of honest work       r  share of checkers that collude with the executor
 *   G  gain of a lie             b  chance that a check misses a lie (beta)
 *   S  what a caught cheat loses a  chance that a check condemns honest work (alpha)
 *                                l  share of checkers that copy instead of computing
 *
 *   q         = p c,  c = (1 - r)(1 - b)(1 - l)      a lie is drawn, and found
 *   honest    = R - C - p a S
 *   cheating  = (1 - q) R - (C - G) - q S
 *
 * so honesty is the better one if and only if p > G / (c (R + S) - a S), and worth taking part in if and only if
 * p a S < R - C. S is what the cheat loses *net*: of a slashed lock he gets back whatever he can collect himself by
 * proving his own fault first, the open bounty and a gas refund (`netStake`).
 *
 * One bond over many jobs. A bond is lost once, however many lies were told under it. With n lies the gain is n G and the
 * chance to be found 1 - (1 - q)^n; n / (1 - (1 - q)^n) grows with n, so the cheat who may choose n tells all N that the
 * bond covers, and the bond must hold max(least lock, N G / (1 - (1 - q)^N)). N = 1 gives G / q.
 *
 * Sources: PoSP's condition p > C / ((1 - r)(R + S)), with noise added. The price that a wrongly condemned executor loses
 * with its stake, p a R, is left out as there; where a S matters, count R into S.
 */
import { AssayError } from '../../common/errors.js';
import { PPM } from '../draw-jobs.js';
import {
  above,
  add,
  ceil,
  compare,
  divide,
  floor,
  multiply,
  ONE,
  rational,
  subtract,
  ZERO,
  type Rational,
} from './rational.js';

/** What a lie meets when it is drawn. */
export interface CheckerTerms {
  /** r. Of several independent checkers who must all collude: `colludingShare`. */
  readonly collusion: Rational;
  /** beta */
  readonly miss: Rational;
  /** l */
  readonly lazy: Rational;
  /** alpha */
  readonly falseAlarm: Rational;
}

export const PERFECT_CHECKERS: CheckerTerms = { collusion: ZERO, miss: ZERO, lazy: ZERO, falseAlarm: ZERO };

export interface JobTerms extends CheckerTerms {
  /** R */
  readonly price: bigint;
  /** C */
  readonly work: bigint;
  /** G; what a lie saves is at most the work, but it may be worth more to the cheat than that. */
  readonly gain: bigint;
}

const rate = (amount: bigint): Rational => rational(amount);

/** @throws AssayError ECONOMICS_INVALID naming the first term that is out of range, and the range */
export function checkTerms(terms: JobTerms): void {
  for (const name of ['price', 'work', 'gain'] as const) checkAmount(name, terms[name]);
  for (const name of ['collusion', 'miss', 'lazy', 'falseAlarm'] as const) checkShare(name, terms[name]);
}

/** @throws AssayError ECONOMICS_INVALID */
export function checkAmount(name: string, amount: bigint): void {
  if (amount < 0n)
    throw new AssayError('ECONOMICS_INVALID', `${name}: expected an amount of at least 0, found ${amount}`);
}

/** @throws AssayError ECONOMICS_INVALID */
export function checkShare(name: string, share: Rational): void {
  if (compare(share, ZERO) < 0 || compare(share, ONE) > 0) {
    throw new AssayError(
      'ECONOMICS_INVALID',
      `${name}: expected a share from 0 to 1, found ${share.numerator}/${share.denominator}`,
    );
  }
}

/** @throws AssayError ECONOMICS_INVALID */
export function checkCount(name: string, count: number, least: number, most = Number.MAX_SAFE_INTEGER): void {
  if (!Number.isSafeInteger(count) || count < least || count > most) {
    throw new AssayError(
      'ECONOMICS_INVALID',
      `${name}: expected a whole number from ${least} to ${most}, found ${count}`,
    );
  }
}

/** c: the chance that a drawn lie is found. */
export const conviction = ({ collusion, miss, lazy }: CheckerTerms): Rational =>
  [collusion, miss, lazy].reduce((product, share) => multiply(product, subtract(ONE, share)), ONE);

/** q = p c: the chance that one lie is drawn and found. @throws AssayError ECONOMICS_INVALID */
export function findingChance(terms: CheckerTerms, drawRate: Rational): Rational {
  checkShare('rate', drawRate);
  return multiply(drawRate, conviction(terms));
}

/** r^n: the chance that n checkers, drawn independently, all collude. @throws AssayError ECONOMICS_INVALID */
export function colludingShare(collusion: Rational, checkers: number): Rational {
  checkShare('collusion', collusion);
  checkCount('checkers', checkers, 1, 32);
  const n = BigInt(checkers);
  return rational(collusion.numerator ** n, collusion.denominator ** n);
}

/** Expected profit of a job, honest and cheating. @throws AssayError ECONOMICS_INVALID */
export function expectedProfit(
  terms: JobTerms,
  drawRate: Rational,
  stake: bigint,
): { readonly honest: Rational; readonly cheating: Rational } {
  checkTerms(terms);
  checkAmount('stake', stake);
  const { price, work, gain, falseAlarm } = terms;
  const q = findingChance(terms, drawRate);
  const wrongly = multiply(multiply(drawRate, falseAlarm), rate(stake));
  return {
    honest: subtract(rate(price - work), wrongly),
    cheating: subtract(rate(price - work + gain), multiply(q, rate(price + stake))),
  };
}

export interface Incentives {
  /** Honest work brings more than a lie. */
  readonly honestIsBest: boolean;
  /** Honest work brings more than nothing. */
  readonly worthWorking: boolean;
}

/** @throws AssayError ECONOMICS_INVALID */
export function incentivesOf(terms: JobTerms, drawRate: Rational, stake: bigint): Incentives {
  const { honest, cheating } = expectedProfit(terms, drawRate, stake);
  return { honestIsBest: compare(honest, cheating) > 0, worthWorking: compare(honest, ZERO) > 0 };
}

/**
 * G / (c (R + S) - a S): the rate that must be exceeded.
 * @returns null where no rate is enough: false alarms cost honest executors as much as lies cost cheats
 * @throws AssayError ECONOMICS_INVALID
 */
export function rateBound(terms: JobTerms, stake: bigint): Rational | null {
  checkTerms(terms);
  checkAmount('stake', stake);
  const found = multiply(conviction(terms), rate(terms.price + stake));
  const denominator = subtract(found, multiply(terms.falseAlarm, rate(stake)));
  return compare(denominator, ZERO) <= 0 ? null : divide(rate(terms.gain), denominator);
}

/**
 * The least rate in whole millionths, as contracts state it, at which honesty is best; at least 1.
 * @returns null where not even drawing everything is enough
 * @throws AssayError ECONOMICS_INVALID
 */
export function leastRatePpm(terms: JobTerms, stake: bigint): number | null {
  const bound = rateBound(terms, stake);
  if (bound === null) return null;
  const least = above(multiply(bound, rate(BigInt(PPM))));
  return least > BigInt(PPM) ? null : Number(least);
}

/**
 * The least stake at which honesty is best: the least whole S above (G / p - c R) / (c - a), at least 0.
 * @returns null where no stake is enough: nothing is drawn, or c <= a
 * @throws AssayError ECONOMICS_INVALID
 */
export function leastStake(terms: JobTerms, drawRate: Rational): bigint | null {
  checkTerms(terms);
  checkShare('rate', drawRate);
  if (drawRate.numerator === 0n) return null;
  const c = conviction(terms);
  const needed = subtract(divide(rate(terms.gain), drawRate), multiply(c, rate(terms.price)));
  const each = subtract(c, terms.falseAlarm);
  if (compare(needed, ZERO) < 0) return 0n;
  if (compare(each, ZERO) <= 0) return null;
  return above(divide(needed, each));
}

/**
 * The largest stake that honest executors still put up: the largest whole S below (R - C) / (p a).
 * @returns null where there is no limit: no false alarms, or nothing drawn
 * @throws AssayError ECONOMICS_INVALID where work costs as much as it brings: then nobody takes part at any stake
 */
export function largestStake(terms: JobTerms, drawRate: Rational): bigint | null {
  checkTerms(terms);
  checkShare('rate', drawRate);
  if (terms.price <= terms.work) {
    throw new AssayError(
      'ECONOMICS_INVALID',
      `price: expected more than the work, ${terms.work}, found ${terms.price}: nobody would take the job`,
    );
  }
  const lost = multiply(drawRate, terms.falseAlarm);
  return lost.numerator === 0n ? null : ceil(divide(rate(terms.price - terms.work), lost)) - 1n;
}

export interface LockShares {
  /** Share of the lock that whoever proves a fault may take, in 1/10,000: a cheat may be that himself. */
  readonly bountyOpenBps: number;
  /** What the killing call is paid back, at most: gasKill * unitPrice. */
  readonly gasRefund: bigint;
}

/** S of a lock: what its owner cannot get back by giving himself up, by Escrow's rounding. @throws AssayError ECONOMICS_INVALID */
export function netStake(lock: bigint, { bountyOpenBps, gasRefund }: LockShares): bigint {
  checkAmount('lock', lock);
  checkAmount('gasRefund', gasRefund);
  checkCount('bountyOpenBps', bountyOpenBps, 0, 9_999);
  const net = lock - (lock * BigInt(bountyOpenBps)) / 10_000n - gasRefund;
  return net < 0n ? 0n : net;
}

/** The least lock whose `netStake` is at least S. @throws AssayError ECONOMICS_INVALID */
export function lockForStake(stake: bigint, shares: LockShares): bigint {
  checkAmount('stake', stake);
  netStake(0n, shares);
  const { bountyOpenBps, gasRefund } = shares;
  if (stake === 0n) return 0n;
  // lock - floor(lock b / 10^4) grows by 0 or 1 a unit, so the least lock is at most one off the exact quotient.
  let lock = ((stake + gasRefund) * 10_000n) / (10_000n - BigInt(bountyOpenBps));
  while (netStake(lock, shares) < stake) lock++;
  while (lock > 0n && netStake(lock - 1n, shares) >= stake) lock--;
  return lock;
}

/** Numbers of a power of a rate beyond this many jobs are not worth their digits: detection is certain long before. */
const MOST_JOBS = 100_000;

/**
 * 1 - (1 - q)^N, exactly, for N jobs under one bond.
 * @throws AssayError ECONOMICS_INVALID
 */
function foundAtLeastOnce({ numerator, denominator }: Rational, jobs: number): { found: bigint; all: bigint } {
  checkCount('jobs', jobs, 1, MOST_JOBS);
  const n = BigInt(jobs);
  const all = denominator ** n;
  return { found: all - (denominator - numerator) ** n, all };
}

/**
 * The bond that covers N jobs of one order or batch, whatever number of them its owner lies on:
 * max(least lock, N G / (1 - (1 - q)^N)), rounded up.
 * @param q chance that one lie is found (`findingChance`)
 * @returns null for q = 0
 * @throws AssayError ECONOMICS_INVALID
 */
export function bondForJobs(gain: bigint, q: Rational, jobs: number, leastLock = 0n): bigint | null {
  checkAmount('gain', gain);
  checkAmount('leastLock', leastLock);
  checkShare('finding chance', q);
  const { found, all } = foundAtLeastOnce(q, jobs);
  if (found === 0n) return null;
  const bond = (BigInt(jobs) * gain * all + found - 1n) / found;
  return bond > leastLock ? bond : leastLock;
}

export interface Coverage {
  /** floor(q S): open gain that is safe however it is divided. */
  readonly openGain: bigint;
  /** Largest number of jobs of equal gain that the bond covers; at most 100,000, where the search ends. */
  readonly jobs: number;
}

/** What may be open under one bond. @throws AssayError ECONOMICS_INVALID */
export function coverageOf(gain: bigint, q: Rational, stake: bigint): Coverage {
  checkAmount('stake', stake);
  if (gain === 0n) return { openGain: floor(multiply(q, rational(stake))), jobs: MOST_JOBS };
  const covered = (jobs: number): boolean => {
    // The bond is never below what is open: this keeps the powers small.
    if (BigInt(jobs) * gain > stake) return false;
    const bond = bondForJobs(gain, q, jobs);
    return bond !== null && bond <= stake;
  };
  // N / (1 - (1 - q)^N) grows with N.
  let [low, high] = [0, 1];
  while (high <= MOST_JOBS && covered(high)) [low, high] = [high, 2 * high];
  high = Math.min(high, MOST_JOBS + 1);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (covered(middle)) low = middle;
    else high = middle;
  }
  return { openGain: floor(multiply(q, rational(stake))), jobs: low };
}

/** n G - (1 - (1 - q)^n) S: what n lies under one bond bring in expectation. @throws AssayError ECONOMICS_INVALID */
export function gainOfLies(gain: bigint, q: Rational, stake: bigint, lies: number): Rational {
  checkAmount('gain', gain);
  checkAmount('stake', stake);
  checkShare('finding chance', q);
  const { found, all } = foundAtLeastOnce(q, lies);
  return add(rational(BigInt(lies) * gain), rational(-found * stake, all));
}
