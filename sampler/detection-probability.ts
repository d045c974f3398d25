import { AssayError } from '../common/errors.js';

/**
 * Chance that at least one of n wrong receipts is drawn, where each is drawn with probability p by itself:
 * 1 - (1 - p)^n. A lower bound for draws without replacement.
 * @param p 0 to 1
 * @param n whole, at least 0
 * @throws AssayError DRAW_INVALID
 */
export function detectionProbability(p: number, n: number): number {
  if (!(p >= 0 && p <= 1)) throw new AssayError('DRAW_INVALID', `p: expected 0 to 1, found ${p}`);
  if (!Number.isInteger(n) || n < 0) throw new AssayError('DRAW_INVALID', `n: expected a whole number, found ${n}`);
  if (n === 0) return 0;
  // By way of log1p and expm1, since 1 - (1 - p)^n loses every digit of a p below 1e-16.
  return -Math.expm1(n * Math.log1p(-p));
}

/**
 * The same for a draw of exactly k out of N without replacement (hypergeometric): 1 - C(N - n, k) / C(N, k).
 * @param population N; @param wrong n <= N; @param drawn k <= N
 * @throws AssayError DRAW_INVALID
 */
export function detectionProbabilityExact(population: number, wrong: number, drawn: number): number {
  for (const [name, value] of Object.entries({ wrong, drawn })) {
    if (!Number.isInteger(value) || value < 0 || value > population) {
      throw new AssayError('DRAW_INVALID', `${name}: expected a whole number from 0 to ${population}, found ${value}`);
    }
  }
  let missed = 1;
  for (let i = 0; i < wrong; i++) missed *= Math.max(0, population - drawn - i) / (population - i);
  return 1 - missed;
}
