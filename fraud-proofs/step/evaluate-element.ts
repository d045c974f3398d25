/**
 * One element of one value of a model: the meaning of graph/integer/evaluate.ts, read backwards. Where that computes every
 * element from the inputs on, this asks for the one that is disputed and goes down until it stands on slots.
 *
 * Symbols. A value is known by its index (model-digest.ts), an element by its position in memory order with the item
 * outermost: element = item * size(shape) + position.
 *   1. `computeElement(v, e)` applies v's operator. Each operand element it needs it reads:
 *   2. `readElement(v, e)`: where v has a slot, the element that the slot holds, whatever its operator gives; else step 1.
 *   3. A contraction (matmul, matmulActivations, conv) of length K has terms 0 .. K-1 in committed order: k of the last
 *      axis; of a conv (kernel row, kernel column, channel of the group), where a tap in the padding gives 0. Where K is more
 *      than `maxContraction` its terms are not read: the sum is that of the parts which the executor stated for it.
 *   4. Each result is below 2^31 in magnitude, as validate.ts rule 2 proves of every right claim; and so is each partial sum.
 *      Where one is not, an operand or a stated part is none of a right claim, and the step cannot be computed.
 * Hence doubles are exact. A claim may hold operands out of their range, of up to 2^31: their products are below 2^63, and
 * a sum that passes 2^53 on its way is refused as soon as it does.
 */
import { requantQuotient } from '../../graph/integer/bounds.js';
import { ACCUMULATOR_LIMIT, type Window2d } from '../../graph/integer/types.js';
import { sizeOf, stridesOf } from '../../graph/tensor.js';
import { NO_SLOT, type DescriptorOf, type ValueDescriptor } from './descriptors.js';

/** What a step may look at. Each method throws where it is not there to be seen. */
export interface StepReader {
  /** Longest contraction whose terms are read. */
  readonly maxContraction: number;
  descriptor(value: number): ValueDescriptor;
  /** Element of a value that has a slot. */
  slotElement(value: number, element: number): number;
  /** Shape of constant `ordinal` of an operator, counted in the order of its fields. */
  constantShape(value: number, ordinal: number): readonly number[];
  constant(value: number, ordinal: number, position: number): number;
  /** What the executor stated for a contraction that is too long. */
  statedSums(value: number, element: number, parts: number): readonly bigint[];
}

/** The step cannot be computed: an operand lies where no right claim has it. */
export class StepUndetermined extends Error {}

type Contraction = DescriptorOf<'matmul' | 'matmulActivations' | 'conv'>;

export const isContraction = (d: ValueDescriptor): d is Contraction =>
  d.kind === 'matmul' || d.kind === 'matmulActivations' || d.kind === 'conv';

function indexAt(shape: readonly number[], position: number): number[] {
  const index = new Array<number>(shape.length);
  let rest = position;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index[axis] = rest % shape[axis]!;
    rest = Math.floor(rest / shape[axis]!);
  }
  return index;
}

const dot = (index: readonly number[], strides: readonly number[]): number =>
  index.reduce((sum, i, axis) => sum + i * strides[axis]!, 0);

/** Beyond this a double may be rounded. */
const EXACT = 2 ** 53;

function exact(sum: number): number {
  if (!(Math.abs(sum) < EXACT)) throw new StepUndetermined('a partial sum is larger than any of a right claim');
  return sum;
}

/** Where an element lies: its item, and its index in it. */
function locate({ shape }: ValueDescriptor, element: number): { item: number; position: number; index: number[] } {
  const size = sizeOf(shape);
  const position = element % size;
  return { item: Math.floor(element / size), position, index: indexAt(shape, position) };
}

/** Element of an operand by item and index. */
const elementAt = ({ shape }: ValueDescriptor, item: number, index: readonly number[]): number =>
  item * sizeOf(shape) + dot(index, stridesOf(shape));

/** Step 2. */
export function readElement(reader: StepReader, value: number, element: number): number {
  return reader.descriptor(value).slot === NO_SLOT
    ? computeElement(reader, value, element)
    : reader.slotElement(value, element);
}

/** A constant broadcast against an item shape, at an index of that. */
function broadcastAt(reader: StepReader, value: number, ordinal: number, index: readonly number[]): number {
  const shape = reader.constantShape(value, ordinal);
  const strides = stridesOf(shape);
  const offset = index.length - shape.length;
  const position = shape.reduce(
    (sum, side, axis) => sum + (side === 1 ? 0 : index[axis + offset]! * strides[axis]!),
    0,
  );
  return reader.constant(value, ordinal, position);
}

/** Taps of a window at (row, column) that lie inside an H x W plane: position in the plane, number of the tap. */
function* tapsOf(
  window: Window2d,
  [height, width]: readonly [number, number],
  [row, column]: readonly [number, number],
): Generator<{ y: number; x: number; tap: number }> {
  const [rows, columns] = window.kernel;
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) {
      const y = row * window.strides[0] + i * window.dilations[0] - window.pads[0];
      const x = column * window.strides[1] + j * window.dilations[1] - window.pads[1];
      if (y >= 0 && y < height && x >= 0 && x < width) yield { y, x, tap: i * columns + j };
    }
}

