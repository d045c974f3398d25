/**
 * Symmetric quantisation of a linear layer's weights, and its bias in units of the accumulator.
 */
import type { IntRange } from '../integer/types.js';

export interface QuantisedWeights {
  readonly weight: Int8Array | Int16Array;
  /** Real weight = scale * integer; one per row, or one for all. */
  readonly scales: Float64Array;
}

/**
 * A row's scale is at least this share of the largest row's: the output of a row below it is under one unit of an
 * 8-bit result, and so its multiplier in the requantisation keeps its precision.
 */
const LEAST_SHARE = 2 ** -8;
/** A bias stays below this many units of the accumulator; a larger one makes its row's scale coarser. */
const BIAS_LIMIT = 2 ** 21;

/**
 * Weights in -(2^(bits-1)-1) .. 2^(bits-1)-1.
 * @param weight row-major [rows][perRow]
 * @param perTensor one scale for all rows, so that accumulators of different rows can be compared
 * @param inputScale real value of one unit of the operand
 */
export function quantiseWeights(
  weight: Float64Array,
  rows: number,
  perRow: number,
  bias: Float64Array | null,
  inputScale: number,
  bits: number,
  perTensor: boolean,
): QuantisedWeights {
  const limit = 2 ** (bits - 1) - 1;
  const largest = new Float64Array(rows);
  for (let row = 0; row < rows; row++)
    for (let k = 0; k < perRow; k++) largest[row] = Math.max(largest[row]!, Math.abs(weight[row * perRow + k]!));
  const largestOfAll = largest.reduce((max, x) => Math.max(max, x), 0);
  const scales = new Float64Array(perTensor ? 1 : rows);
  for (let i = 0; i < scales.length; i++) {
    const magnitude = perTensor ? largestOfAll : Math.max(largest[i]!, largestOfAll * LEAST_SHARE);
    const biasMagnitude =
      bias === null ? 0 : perTensor ? bias.reduce((max, b) => Math.max(max, Math.abs(b)), 0) : Math.abs(bias[i]!);
    const scale = Math.max(magnitude / limit, biasMagnitude / inputScale / BIAS_LIMIT);
    scales[i] = scale > 0 ? scale : 1;
  }
  const integers = new Int8Array(weight.length);
  for (let row = 0; row < rows; row++) {
    const scale = scales[perTensor ? 0 : row]!;
    for (let k = 0; k < perRow; k++) integers[row * perRow + k] = Math.round(weight[row * perRow + k]! / scale);
  }
  return { weight: integers, scales };
}

/** Bias in units of the accumulator: round(bias / (inputScale * weightScale)). */
export function quantiseBias(bias: Float64Array, inputScale: number, scales: Float64Array): Int32Array {
  return Int32Array.from(bias, (b, row) => Math.round(b / (inputScale * scales[scales.length === 1 ? 0 : row]!)));
}

/** Narrowest array that holds the integers. */
export function narrow(integers: Int16Array): Int8Array | Int16Array {
  return integers.every((v) => v >= -128 && v <= 127) ? Int8Array.from(integers) : integers;
}

/**
 * Proved bounds of every row's accumulator, sum of w * x + b with each x in `range`, and the largest magnitude of
 * any partial sum in any order. A range that holds 0 covers padding too.
 */
export function accumulatorBounds(
  weight: Int8Array | Int16Array,
  rows: number,
  perRow: number,
  bias: Int32Array | null,
  range: IntRange,
): { ranges: IntRange[]; magnitude: number; row: number } {
  const ranges: IntRange[] = [];
  let magnitude = 0;
  let worst = 0;
  for (let row = 0; row < rows; row++) {
    let lo = bias === null ? 0 : bias[row]!;
    let hi = lo;
    let partial = Math.abs(lo);
    for (let k = 0; k < perRow; k++) {
      const w = weight[row * perRow + k]!;
      const a = w * range.lo;
      const b = w * range.hi;
      lo += Math.min(a, b);
      hi += Math.max(a, b);
      partial += Math.max(Math.abs(a), Math.abs(b));
    }
    ranges.push({ lo, hi });
    if (partial > magnitude) {
      magnitude = partial;
      worst = row;
    }
  }
  return { ranges, magnitude, row: worst };
}
