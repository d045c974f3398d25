/**
 * Choice of a requantisation: multipliers M and table, from the accumulator's proved bounds and scale, the real
 * function in between, and the stored range of the result.
 *
 *   q = floor((acc * M + 2^23) / 2^24),  y = table[q]
 *
 * A clipped multiple becomes a clamp table: q is y before clamping, M = round(accScale * gain / yScale * 2^24).
 * Any other function becomes a table of values over a finer q: real argument = qScale * q,
 * M = round(accScale / qScale * 2^24).
 */
import {
  MULTIPLIER_LIMIT,
  QUOTIENT_HI,
  QUOTIENT_LO,
  REQUANT_SHIFT,
  type IntRange,
  type RequantTable,
} from '../integer/types.js';
import { roundHalfEven } from '../onnx/numbers.js';
import { clamp } from './numbers.js';
import { applyUnary, gainOf, type ClipFunction, type UnaryFunction } from './unary-function.js';

export interface RequantSource {
  /** Proved bounds per channel, or one for all. */
  readonly ranges: readonly IntRange[];
  /** Real value of one unit, per channel or one for all; as many as ranges, or one. */
  readonly scales: Float64Array;
  /** Real interval that calibration saw before the function; null where unknown (the proved one is taken). */
  readonly seen: { readonly lo: number; readonly hi: number } | null;
}

export interface RequantTarget {
  readonly scale: number;
  readonly lo: number;
  readonly hi: number;
  /** True where the scale belongs to the model (QuantizeLinear) and must not be made coarser. */
  readonly fixed: boolean;
}

export interface Requant {
  /** One, or one per channel. */
  readonly multipliers: Int32Array;
  readonly table: RequantTable;
  /** The target's, coarser where the proved range of q would not fit. */
  readonly scale: number;
  readonly warnings: readonly string[];
}

const ONE = 2 ** REQUANT_SHIFT;
/** Rows of a table of values that calibration's interval gets to begin with, at least, and at most. */
const FIRST_ROWS_LOG = 10;
const LEAST_ROWS_LOG = 9;
const MOST_ROWS_LOG = 13;
/** Rows above which a table is worth a warning: it then sets the column size of a proof. */
export const MANY_ROWS = 2 ** 13;
/** Largest error, in units of y, that the argument's rounding may bring before a finer q is tried. */
const ROUNDING_GOAL = 0.25;
/** A change by more than this many units of y is reported. */
const ERROR_LIMIT = 1;
/** A jump of the function by more than this many units of y is reported. */
const JUMP_LIMIT = 1.5;
/** An accumulator with at most this many values is looked up as it stands, M = 2^24. */
const EXACT_ROWS = 2 ** 12;
/** A multiplier below this has less than 10 bits of precision. */
const LEAST_MULTIPLIER = 2 ** 9;

/** q of an accumulator: half up, towards minus infinity. Exact while |acc * M + 2^23| < 2^52. */
export function quotient(accumulator: number, multiplier: number): number {
  return Math.floor((accumulator * multiplier + ONE / 2) / ONE);
}

export function planRequant(source: RequantSource, fn: UnaryFunction, target: RequantTarget): Requant {
  if (fn.kind === 'clip') {
    const clamped = clampRequant(source, fn, target);
    if (clamped !== null) return clamped;
  }
  const requant = valuesRequant(source, fn, target);
  if (fn.kind === 'clip' && target.fixed && requant.multipliers.some((m) => m !== ONE))
    return {
      ...requant,
      warnings: [
        ...requant.warnings,
        "the model's scale does not fit the accumulator's proved range: results are rounded twice",
      ],
    };
  return requant;
}

/** null where a clamp cannot express it: a multiplier of 2^28 or more, or a fixed scale with q out of bounds. */
function clampRequant(source: RequantSource, fn: ClipFunction, target: RequantTarget): Requant | null {
  const warnings: string[] = [];
  let scale = target.scale;
  let multipliers = multipliersFor(source.scales, fn.gain / scale);
  if (multipliers.some((m) => m >= MULTIPLIER_LIMIT)) return null;
  let span = quotientRange(source.ranges, multipliers);
  const excess = Math.max(span.hi / (QUOTIENT_HI - 1), span.lo / QUOTIENT_LO);
  if (excess > 1) {
    if (target.fixed) return null;
    scale *= excess * (1 + 2 ** -10);
    multipliers = multipliersFor(source.scales, fn.gain / scale);
    span = quotientRange(source.ranges, multipliers);
    warnings.push(
      `scale made ${excess.toFixed(2)} times coarser: the proved range of the accumulator is much wider than what calibration saw`,
    );
  }
  warnings.push(...precisionWarnings(multipliers, source));
  const lo = fn.lo === -Infinity ? target.lo : clamp(roundHalfEven(fn.lo / scale), target.lo, target.hi);
  const hi = fn.hi === Infinity ? target.hi : clamp(roundHalfEven(fn.hi / scale), target.lo, target.hi);
  return { multipliers, table: { kind: 'clamp', qLo: span.lo, qHi: span.hi, lo, hi }, scale, warnings };
}