/** Number of terms of a contraction. */
export function contractionLength(reader: StepReader, d: Contraction): number {
  const x = reader.descriptor(d.operands[0]!).shape;
  if (d.kind !== 'conv') return x.at(-1)!;
  return d.window.kernel[0] * d.window.kernel[1] * (x[0]! / d.groups);
}

/** Sum of the terms first .. end - 1 of the contraction that gives `element`; without bias. */
export function sumOfTerms(reader: StepReader, value: number, element: number, first: number, end: number): number {
  const d = reader.descriptor(value) as Contraction;
  const { item, index } = locate(d, element);
  const length = contractionLength(reader, d);
  const x = reader.descriptor(d.operands[0]!);
  let sum = 0;
  if (d.kind === 'conv') {
    const [o, row, column] = index as [number, number, number];
    const [C, H, W] = x.shape as [number, number, number];
    const perGroup = C / d.groups;
    const channel = Math.floor(o / (d.shape[0]! / d.groups)) * perGroup;
    for (const { y, x: xAt, tap } of tapsOf(d.window, [H, W], [row, column])) {
      const start = tap * perGroup;
      const at = elementAt(x, item, [channel, y, xAt]);
      for (let k = Math.max(first, start); k < Math.min(end, start + perGroup); k++)
        sum = exact(
          sum +
            readElement(reader, d.operands[0]!, at + (k - start) * H * W) * reader.constant(value, 0, o * length + k),
        );
    }
    return sum;
  }
  const row = elementAt(x, item, [...index.slice(0, -1), 0]);
  const n = index.at(-1)!;
  if (d.kind === 'matmul') {
    for (let k = first; k < end; k++)
      sum = exact(sum + readElement(reader, d.operands[0]!, row + k) * reader.constant(value, 0, n * length + k));
    return sum;
  }
  const b = reader.descriptor(d.operands[1]!);
  const other = elementAt(b, item, [...index.slice(0, -2), n, 0]);
  for (let k = first; k < end; k++)
    sum = exact(sum + readElement(reader, d.operands[0]!, row + k) * readElement(reader, d.operands[1]!, other + k));
  return sum;
}

function contract(reader: StepReader, value: number, d: Contraction, element: number): number {
  const length = contractionLength(reader, d);
  const channel =
    d.kind === 'matmulActivations' ? 0 : locate(d, element).index[d.kind === 'conv' ? 0 : d.shape.length - 1]!;
  const bias = (d.constants[1] ?? null) === null ? 0 : reader.constant(value, 1, channel);
  if (length <= reader.maxContraction) return bias + sumOfTerms(reader, value, element, 0, length);
  const parts = reader.statedSums(value, element, Math.ceil(length / reader.maxContraction));
  return bias + Number(parts.reduce((sum, part) => sum + part, 0n));
}

/** Operand and element that an operator which only moves elements shows at `element`; or the constant that it puts there. */
function movedFrom(
  reader: StepReader,
  d: DescriptorOf<'reshape' | 'transpose' | 'concat' | 'slice' | 'pad' | 'expand'>,
  element: number,
): { readonly value: number; readonly element: number } | { readonly constant: number } {
  const { item, index } = locate(d, element);
  const value = d.operands[0]!;
  switch (d.kind) {
    case 'reshape':
      return { value, element };
    case 'transpose': {
      const source = new Array<number>(index.length);
      d.permutation.forEach((axis, i) => (source[axis] = index[i]!));
      return { value, element: elementAt(reader.descriptor(value), item, source) };
    }
    case 'slice': {
      const source = index.map((i, axis) => d.starts[axis]! + i * d.steps[axis]!);
      return { value, element: elementAt(reader.descriptor(value), item, source) };
    }
    case 'expand': {
      const x = reader.descriptor(value);
      const source = index.map((i, axis) => (x.shape[axis] === 1 ? 0 : i));
      return { value, element: elementAt(x, item, source) };
    }
    case 'pad': {
      const x = reader.descriptor(value);
      const source = index.map((i, axis) => i - d.before[axis]!);
      if (source.some((i, axis) => i < 0 || i >= x.shape[axis]!)) return { constant: d.value };
      return { value, element: elementAt(x, item, source) };
    }
    case 'concat': {
      const source = [...index];
      for (const operand of d.operands) {
        const x = reader.descriptor(operand);
        if (source[d.axis]! < x.shape[d.axis]!) return { value: operand, element: elementAt(x, item, source) };
        source[d.axis]! -= x.shape[d.axis]!;
      }
      throw new StepUndetermined('a concat has fewer elements than its operands');
    }
  }
}

