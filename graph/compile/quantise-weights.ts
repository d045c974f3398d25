/**
 * Symmetric quantisation of a linear layer's weights, and its bias in units of the accumulator.
 */
import { AssayError } from '../../common/errors.js';
import { ACCUMULATOR_LIMIT, FLOAT32_EXACT_LIMIT, type IntRange } from '../integer/types.js';

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

/**
 * Integer weights that the model brought along. They are kept, but for rows (all, where there is one scale) whose bias
 * would reach 2^24 units of the accumulator: those get coarser units, in which it is below 2^21.
 */
export function fixedWeights(
  integers: Int16Array,
  scales: Float64Array,
  perRow: number,
  bias: Float64Array | null,
  inputScale: number,
): QuantisedWeights {
  const single = scales.length === 1;
  const reach = new Float64Array(scales.length);
  bias?.forEach((b, row) => (reach[single ? 0 : row] = Math.max(reach[single ? 0 : row]!, Math.abs(b) / inputScale)));
  const coarse = scales.map((s, i) => (reach[i]! / s >= FLOAT32_EXACT_LIMIT ? reach[i]! / BIAS_LIMIT : s));
  const factor = (i: number): number => {
    const at = single ? 0 : Math.floor(i / perRow);
    return scales[at]! / coarse[at]!;
  };
  return { weight: narrow(integers.map((w, i) => Math.round(w * factor(i)))), scales: coarse };
}

/** Bias in units of the accumulator: round(bias / (inputScale * weightScale)). @throws AssayError BOUND_EXCEEDED */
export function quantiseBias(bias: Float64Array, inputScale: number, scales: Float64Array, node: string): Int32Array {
  const units = bias.map((b, row) => b / (inputScale * scales[scales.length === 1 ? 0 : row]!));
  return wholeNumbers(units, 1, node);
}

/**
 * Constants in units of `unit`, rounded.
 * @throws AssayError BOUND_EXCEEDED where one leaves 2^31.
 */
export function wholeNumbers(values: Float64Array, unit: number, node: string): Int32Array {
  const integers = values.map((v) => Math.round(v / unit));
  const at = integers.findIndex((v) => !(Math.abs(v) < ACCUMULATOR_LIMIT));
  if (at >= 0)
    throw new AssayError(
      'BOUND_EXCEEDED',
      `node '${node}': element ${at} of its constant is ${integers[at]} units of ${unit}, but must stay below 2^31`,
      { meta: { node, element: at, bound: integers[at], limit: ACCUMULATOR_LIMIT } },
    );
  return Int32Array.from(integers);
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
