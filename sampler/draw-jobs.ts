/**
 * Which receipts of a batch are audited.
 *
 * Statement. Of N bound receipts exactly k = ceil(p * N) are drawn, without replacement; every set of k is equally
 * likely over the seed. Exactly, not on average, so that the price of an audit is known when the job is quoted.
 *
 * 1. Every bound receipt gets a ticket: keccak(keccak("assay/draw/job/1") | seed | index).
 * 2. The k smallest tickets are drawn. Tickets are independent and uniform in 256 bits, so their order is a uniform
 *    permutation: no modulus, hence no bias, and no receipt's chance depends on its place.
 *
 * The executor has committed before the seed exists (contracts: ReceiptRollup.fixSeed), and the seed is a hash over
 * the commitment: changing a receipt afterwards changes the batch hash, the seed, and with it the draw.
 */
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';
import { ticket } from './ticket.js';

/** Rates are whole millionths, so that ceil(p * N) is the same in every language. */
export const PPM = 1_000_000;

/**
 * @param indexes of the receipts that stand (`boundIndexes`), distinct, each 0 to 2^32 - 1
 * @param ratePpm share to draw, in millionths, 1 to 1,000,000
 * @returns ceil(ratePpm * N / 1,000,000) of the indexes, ascending
 * @throws AssayError DRAW_INVALID
 */
export function drawJobs(seed: Hex, indexes: readonly number[], ratePpm: number): number[] {
  if (!Number.isInteger(ratePpm) || ratePpm < 1 || ratePpm > PPM) {
    throw new AssayError('DRAW_INVALID', `rate: expected 1 to ${PPM} millionths, found ${ratePpm}`);
  }
  for (const index of indexes) {
    if (!Number.isInteger(index) || index < 0 || index >= 2 ** 32) {
      throw new AssayError('DRAW_INVALID', `index: expected a whole number from 0 to 2^32 - 1, found ${index}`);
    }
  }
  if (new Set(indexes).size !== indexes.length) throw new AssayError('DRAW_INVALID', 'indexes: one stands twice');
  return indexes
    .map((index) => ({ index, ticket: ticket('assay/draw/job/1', seed, index) }))
    .sort((a, b) => (a.ticket < b.ticket ? -1 : 1))
    .slice(0, drawnCount(indexes.length, ratePpm))
    .map(({ index }) => index)
    .sort((a, b) => a - b);
}

/** ceil(ratePpm * count / 1,000,000), in integers. */
export function drawnCount(count: number, ratePpm: number): number {
  return Number((BigInt(count) * BigInt(ratePpm) + BigInt(PPM - 1)) / BigInt(PPM));
}
