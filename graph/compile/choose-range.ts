/**
 * The stored integer range and the scale of an activation, from its calibration statistics.
 *
 * A stored integer v means scale * v, so that real zero is integer zero. Three kinds of range, k bits each:
 * unsigned 0..2^k-1, signed -2^(k-1)..2^(k-1)-1, and shifted (an asymmetric range stored minus its zero point).
 * Unsigned and signed clamps are structured tables for a prover; a shifted range is taken only where it at least
 * halves the mean squared error.
 */
import { clamp } from './numbers.js';
import type { CalibrationMethod } from './options.js';
import type { HistogramBin, TensorStatistics } from './statistics.js';

export interface ChosenRange {
  readonly scale: number;
  readonly lo: number;
  readonly hi: number;
  /** For the report. */
  readonly calibration: string;
  /** Share of calibration elements that the range cuts off. */
  readonly saturationShare: number;
}

export interface RangeRequest {
  readonly bits: number;
  readonly method: CalibrationMethod;
  /** Bounds that the values are known to keep whatever the input is (0 below for a ReLU); infinite where unknown. */
  readonly boundLo: number;
  readonly boundHi: number;
}

const PERCENTILE = 0.999;
/** Clipping ratios that the search for the least mean squared error tries. */
const MSE_STEPS = 40;
/** A shifted range must bring the mean squared error below this share of the signed one's. */
const SHIFTED_GAIN = 0.5;
/**
 * 'auto' keeps the range that clips nothing unless another one's error is below this share of its error: clipping errs
 * to one side and adds up through the layers, rounding does not. Measured on a depthwise MNIST network with 12
 * activations: mean error of the logits 0.126 with 0.95, 0.113 with 0.6 and with 0.3.
 */
const CLIPPING_GAIN = 0.5;

/** How far beyond its ends a range still rounds to them; a little over a half, for the rounding of the division. */
const REACH = 0.5 + 2 ** -20;

interface Candidate {
  readonly scale: number;
  readonly lo: number;
  readonly hi: number;
  readonly label: string;
}

/** @returns a range that holds 0; scale 1 where every value seen is 0. */
export function chooseRange(statistics: TensorStatistics, request: RangeRequest): ChosenRange {
  const bins = statistics.bins();
  const low = Math.min(0, Math.max(statistics.min, request.boundLo));
  const high = Math.max(0, Math.min(statistics.max, request.boundHi));
  const nonnegative = request.boundLo >= 0;
  const negativeOnly = request.boundHi <= 0;
  const of = (shape: (limit: number) => Omit<Candidate, 'label'>): Candidate =>
    pick(clippings(bins, low, high, request.method, shape), bins, request.method === 'auto' ? CLIPPING_GAIN : 1);

  if (low === 0 && high === 0) return finish({ scale: 1, ...spread(request, nonnegative), label: 'all zero' }, bins);
  if (nonnegative)
    return finish(
      of((limit) => unsigned(high * limit, request.bits)),
      bins,
    );
  const signedRange = of((limit) => signed(Math.max(-low, high) * limit, request.bits));
  const shiftedRange = of((limit) => shifted(low * limit, high * limit, request.bits));
  const gain = negativeOnly ? 1 : SHIFTED_GAIN;
  const better = meanSquaredError(shiftedRange, bins) < gain * meanSquaredError(signedRange, bins);
  return finish(better ? shiftedRange : signedRange, bins);
}

function spread(request: RangeRequest, nonnegative: boolean): { lo: number; hi: number } {
  const half = 2 ** (request.bits - 1);
  return nonnegative ? { lo: 0, hi: 2 * half - 1 } : { lo: -half, hi: half - 1 };
}

function unsigned(high: number, bits: number): Omit<Candidate, 'label'> {
  const hi = 2 ** bits - 1;
  return { scale: high / hi, lo: 0, hi };
}

function signed(magnitude: number, bits: number): Omit<Candidate, 'label'> {
  const half = 2 ** (bits - 1);
  return { scale: magnitude / (half - 1), lo: -half, hi: half - 1 };
}

function shifted(low: number, high: number, bits: number): Omit<Candidate, 'label'> {
  const steps = 2 ** bits - 1;
  const scale = (high - low) / steps;
  const lo = clamp(Math.round(low / scale), -steps, 0);
  return { scale, lo, hi: lo + steps };
}

/** The ranges that the method allows, the one that clips nothing first. */
function clippings(
  bins: readonly HistogramBin[],
  low: number,
  high: number,
  method: CalibrationMethod,
  shape: (limit: number) => Omit<Candidate, 'label'>,
): Candidate[] {
  const max = { ...shape(1), label: 'max' };
  const percentile = (): Candidate => {
    const limit = Math.min(1, magnitudeAt(bins, PERCENTILE) / Math.max(-low, high));
    return { ...shape(limit > 0 ? limit : 1), label: `percentile ${100 * PERCENTILE}` };
  };
  const mse = (): Candidate[] =>
    Array.from({ length: MSE_STEPS }, (_, i) => ({ ...shape(1 - (i * 0.9) / MSE_STEPS), label: 'mse' }));
  if (method === 'max') return [max];
  if (method === 'percentile') return [percentile()];
  if (method === 'mse') return mse();
  return [max, percentile(), ...mse()].map((c) => ({ ...c, label: `auto: ${c.label}` }));
}

function magnitudeAt(bins: readonly HistogramBin[], share: number): number {
  const sorted = bins.map(({ value, count }) => ({ value: Math.abs(value), count })).sort((a, b) => a.value - b.value);
  const total = sorted.reduce((sum, bin) => sum + bin.count, 0);
  let seen = 0;
  for (const bin of sorted) {
    seen += bin.count;
    if (seen >= share * total) return bin.value;
  }
  return sorted.at(-1)?.value ?? 0;
}

/** The candidate with the least error; the first one's error counts `firstShare` times. */
function pick(candidates: readonly Candidate[], bins: readonly HistogramBin[], firstShare: number): Candidate {
  let best = candidates[0]!;
  let bestError = meanSquaredError(best, bins) * firstShare;
  for (const candidate of candidates.slice(1)) {
    const error = meanSquaredError(candidate, bins);
    if (error < bestError) {
      best = candidate;
      bestError = error;
    }
  }
  return best;
}

function meanSquaredError({ scale, lo, hi }: Candidate, bins: readonly HistogramBin[]): number {
  let sum = 0;
  let count = 0;
  for (const bin of bins) {
    const x = bin.value / scale;
    // Inside the range the rounding error is uniform over a step (a histogram bin may be coarser than a step), but
    // zero is stored exactly, and a tensor after a ReLU is mostly zero.
    const error = x < lo - REACH ? lo - x : x > hi + REACH ? x - hi : 0;
    const rounding = bin.value === 0 ? 0 : 1 / 12;
    sum += bin.count * (error * error + rounding) * scale * scale;
    count += bin.count;
  }
  return count === 0 ? 0 : sum / count;
}

function finish(candidate: Candidate, bins: readonly HistogramBin[]): ChosenRange {
  const { scale, lo, hi, label } = candidate;
  return { scale, lo, hi, calibration: label, saturationShare: saturationShare(bins, scale, lo, hi) };
}

/** Share of the elements that round to an integer outside lo..hi. */
export function saturationShare(bins: readonly HistogramBin[], scale: number, lo: number, hi: number): number {
  let cut = 0;
  let count = 0;
  for (const bin of bins) {
    const x = bin.value / scale;
    if (x < lo - REACH || x > hi + REACH) cut += bin.count;
    count += bin.count;
  }
  return count === 0 ? 0 : cut / count;
}
