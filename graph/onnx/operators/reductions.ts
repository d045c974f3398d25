/** Reductions over axes, and the index of the extreme element along one. */
import { sizeOf, stridesOf } from '../../tensor.js';
import type { Tensor } from '../../tensor.js';
import { INTEGER_LIMITS, is64BitInteger, isFloat, numbersOf, tensorFromNumbers } from '../numbers.js';
import { around, stridedIndices } from './indexing.js';
import type { Application, Operator } from './operator.js';

interface ReductionPlan {
  /** Reduced axes, ascending; empty where the input passes unchanged. */
  readonly axes: readonly number[];
  readonly noop: boolean;
  readonly shape: readonly number[];
}

/** Axes: an attribute before `inputSince`, an optional input since. None means all, or none with noop_with_empty_axes. */
function planReduction(application: Application, inputSince: number): ReductionPlan {
  const { shape } = application.input(0);
  const given = application.opset >= inputSince ? application.optionalIntegers(1) : application.numbers('axes');
  const empty = given === null || given.length === 0;
  const noop = empty && application.number('noop_with_empty_axes', 0) !== 0;
  const axes = noop ? [] : empty ? shape.map((_, axis) => axis) : application.axes(given, shape.length);
  const keep = application.number('keepdims', 1) !== 0;
  const reduced = new Set(axes);
  const result = keep
    ? shape.map((side, axis) => (reduced.has(axis) ? 1 : side))
    : shape.filter((_, axis) => !reduced.has(axis));
  return { axes, noop, shape: result };
}

interface Reduction {
  /** What the sum starts from; depends on the type for extremes. */
  readonly start: (type: Tensor['type']) => number;
  /** What is done to each element before (squares, magnitudes, exponentials). */
  readonly before?: (value: number) => number;
  readonly combine: (sum: number, value: number) => number;
  readonly after?: (sum: number, count: number, integer: boolean) => number;
  /** `before` and `combine` on 32-bit integers, where products exceed float64: the low 32 bits. */
  readonly integer?: {
    readonly before?: (value: number) => number;
    readonly combine: (sum: number, value: number) => number;
  };
  readonly big?: {
    readonly start: bigint | null;
    readonly combine: (sum: bigint, value: bigint) => bigint;
    readonly after?: (sum: bigint, count: number) => bigint;
  };
}

function reduction(op: string, inputSince: number, meaning: Reduction): Operator {
  return {
    op,
    sinceOpset: 7,
    infer: (application) => {
      const { type } = application.input(0);
      const extreme = op === 'ReduceMax' || op === 'ReduceMin';
      if (type === 'string' || (type === 'bool' && !extreme) || (is64BitInteger(type) && meaning.big === undefined)) {
        throw application.unsupported(`it reduces ${type}`, 'Cast its input to float32 before the export.');
      }
      return [{ type, shape: planReduction(application, inputSince).shape }];
    },
    evaluate: (application) => {
      const x = application.tensor(0);
      const plan = planReduction(application, inputSince);
      // A reduction over no axes still maps: the square, the logarithm of each element alone.
      if (plan.noop && meaning.before === undefined && meaning.after === undefined) return [x];
      const reduced = new Set(plan.axes);
      const kept = x.shape.map((side, axis) => (reduced.has(axis) ? 1 : side));
      const strides = stridesOf(kept);
      const targets = stridedIndices(
        x.shape,
        strides.map((stride, axis) => (reduced.has(axis) ? 0 : stride)),
        0,
      );
      const size = sizeOf(plan.shape);
      const count = sizeOf(x.shape.filter((_, axis) => reduced.has(axis)));
      if (is64BitInteger(x.type)) return [bigReduction(application, x, plan.shape, targets, count, meaning.big!)];
      const source = numbersOf(x);
      const { before, combine } = isFloat(x.type) ? meaning : (meaning.integer ?? meaning);
      const sums = new Float64Array(size).fill(meaning.start(x.type));
      for (let i = 0; i < source.length; i++) {
        const value = before === undefined ? source[i]! : before(source[i]!);
        sums[targets[i]!] = combine(sums[targets[i]!]!, value);
      }
      if (meaning.after !== undefined) {
        for (let i = 0; i < size; i++) sums[i] = meaning.after(sums[i]!, count, !isFloat(x.type));
      }
      return [tensorFromNumbers(x.type, plan.shape, sums)];
    },
  };
}

function bigReduction(
  application: Application,
  x: Tensor,
  shape: readonly number[],
  targets: Int32Array,
  count: number,
  meaning: NonNullable<Reduction['big']>,
): Tensor {
  const source = x.data as BigInt64Array;
  const size = sizeOf(shape);
  if (count === 0 && (meaning.start === null || meaning.after !== undefined)) {
    throw application.mismatch('reduces no elements, which has no meaning in integers');
  }
  const sums = new Array<bigint | null>(size).fill(meaning.start);
  for (let i = 0; i < source.length; i++) {
    const sum = sums[targets[i]!]!;
    sums[targets[i]!] = sum === null ? source[i]! : meaning.combine(sum, source[i]!);
  }
  const data = x.type === 'int64' ? new BigInt64Array(size) : new BigUint64Array(size);
  for (let i = 0; i < size; i++) data[i] = meaning.after === undefined ? sums[i]! : meaning.after(sums[i]!, count);
  return { type: x.type, shape, data } as Tensor;
}

