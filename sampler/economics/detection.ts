/**
 * How likely lies are found, where a draw takes k of the N receipts of a batch without replacement and a drawn lie is
 * found with chance c, each by itself.
 *
 *   X ~ Hypergeometric(N, n, k)  lies that are drawn,  P(X = x) = C(n, x) C(N - n, k - x) / C(N, k)
 *   P(none found) = E[(1 - c)^X]
 *
 * For c = 1 that is C(N - n, k) / C(N, k) (`detectionProbabilityExact`), and never above (1 - c k / N)^n, what independent
 * draws give. Batches are independent: their chances to find nothing multiply. A cheat who may choose does best to
 * spread his lies thin: the more lies one batch has, the likelier each further draw of it finds one.
 *
 * Doubles throughout: these are chances, not money.
 */
import { AssayError } from '../../common/errors.js';
import { detectionProbabilityExact } from '../detection-probability.js';
import { PPM } from '../draw-jobs.js';
import { checkCount } from './incentives.js';

export interface BatchDraw {
  /** N */
  readonly receipts: number;
  /** n */
  readonly lies: number;
  /** k */
  readonly drawn: number;
}

/** Receipts of one draw, and what of them may be both drawn and lied on: the time below grows with its square. */
const [MOST_RECEIPTS, MOST_MET] = [100_000_000, 65_536];

/**
 * The chance that at least one lie of a batch is found.
 * @param c that a drawn lie is found, 0 to 1
 * @throws AssayError ECONOMICS_INVALID
 */
export function batchDetection({ receipts, lies, drawn }: BatchDraw, c = 1): number {
  checkCount('receipts', receipts, 0, MOST_RECEIPTS);
  checkCount('lies', lies, 0, receipts);
  checkCount('drawn', drawn, 0, receipts);
  checkChance('conviction', c);
  if (c === 1) return detectionProbabilityExact(receipts, lies, drawn);
  checkCount('lies or drawn, the smaller', Math.min(lies, drawn), 0, MOST_MET);
  // The law of X, receipt by receipt of the smaller of the two sets: sums of positive terms, so that no digit is lost.
  const [steps, others] = lies < drawn ? [lies, drawn] : [drawn, lies];
  const law = new Float64Array(steps + 1);
  law[0] = 1;
  for (let i = 0; i < steps; i++) {
    const left = receipts - i;
    for (let x = i; x >= 0; x--) {
      const hit = (others - x) / left;
      law[x + 1]! += law[x]! * hit;
      law[x]! *= 1 - hit;
    }
  }
  const missed = Math.log1p(-c);
  return law.reduce((found, chance, x) => found - chance * Math.expm1(x * missed), 0);
}

/** The chance that at least one lie is found in any of the batches. @throws AssayError ECONOMICS_INVALID */
export function detectionOverBatches(batches: readonly BatchDraw[], c = 1): number {
  // In logarithms, since 1 - q loses the digits of a small q.
  return -Math.expm1(batches.reduce((sum, batch) => sum + Math.log1p(-batchDetection(batch, c)), 0));
}

/**
 * n lies over the batches of one executor as he would place them himself: as evenly as they can be.
 * @param drawn of the receipts in each batch
 * @returns what each batch draws and holds
 * @throws AssayError ECONOMICS_INVALID
 */
export function spreadLies(lies: number, batches: number, receipts: number, drawn: number): BatchDraw[] {
  checkCount('batches', batches, 1);
  checkCount('lies', lies, 0, batches * receipts);
  const [each, more] = [Math.floor(lies / batches), lies % batches];
  return Array.from({ length: batches }, (_, i) => ({ receipts, lies: each + Number(i < more), drawn }));
}

/**
 * The rate at which so many lies, one to a batch, are all missed with the given chance at most: 1 - escape^(1/n), in whole
 * millionths, rounded up. To lose in expectation a cheat need only be found now and then; to lose in every run it must
 * be found in every run, which for few lies takes a high rate.
 * @param c as in `batchDetection`
 * @returns null where not even drawing everything is enough
 * @throws AssayError ECONOMICS_INVALID
 */
export function rateForCertainty(lies: number, escape: number, c = 1): number | null {
  checkCount('lies', lies, 1);
  checkChance('escape', escape);
  checkChance('conviction', c);
  const rate = -Math.expm1(Math.log(escape) / lies) / c;
  return rate > 1 ? null : Math.max(1, Math.ceil(rate * PPM - 1e-6));
}

export interface Band {
  readonly mean: number;
  readonly sd: number;
  /** Least interval from the `(1 - confidence) / 2` quantile to its mirror image, both ends included. */
  readonly low: number;
  readonly high: number;
}

/**
 * How many of some independent events come to pass (Poisson binomial), exactly.
 * @param chances one for each event
 * @param confidence 0 to 1, exclusive
 * @throws AssayError ECONOMICS_INVALID
 */
export function countBand(chances: readonly number[], confidence = 0.95): Band {
  checkCount('events', chances.length, 0, 20_000);
  if (!(confidence > 0 && confidence < 1))
    throw new AssayError('ECONOMICS_INVALID', `confidence: expected a number between 0 and 1, found ${confidence}`);
  const law = new Float64Array(chances.length + 1);
  law[0] = 1;
  chances.forEach((chance, i) => {
    checkChance('chance', chance);
    for (let x = i + 1; x > 0; x--) law[x] = law[x]! * (1 - chance) + law[x - 1]! * chance;
    law[0]! *= 1 - chance;
  });
  const quantile = (level: number): number => {
    let sum = 0;
    const at = law.findIndex((chance) => (sum += chance) >= level);
    return at < 0 ? chances.length : at;
  };
  const tail = (1 - confidence) / 2;
  return {
    mean: chances.reduce((sum, chance) => sum + chance, 0),
    sd: Math.sqrt(chances.reduce((sum, chance) => sum + chance * (1 - chance), 0)),
    low: quantile(tail),
    high: quantile(1 - tail),
  };
}

/** @throws AssayError ECONOMICS_INVALID */
export function checkChance(name: string, chance: number): void {
  if (!(chance >= 0 && chance <= 1))
    throw new AssayError('ECONOMICS_INVALID', `${name}: expected a chance from 0 to 1, found ${chance}`);
}