function valuesRequant(source: RequantSource, fn: UnaryFunction, target: RequantTarget): Requant {
  const warnings: string[] = [];
  const qScale = chooseArgumentScale(source, fn, target, warnings);
  const jump = largestJump(source, fn, target);
  if (jump > JUMP_LIMIT)
    warnings.push(
      `${fn.label} has a pole or a step inside the range that calibration saw: there the rounding of its argument changes the result by up to ${Math.round(jump)} units (${(jump * target.scale).toPrecision(3)})`,
    );
  const multipliers = multipliersFor(source.scales, 1 / qScale);
  const span = quotientRange(source.ranges, multipliers);
  warnings.push(...precisionWarnings(multipliers, source));
  const values = new Int16Array(span.hi - span.lo + 1);
  for (let i = 0; i < values.length; i++) values[i] = stored(fn, (span.lo + i) * qScale, target);
  const table: RequantTable = { kind: 'values', qLo: span.lo, qHi: span.hi, values, label: fn.label };
  return { multipliers, table, scale: target.scale, warnings };
}

/** The stored integer of fn(x). Outside the function's domain (not a number) it is 0. */
function stored(fn: UnaryFunction, x: number, target: RequantTarget): number {
  const y = applyUnary(fn, x);
  if (Number.isNaN(y)) return clamp(0, target.lo, target.hi);
  return clamp(roundHalfEven(y / target.scale), target.lo, target.hi);
}

/**
 * Largest change of the stored result between neighbouring arguments, in units: the steepest of 1024 pieces is halved
 * until a continuous function no longer changes on it.
 */
function largestJump(source: RequantSource, fn: UnaryFunction, target: RequantTarget): number {
  const { lo, hi } = source.seen ?? realRange(source);
  const at = (x: number): number => bounded(fn, x, target);
  const change = (a: number, b: number): number => Math.abs(at(b) - at(a));
  const pieces = 1024;
  let left = lo;
  let right = hi;
  let steepest = 0;
  for (let i = 0; i < pieces; i++) {
    const [a, b] = [lo + ((hi - lo) * i) / pieces, lo + ((hi - lo) * (i + 1)) / pieces];
    if (change(a, b) <= steepest) continue;
    steepest = change(a, b);
    [left, right] = [a, b];
  }
  for (let i = 0; i < 40; i++) {
    const middle = (left + right) / 2;
    if (change(left, middle) >= change(middle, right)) right = middle;
    else left = middle;
  }
  return change(left, right);
}

/** Real value of one unit of q. */
function chooseArgumentScale(
  source: RequantSource,
  fn: UnaryFunction,
  target: RequantTarget,
  warnings: string[],
): number {
  const coarsest = source.scales.reduce((max, s) => Math.max(max, s), 0);
  const proved = realRange(source);
  if (source.scales.length === 1) {
    const range = source.ranges.reduce((a, b) => ({ lo: Math.min(a.lo, b.lo), hi: Math.max(a.hi, b.hi) }));
    const inBounds = range.lo >= QUOTIENT_LO && range.hi < QUOTIENT_HI;
    if (inBounds && range.hi - range.lo < EXACT_ROWS) return coarsest;
  }
  const seen = source.seen === null || source.seen.hi <= source.seen.lo ? proved : source.seen;
  const lo = Math.max(seen.lo, proved.lo);
  const hi = Math.min(seen.hi, proved.hi);
  const width = hi > lo ? hi - lo : proved.hi - proved.lo || coarsest;
  const start = hi > lo ? lo : proved.lo;
  const scaleAt = (log: number): number => Math.max(width / 2 ** log, coarsest / 8);
  const error = (log: number): number => roundingError(fn, start, width, scaleAt(log), target);
  const rows = (log: number): number => (proved.hi - proved.lo) / scaleAt(log);

  let log = FIRST_ROWS_LOG;
  while (log < MOST_ROWS_LOG && error(log) > ROUNDING_GOAL) log++;
  while (log > LEAST_ROWS_LOG && rows(log) > MANY_ROWS && error(log - 1) <= 2 * ROUNDING_GOAL) log--;
  const scale = scaleAt(log);
  const missed = error(log);
  if (missed > ERROR_LIMIT && largestJump(source, fn, target) <= JUMP_LIMIT)
    warnings.push(
      `${fn.label} is steep for its table: the rounding of its argument changes the result by up to ${missed.toFixed(1)} units (${(missed * target.scale).toPrecision(3)})`,
    );
  const excess = Math.max(proved.hi / scale / (QUOTIENT_HI - 2), -proved.lo / scale / (-QUOTIENT_LO - 1), 1);
  if (excess > 1)
    warnings.push(
      `argument of ${fn.label} rounded ${excess.toFixed(2)} times coarser: the proved range of the accumulator is much wider than what calibration saw`,
    );
  return scale * excess;
}

