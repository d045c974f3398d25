/**
 * Proved bounds: interval arithmetic over the integer graph, per channel, with the real weights.
 *
 * Statement. For a tensor T with bounds (axis a, lo[c], hi[c]) every element whose index along a is c lies in
 * lo[c]..hi[c], whatever the graph's inputs are within their ranges; axis null means one interval for all.
 *
 * Symbols. w weight, b bias, [l, h] the operand's interval (per channel where the contraction keeps it).
 *   1. A sum of products has lo = b + sum(w > 0 ? w*l : w*h) and hi = b + sum(w > 0 ? w*h : w*l). Both are attained
 *      when operand elements are independent.
 *   2. Where the window may touch padding, whose value is 0, the operand's interval is widened to hold 0.
 *   3. magnitude = |b| + sum(|w| * max(|l|, |h|)) bounds every partial sum in any order, so that
 *      magnitude < 2^24 makes float32 exact with or without fused multiply-add, and magnitude < 2^31, which every node
 *      must have (validate.ts rule 2), makes int32 and float64 exact.
 *   4. A requantisation has q in floor((l*M + 2^23) / 2^24) .. floor((h*M + 2^23) / 2^24) per channel, since the
 *      map is monotone; its output bounds are those of its table.
 *   5. Stored tensors (inputs, requant, max, argMax) are bounded by their declared range alone, uniformly: no
 *      induction over depth is needed by a prover.
 * Doubles suffice. magnitude is a sum of terms >= 0: where it passes 2^53 it may be rounded, but never back below 2^31,
 * and the node is refused; where it is below 2^31, so is every intermediate of lo, hi and magnitude, and all are exact.
 */
import { stridesOf } from '../tensor.js';
import { graphError, type NewNode } from './shapes.js';
import { REQUANT_SHIFT } from './types.js';
import type { BroadcastConstant, IntRange, IntegerNode, Window2d } from './types.js';

export interface ChannelRanges {
  /** The item axis along which the bounds differ; null: one bound for all elements. */
  readonly axis: number | null;
  /** One per index along `axis`, or a single one. */
  readonly lo: Float64Array;
  readonly hi: Float64Array;
  /**
   * Bound of |partial sum| in any order, also of the sums inside the operands of combine, pooling sums and wiring;
   * max(|lo|, |hi|) where nothing is summed.
   */
  readonly magnitude: Float64Array;
}

const STEP = 2 ** REQUANT_SHIFT;

/** Wiring onto longer axes than this keeps one bound for all elements, so that a small file can't ask for much work. */
const TRACKED_CHANNELS = 2 ** 16;

/** floor((value * multiplier + 2^23) / 2^24), exact while |value * multiplier + 2^23| < 2^52. */
export function requantQuotient(value: number, multiplier: number): number {
  return Math.floor((value * multiplier + STEP / 2) / STEP);
}

export function uniformRanges({ lo, hi }: IntRange): ChannelRanges {
  return ranges(null, [lo], [hi]);
}

/** The smallest interval that holds all channels. */
export function hull(bounds: ChannelRanges): IntRange {
  let lo = Infinity;
  let hi = -Infinity;
  for (const v of bounds.lo) if (v < lo) lo = v;
  for (const v of bounds.hi) if (v > hi) hi = v;
  // Adding 0 turns -0 into 0: bounds are compared and serialised.
  return { lo: lo + 0, hi: hi + 0 };
}

/** Bounds of elements of which none is a sum. */
function ranges(axis: number | null, lo: ArrayLike<number>, hi: ArrayLike<number>): ChannelRanges {
  const low = Float64Array.from(lo);
  const high = Float64Array.from(hi);
  const magnitude = low.map((v, i) => Math.max(Math.abs(v), Math.abs(high[i]!)));
  return { axis, lo: low, hi: high, magnitude };
}

/** An interval with the bound of every partial sum behind it. */
interface Interval extends IntRange {
  readonly magnitude: number;
}

/** An interval of which nothing was summed. */
const interval = (lo: number, hi: number): Interval => ({ lo, hi, magnitude: Math.max(Math.abs(lo), Math.abs(hi)) });

/** A loop, since a concat may have more operands than a call can have arguments. */
function hullOf(all: readonly Interval[]): Interval {
  const joined = { lo: Infinity, hi: -Infinity, magnitude: 0 };
  for (const { lo, hi, magnitude } of all) {
    joined.lo = Math.min(joined.lo, lo);
    joined.hi = Math.max(joined.hi, hi);
    joined.magnitude = Math.max(joined.magnitude, magnitude);
  }
  return joined;
}