/** Elements of an operand that meet in one element of a pooling or reduction. */
function* gathered(
  reader: StepReader,
  d: DescriptorOf<'sumPool' | 'maxPool' | 'reduceSum' | 'reduceMax'>,
  element: number,
): Generator<number> {
  const { item, index } = locate(d, element);
  const x = reader.descriptor(d.operands[0]!);
  if (d.kind === 'sumPool' || d.kind === 'maxPool') {
    const [c, row, column] = index as [number, number, number];
    for (const tap of tapsOf(d.window, [x.shape[1]!, x.shape[2]!], [row, column]))
      yield elementAt(x, item, [c, tap.y, tap.x]);
    return;
  }
  const sides = d.axes.map((axis) => x.shape[axis]!);
  for (let i = 0; i < sizeOf(sides); i++) {
    const source = [...index];
    indexAt(sides, i).forEach((at, n) => (source[d.axes[n]!] = at));
    yield elementAt(x, item, source);
  }
}

/** Elements of argMax's operand at two indices along its axis, for the output element. */
export function argMaxCandidates(
  reader: StepReader,
  d: DescriptorOf<'argMax'>,
  element: number,
  along: readonly number[],
): number[] {
  const { item, index } = locate(d, element);
  const x = reader.descriptor(d.operands[0]!);
  return along.map((i) =>
    readElement(
      reader,
      d.operands[0]!,
      elementAt(
        x,
        item,
        index.map((at, axis) => (axis === d.axis ? i : at)),
      ),
    ),
  );
}

/** Step 1. @throws StepUndetermined where a number is none that a right claim gives (step 4), or lies outside a table. */
export function computeElement(reader: StepReader, value: number, element: number): number {
  const result = apply(reader, value, element);
  if (!(Math.abs(result) < ACCUMULATOR_LIMIT)) throw new StepUndetermined(`value ${value} is ${result}`);
  return result;
}

function apply(reader: StepReader, value: number, element: number): number {
  const d = reader.descriptor(value);
  const operand = (i: number, at: number): number => readElement(reader, d.operands[i]!, at);
  switch (d.kind) {
    case 'input':
      throw new StepUndetermined('an input has no operator');
    case 'matmul':
    case 'matmulActivations':
    case 'conv':
      return contract(reader, value, d, element);
    case 'combine': {
      const bias = d.constants[0] === null ? 0 : broadcastAt(reader, value, 0, locate(d, element).index);
      return d.operands.reduce((sum, _, i) => exact(sum + d.coefficients[i]! * operand(i, element)), bias);
    }
    case 'scale': {
      const { index } = locate(d, element);
      const bias = d.constants[1] === null ? 0 : broadcastAt(reader, value, 1, index);
      return operand(0, element) * broadcastAt(reader, value, 0, index) + bias;
    }
    case 'mul':
      return operand(0, element) * operand(1, element);
    case 'sumPool':
    case 'reduceSum': {
      let sum = 0;
      for (const at of gathered(reader, d, element)) sum += operand(0, at);
      return sum;
    }
    case 'maxPool':
    case 'reduceMax': {
      let most = -Infinity;
      for (const at of gathered(reader, d, element)) most = Math.max(most, operand(0, at));
      return most;
    }
    case 'argMax': {
      const side = reader.descriptor(d.operands[0]!).shape[d.axis]!;
      const candidates = argMaxCandidates(reader, d, element, [...Array(side).keys()]);
      return candidates.reduce((best, v, i) => (v > candidates[best]! ? i : best), 0);
    }
    case 'requant': {
      const channel = d.channelAxis === null ? 0 : locate(d, element).index[d.channelAxis]!;
      const q = requantQuotient(operand(0, element), reader.constant(value, 0, channel));
      if (!(q >= d.qLo && q <= d.qHi)) throw new StepUndetermined(`the quotient ${q} lies outside its table`);
      return d.clamp === null ? reader.constant(value, 1, q - d.qLo) : Math.min(Math.max(q, d.clamp.lo), d.clamp.hi);
    }
    default: {
      const source = movedFrom(reader, d, element);
      return 'constant' in source ? source.constant : readElement(reader, source.value, source.element);
    }
  }
}

/**
 * The contractions of more than `maxContraction` terms that `element` of a slot's value rests on, each by value and element.
 * Only requant, combine and what moves elements read an accumulator (validate.ts rule 5), so that nothing else is gone
 * through, and no element of a slot is read.
 */
export function longContractions(
  reader: StepReader,
  value: number,
  element: number,
): { readonly value: number; readonly element: number; readonly length: number }[] {
  const visit = (v: number, e: number, top: boolean): { value: number; element: number; length: number }[] => {
    const d = reader.descriptor(v);
    if (!top && d.slot !== NO_SLOT) return [];
    if (isContraction(d)) {
      const length = contractionLength(reader, d);
      return length > reader.maxContraction ? [{ value: v, element: e, length }] : [];
    }
    switch (d.kind) {
      case 'requant':
        return visit(d.operands[0]!, e, false);
      case 'combine':
        return d.operands.flatMap((operand) => visit(operand, e, false));
      case 'reshape':
      case 'transpose':
      case 'concat':
      case 'slice':
      case 'pad':
      case 'expand': {
        const source = movedFrom(reader, d, e);
        return 'constant' in source ? [] : visit(source.value, source.element, false);
      }
      default:
        return [];
    }
  };
  return visit(value, element, true);
}