const add = (sum: number, value: number): number => sum + value;
const zero = (): number => 0;

/** log of the sum of exponentials needs the maximum first to stay finite, so it has its own loop. */
const LOG_SUM_EXP: Operator = {
  op: 'ReduceLogSumExp',
  sinceOpset: 7,
  infer: (application) => {
    const { type } = application.input(0);
    if (!isFloat(type))
      throw application.unsupported(`it reduces ${type}`, 'Cast its input to float32 before the export.');
    return [{ type, shape: planReduction(application, 18).shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const plan = planReduction(application, 18);
    const reduced = new Set(plan.axes);
    const strides = stridesOf(x.shape.map((side, axis) => (reduced.has(axis) ? 1 : side)));
    const targets = stridedIndices(
      x.shape,
      strides.map((stride, axis) => (reduced.has(axis) ? 0 : stride)),
      0,
    );
    const source = numbersOf(x);
    const peaks = new Float64Array(sizeOf(plan.shape)).fill(-Infinity);
    for (let i = 0; i < source.length; i++) peaks[targets[i]!] = Math.max(peaks[targets[i]!]!, source[i]!);
    const sums = new Float64Array(peaks.length);
    const finite = (peak: number): number => (Number.isFinite(peak) ? peak : 0);
    for (let i = 0; i < source.length; i++) sums[targets[i]!]! += Math.exp(source[i]! - finite(peaks[targets[i]!]!));
    return [
      tensorFromNumbers(
        x.type,
        plan.shape,
        sums.map((sum, i) => Math.log(sum) + finite(peaks[i]!)),
      ),
    ];
  },
};

/** Of equal elements the first, or with select_last_index the last; NaN is never chosen over a number before it. */
function argExtreme(op: string, better: (value: number | bigint, best: number | bigint) => boolean): Operator {
  const plan = (application: Application): { axis: number; shape: readonly number[] } => {
    const { shape } = application.input(0);
    const axis = application.axis(application.number('axis', 0), shape.length);
    if (shape[axis] === 0) throw application.mismatch('has no element along its axis');
    const keep = application.number('keepdims', 1) !== 0;
    return {
      axis,
      shape: keep
        ? shape.map((side, index) => (index === axis ? 1 : side))
        : shape.filter((_, index) => index !== axis),
    };
  };
  return {
    op,
    sinceOpset: 7,
    infer: (application) => {
      const { type } = application.input(0);
      if (type === 'string' || type === 'bool') throw application.invalid(`compares elements of ${type}`);
      return [{ type: 'int64', shape: plan(application).shape }];
    },
    evaluate: (application) => {
      const x = application.tensor(0);
      const { axis, shape } = plan(application);
      const last = application.number('select_last_index', 0) !== 0;
      const source: ArrayLike<number | bigint> = is64BitInteger(x.type) ? (x.data as BigInt64Array) : numbersOf(x);
      const { outer, side, inner } = around(x.shape, axis);
      const data = new BigInt64Array(outer * inner);
      for (let o = 0; o < outer; o++) {
        for (let i = 0; i < inner; i++) {
          let at = 0;
          let best = source[o * side * inner + i]!;
          for (let s = 1; s < side; s++) {
            const value = source[(o * side + s) * inner + i]!;
            if (better(value, best) || (last && value === best)) {
              best = value;
              at = s;
            }
          }
          data[o * inner + i] = BigInt(at);
        }
      }
      return [{ type: 'int64', shape, data }];
    },
  };
}

export const REDUCTIONS: readonly Operator[] = [
  reduction('ReduceSum', 13, { start: zero, combine: add, big: { start: 0n, combine: (a, b) => a + b } }),
  reduction('ReduceMean', 18, {
    start: zero,
    combine: add,
    after: (sum, count, integer) => (integer ? Math.trunc(sum / count) : sum / count),
    big: { start: 0n, combine: (a, b) => a + b, after: (sum, count) => sum / BigInt(count) },
  }),
  reduction('ReduceMax', 18, {
    start: (type) => (type === 'bool' ? 0 : (INTEGER_LIMITS[type]?.[0] ?? -Infinity)),
    combine: Math.max,
    big: { start: null, combine: (a, b) => (a > b ? a : b) },
  }),
  reduction('ReduceMin', 18, {
    start: (type) => (type === 'bool' ? 1 : (INTEGER_LIMITS[type]?.[1] ?? Infinity)),
    combine: Math.min,
    big: { start: null, combine: (a, b) => (a < b ? a : b) },
  }),
  reduction('ReduceProd', 18, {
    start: () => 1,
    combine: (a, b) => a * b,
    integer: { combine: Math.imul },
    big: { start: 1n, combine: (a, b) => a * b },
  }),
  reduction('ReduceSumSquare', 18, {
    start: zero,
    before: (x) => x * x,
    combine: add,
    integer: { before: (x) => Math.imul(x, x), combine: add },
  }),
  reduction('ReduceL1', 18, { start: zero, before: Math.abs, combine: add }),
  reduction('ReduceL2', 18, { start: zero, before: (x) => x * x, combine: add, after: Math.sqrt }),
  reduction('ReduceLogSum', 18, { start: zero, combine: add, after: Math.log }),
  LOG_SUM_EXP,
  argExtreme('ArgMax', (value, best) => value > best),
  argExtreme('ArgMin', (value, best) => value < best),
];
