import type { Hex } from '../receipts/types.js';
import { drawJobs } from './draw-jobs.js';

/** A receipt that stands, by its index in the batch. */
export interface BoundReceipt {
  readonly index: number;
  readonly executor: Hex;
}

/**
 * The draw over a whole batch, executor by executor: ceil(p * n) of the n receipts of each.
 *
 * Statement. Whoever is wrong in w of his n receipts meets the audit with the hypergeometric chance over his own
 * receipts alone (`detectionProbabilityExact`): others' receipts neither shield him nor dilute it. An executor all of
 * whose receipts are wrong is always drawn. Splitting oneself into several addresses only adds roundings up.
 *
 * @param ratePpm share to draw, in millionths, 1 to 1,000,000
 * @returns indexes, ascending
 * @throws AssayError DRAW_INVALID
 */
export function drawBatch(seed: Hex, receipts: readonly BoundReceipt[], ratePpm: number): number[] {
  const byExecutor = new Map<Hex, number[]>();
  for (const { index, executor } of receipts) byExecutor.set(executor, [...(byExecutor.get(executor) ?? []), index]);
  return [...byExecutor.values()].flatMap((indexes) => drawJobs(seed, indexes, ratePpm)).sort((a, b) => a - b);
}