/** Bounds by index along one axis: per channel if they are kept for that axis, else the hull everywhere. */
function along(bounds: ChannelRanges, axis: number | null): (index: number) => Interval {
  const { lo, hi, magnitude } = bounds;
  if (axis !== null && bounds.axis === axis)
    return (index) => ({ lo: lo[index]!, hi: hi[index]!, magnitude: magnitude[index]! });
  const all = { ...hull(bounds), magnitude: magnitude.reduce((most, v) => Math.max(most, v), 0) };
  return () => all;
}

const isPadded = (window: Window2d): boolean => window.pads.some((pad) => pad > 0);

/** With the padding value 0 among the elements. */
const orZero = (range: Interval): Interval => ({ ...range, lo: Math.min(range.lo, 0), hi: Math.max(range.hi, 0) });

/** The interval of x * y. */
function product(x: IntRange, y: IntRange): IntRange {
  const corners = [x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi];
  return { lo: Math.min(...corners), hi: Math.max(...corners) };
}

const largest = ({ lo, hi }: IntRange): number => Math.max(Math.abs(lo), Math.abs(hi));

/** Bounds of a broadcast constant against a shape: exact along its only axis with more than one element, else its hull. */
function constantRanges(constant: BroadcastConstant, shape: readonly number[]): ChannelRanges {
  const offset = shape.length - constant.shape.length;
  const wide = constant.shape.flatMap((side, axis) => (side > 1 ? [axis + offset] : []));
  if (wide.length === 1) return ranges(wide[0]!, constant.data, constant.data);
  let lo = Infinity;
  let hi = -Infinity;
  for (const v of constant.data) {
    lo = Math.min(lo, v);
    hi = Math.max(hi, v);
  }
  return ranges(null, [lo], [hi]);
}

/** The axis to keep when several bounds meet elementwise: theirs if they agree, else none. */
function commonAxis(all: readonly ChannelRanges[]): number | null {
  const axes = new Set(all.flatMap(({ axis }) => (axis === null ? [] : [axis])));
  return axes.size === 1 ? [...axes][0]! : null;
}

/** Builds bounds channel by channel. */
function perChannel(axis: number | null, count: number, at: (channel: number) => Interval): ChannelRanges {
  const channels = Array.from({ length: axis === null ? 1 : count }, (_, c) => at(c));
  return {
    axis,
    lo: Float64Array.from(channels, ({ lo }) => lo),
    hi: Float64Array.from(channels, ({ hi }) => hi),
    magnitude: Float64Array.from(channels, ({ magnitude }) => magnitude),
  };
}

/** `count` groups of `taps` weights each; weight t of channel c meets operand(c, t). */
function sumOfProducts(
  axis: number,
  channels: number,
  weight: Int8Array | Int16Array,
  bias: Int32Array | null,
  operand: (channel: number, tap: number) => Interval,
): ChannelRanges {
  const taps = weight.length / channels;
  return perChannel(axis, channels, (channel) => {
    const b = bias ? bias[channel]! : 0;
    let lo = b;
    let hi = b;
    let magnitude = Math.abs(b);
    for (let tap = 0; tap < taps; tap++) {
      const w = weight[channel * taps + tap]!;
      if (w === 0) continue;
      const x = operand(channel, tap);
      lo += w > 0 ? w * x.lo : w * x.hi;
      hi += w > 0 ? w * x.hi : w * x.lo;
      magnitude += Math.abs(w) * largest(x);
    }
    return { lo, hi, magnitude };
  });
}

/**
 * Bounds of a node's output before anything is declared: what `TensorInfo.range` must contain.
 * @param operands bounds of the operands by position, as `operandsOf` lists them.
 */