/** fn(x) in units of y, within what is stored: a pole is the end of the range, what is not a number is 0. */
function bounded(fn: UnaryFunction, x: number, target: RequantTarget): number {
  const y = applyUnary(fn, x);
  return clamp(Number.isNaN(y) ? 0 : y / target.scale, target.lo, target.hi);
}

/** Largest change of fn over half a step, in units of y, on the interval. */
function roundingError(fn: UnaryFunction, start: number, width: number, step: number, target: RequantTarget): number {
  let worst = 0;
  let before = bounded(fn, start, target);
  const count = Math.ceil(width / step);
  for (let i = 1; i <= count; i++) {
    const after = bounded(fn, start + i * step, target);
    worst = Math.max(worst, Math.abs(after - before) / 2);
    before = after;
  }
  return worst;
}

function realRange(source: RequantSource): { lo: number; hi: number } {
  let lo = Infinity;
  let hi = -Infinity;
  source.ranges.forEach((range, i) => {
    const scale = source.scales[source.scales.length === 1 ? 0 : i]!;
    lo = Math.min(lo, range.lo * scale);
    hi = Math.max(hi, range.hi * scale);
  });
  return { lo, hi };
}

function multipliersFor(scales: Float64Array, factor: number): Int32Array {
  return Int32Array.from(scales, (scale) => Math.min(Math.max(Math.round(scale * factor * ONE), 1), MULTIPLIER_LIMIT));
}

function quotientRange(ranges: readonly IntRange[], multipliers: Int32Array): IntRange {
  let lo = Infinity;
  let hi = -Infinity;
  ranges.forEach((range, i) => {
    const multiplier = multipliers[multipliers.length === 1 ? 0 : i]!;
    lo = Math.min(lo, quotient(range.lo, multiplier));
    hi = Math.max(hi, quotient(range.hi, multiplier));
  });
  return { lo, hi };
}

function precisionWarnings(multipliers: Int32Array, source: RequantSource): string[] {
  // A channel whose accumulator is always 0 loses nothing.
  const alive = (i: number): boolean => {
    const range = source.ranges[source.ranges.length === 1 ? 0 : i]!;
    return range.lo !== 0 || range.hi !== 0;
  };
  const coarse = Array.from(multipliers).filter((m, i) => m < LEAST_MULTIPLIER && alive(i)).length;
  return coarse === 0 ? [] : [`${coarse} of ${multipliers.length} multipliers have under 10 bits of precision`];
}

/** Bounds that fn keeps on an interval of its argument, for the choice of a stored range. */
export function functionBounds(fn: UnaryFunction, lo: number, hi: number): { lo: number; hi: number } {
  if (gainOf(fn) !== null) return { lo: -Infinity, hi: Infinity };
  if (fn.kind === 'clip') return { lo: fn.lo, hi: fn.hi };
  const steps = 2048;
  let least = Infinity;
  let most = -Infinity;
  // Zero is where most functions turn.
  const zero = lo < 0 && hi > 0 ? [0] : [];
  for (const x of [...zero, ...Array.from({ length: steps + 1 }, (_, i) => lo + ((hi - lo) * i) / steps)]) {
    const y = applyUnary(fn, x);
    if (Number.isNaN(y)) continue;
    least = Math.min(least, y);
    most = Math.max(most, y);
  }
  return { lo: least, hi: most };
}