export function proveRanges(
  node: NewNode,
  shapeOf: (id: number) => readonly number[],
  outShape: readonly number[],
  operands: readonly ChannelRanges[],
): ChannelRanges {
  const x = operands[0]!;
  switch (node.kind) {
    case 'matmul': {
      const at = along(x, shapeOf(node.x).length - 1);
      return sumOfProducts(outShape.length - 1, node.outFeatures, node.weight, node.bias, (_, tap) => at(tap));
    }
    case 'conv': {
      const channels = along(x, 0);
      const perGroup = shapeOf(node.x)[0]! / node.groups;
      const outPerGroup = node.outChannels / node.groups;
      const at = Array.from({ length: perGroup * node.groups }, (_, c) =>
        isPadded(node.window) ? orZero(channels(c)) : channels(c),
      );
      return sumOfProducts(0, node.outChannels, node.weight, node.bias, (channel, tap) => {
        return at[Math.floor(channel / outPerGroup) * perGroup + (tap % perGroup)]!;
      });
    }
    case 'matmulActivations': {
      const k = shapeOf(node.a).at(-1)!;
      const { lo, hi } = product(hull(x), hull(operands[1]!));
      return ranges(null, [k * lo], [k * hi]);
    }
    case 'mul': {
      const axis = commonAxis(operands);
      const [a, b] = operands.map((operand) => along(operand, axis)) as [
        ReturnType<typeof along>,
        ReturnType<typeof along>,
      ];
      return perChannel(axis, outShape[axis ?? 0] ?? 1, (c) => {
        const { lo, hi } = product(a(c), b(c));
        // A square is never negative.
        return node.a === node.b ? interval(smallestSquare(a(c)), hi) : interval(lo, hi);
      });
    }
    case 'combine':
    case 'scale': {
      const factors =
        node.kind === 'combine'
          ? node.terms.map(({ coefficient }) => ranges(null, [coefficient], [coefficient]))
          : [constantRanges(node.factor, outShape)];
      const bias = node.bias ? constantRanges(node.bias, outShape) : ranges(null, [0], [0]);
      const axis = commonAxis([...operands, ...factors, bias]);
      const biasAt = along(bias, axis);
      const terms = operands.map((operand, i) => ({
        operandAt: along(operand, axis),
        factorAt: along(factors[i]!, axis),
      }));
      return perChannel(axis, outShape[axis ?? 0] ?? 1, (c) => {
        const sum = { ...biasAt(c) };
        for (const { operandAt, factorAt } of terms) {
          const term = product(operandAt(c), factorAt(c));
          sum.lo += term.lo;
          sum.hi += term.hi;
          // The operand's own partial sums count: a runtime may fuse the factor into the product that makes it.
          sum.magnitude += operandAt(c).magnitude * factorAt(c).magnitude;
        }
        return sum;
      });
    }
    case 'sumPool': {
      const taps = node.window.kernel[0] * node.window.kernel[1];
      const axis = x.axis === 0 ? 0 : null;
      const at = along(x, axis);
      return perChannel(axis, outShape[0]!, (c) => {
        const { lo, hi, magnitude } = isPadded(node.window) ? orZero(at(c)) : at(c);
        return { lo: taps * lo, hi: taps * hi, magnitude: taps * magnitude };
      });
    }
    case 'reduceSum': {
      const shape = shapeOf(node.x);
      const count = node.axes.reduce((total, axis) => total * shape[axis]!, 1);
      const reduced = x.axis !== null && node.axes.includes(x.axis);
      const each = reduced ? count / shape[x.axis!]! : count;
      const sums = (values: Float64Array): Float64Array =>
        reduced ? Float64Array.of(each * values.reduce((sum, v) => sum + v, 0)) : values.map((v) => each * v);
      return { axis: reduced ? null : x.axis, lo: sums(x.lo), hi: sums(x.hi), magnitude: sums(x.magnitude) };
    }
    case 'requant': {
      const { lo, hi } = tableRange(node.table);
      return ranges(null, [lo], [hi]);
    }
    case 'maxPool':
    case 'reduceMax':
      // Stored: uniform (step 5).
      return uniformRanges(hull(x));
    case 'argMax':
      return ranges(null, [0], [shapeOf(node.x)[node.axis]! - 1]);
    default:
      return wiringRanges(node, shapeOf, outShape, operands);
  }
}

function smallestSquare({ lo, hi }: IntRange): number {
  if (lo <= 0 && hi >= 0) return 0;
  return Math.min(lo * lo, hi * hi);
}

function wiringRanges(
  node: Extract<NewNode, { kind: 'reshape' | 'transpose' | 'concat' | 'slice' | 'pad' | 'expand' }>,
  shapeOf: (id: number) => readonly number[],
  outShape: readonly number[],
  operands: readonly ChannelRanges[],
): ChannelRanges {
  const x = operands[0]!;
  if (outShape.some((side) => side > TRACKED_CHANNELS)) {
    const all = operands.map((operand) => along(operand, null)(0));
    return perChannel(null, 1, () => hullOf(node.kind === 'pad' ? [...all, interval(node.value, node.value)] : all));
  }
  if (node.kind === 'concat') {
    const shared = commonAxis(operands);
    if (shared !== null && shared !== node.axis) {
      const all = operands.map((operand) => along(operand, shared));
      return perChannel(shared, outShape[shared]!, (c) => hullOf(all.map((at) => at(c))));
    }
    const pieces = node.xs.flatMap((id, i) => {
      const at = along(operands[i]!, node.axis);
      return Array.from({ length: shapeOf(id)[node.axis]! }, (_, c) => at(c));
    });
    return perChannel(node.axis, pieces.length, (c) => pieces[c]!);
  }
  const axis = x.axis;
  const source = along(x, axis);
  if (node.kind === 'pad') {
    const value = interval(node.value, node.value);
    const padsAxis = (a: number): boolean => node.before[a]! + node.after[a]! > 0;
    const elsewhere = outShape.some((_, a) => a !== axis && padsAxis(a));
    return perChannel(axis, outShape[axis ?? 0] ?? 1, (c) => {
      const index = axis === null ? 0 : c - node.before[axis]!;
      if (axis !== null && (index < 0 || index >= shapeOf(node.x)[axis]!)) return value;
      return elsewhere ? hullOf([source(index), value]) : source(index);
    });
  }
  if (axis === null) return x;
  switch (node.kind) {
    case 'transpose': {
      const moved = node.permutation.indexOf(axis);
      return perChannel(moved, outShape[moved]!, source);
    }
    case 'slice':
      return perChannel(axis, outShape[axis]!, (c) => source(node.starts[axis]! + c * node.steps[axis]!));
    case 'expand':
      return perChannel(axis, outShape[axis]!, (c) => source(shapeOf(node.x)[axis] === 1 ? 0 : c));
    case 'reshape': {
      // Row-major position p has source channel floor(p / inner) mod side. An output axis that covers those digits
      // of p altogether still tells the channel.
      const shape = shapeOf(node.x);
      const inner = stridesOf(shape)[axis]!;
      const side = shape[axis]!;
      const strides = stridesOf(outShape);
      const covering = outShape.findIndex(
        (outSide, o) => inner % strides[o]! === 0 && (outSide * strides[o]!) % (inner * side) === 0,
      );
      if (covering < 0) return perChannel(null, 1, along(x, null));
      const step = inner / strides[covering]!;
      return perChannel(covering, outShape[covering]!, (c) => source(Math.floor(c / step) % side));
    }
  }
}

/** Smallest interval of a table's outputs over its whole domain. */
export function tableRange(table: Extract<IntegerNode, { kind: 'requant' }>['table']): IntRange {
  if (table.kind === 'clamp') {
    const clamp = (q: number): number => Math.min(Math.max(q, table.lo), table.hi);
    return { lo: clamp(table.qLo), hi: clamp(table.qHi) };
  }
  let lo = Infinity;
  let hi = -Infinity;
  for (const v of table.values) {
    if (v < lo) lo = v;
    if (v > hi) hi = v;
  }
  return { lo, hi };
}

/**
 * Proved range of q of a requantisation of a tensor with the given bounds: what its table must cover, exactly.
 * @param multipliers one per index along `channelAxis`, or a single one where it is null.
 * @throws AssayError GRAPH_INVALID where |x * M + 2^23| may reach 2^52, beyond which q is not exact in float64.
 */
export function quotientRange(
  bounds: ChannelRanges,
  multipliers: Int32Array,
  channelAxis: number | null,
  node: NewNode | null = null,
): IntRange {
  let lo = Infinity;
  let hi = -Infinity;
  const consider = (range: IntRange, multiplier: number, channel: number): void => {
    const largestSum = Math.max(Math.abs(range.lo * multiplier + STEP / 2), Math.abs(range.hi * multiplier + STEP / 2));
    if (largestSum >= 2 ** 52)
      throw graphError(
        node,
        `channel ${channel}: |x * M + 2^23| may reach ${largestSum} with x in ${range.lo}..${range.hi} and M = ${multiplier}; it must stay below 2^52`,
        { channel },
      );
    lo = Math.min(lo, requantQuotient(range.lo, multiplier));
    hi = Math.max(hi, requantQuotient(range.hi, multiplier));
  };
  if (channelAxis === null)
    bounds.lo.forEach((_, c) => consider({ lo: bounds.lo[c]!, hi: bounds.hi[c]! }, multipliers[0]!, c));
  else {
    const at = along(bounds, channelAxis);
    multipliers.forEach((multiplier, c) => consider(at(c), multiplier, c));
  }
  return { lo: lo + 0, hi: hi + 0 };
}
