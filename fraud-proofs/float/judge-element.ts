/**
 * The step of one element, as FloatStep.sol takes it: the slow reference of `screenFloatTrace`, and the last word off
 * chain.
 */
import { AssayError } from '../../common/errors.js';
import { bitsOf } from './commit-tensor.js';
import { elementReads, roundingsOf, type ElementReads, type Place } from './element-reads.js';
import { allows, isNan, isSmall, magnitudeBits, ONE, SIGN, type SumCase } from './sum.js';
import type { FloatGraph } from './types.js';

/**
 * Can an honest machine have got this element from the operands in the trace?
 * @param slots one array per value, memory order, item outermost.
 * @param element of the value; the value is no input.
 */
export function isElementAllowed(
  graph: FloatGraph,
  slots: readonly Float32Array[],
  value: number,
  element: number,
): boolean {
  const y = bitsOf(slots[value]!)[element]!;
  const reads = elementReads(graph, value, element);
  const sum = sumOf(reads, slots);
  return sum === null ? isChoiceAllowed(reads, slots, y) : allows(sum, y);
}

/** The sum that an element is; null where it is a choice or a copy. */
export function sumOf(reads: ElementReads, slots: readonly Float32Array[]): SumCase | null {
  const roundings = roundingsOf(reads);
  switch (reads.rule) {
    case 'contraction': {
      const bits = bitsOf(slots[reads.x]!);
      const x = Array.from(reads.at, (index) => (index < 0 ? 0 : bits[index]!));
      const w = Array.from(bitsOf(reads.weight.data).subarray(reads.first, reads.first + x.length));
      if (reads.bias !== null) {
        x.push(bitsOf(reads.bias.data)[reads.channel]!);
        w.push(ONE);
      }
      return { x: Uint32Array.from(x), w: Uint32Array.from(w), roundings, divisor: 1, single: false };
    }
    case 'mean': {
      const bits = bitsOf(slots[reads.x]!);
      const x = Uint32Array.from(reads.at, (index) => bits[index]!);
      return { x, w: new Uint32Array(x.length).fill(ONE), roundings, divisor: reads.divisor, single: false };
    }
    case 'add':
    case 'sub': {
      const x = Uint32Array.of(bitsAt(reads.a, slots), bitsAt(reads.b, slots));
      const w = Uint32Array.of(ONE, reads.rule === 'sub' ? ONE + SIGN : ONE);
      return { x, w, roundings, divisor: 1, single: true };
    }
    case 'mul': {
      const x = Uint32Array.of(bitsAt(reads.a, slots));
      const w = Uint32Array.of(bitsAt(reads.b, slots));
      return { x, w, roundings, divisor: 1, single: false };
    }
    default:
      return null;
  }
}

const bitsAt = (place: Place, slots: readonly Float32Array[]): number =>
  bitsOf('value' in place ? slots[place.value]! : place.constant.data)[place.index]!;

/** relu, maxPool, reshape: the rules of FloatStep.sol. */
export function isChoiceAllowed(reads: ElementReads, slots: readonly Float32Array[], y: number): boolean {
  const zero = magnitudeBits(y) === 0;
  if (reads.rule === 'max') {
    const bits = bitsOf(slots[reads.x]!);
    const taps = Array.from(reads.at, (index) => bits[index]!);
    if (taps.some(isNan)) return true;
    // The bits of positive numbers rise with them, those of negative ones fall.
    const rank = (tap: number): number => (tap < SIGN ? tap : SIGN - tap);
    const most = taps.reduce((best, tap) => (rank(tap) > rank(best) ? tap : best));
    return isSmall(most) ? zero || taps.some((tap) => isSmall(tap) && tap === y) : most === y;
  }
  if (reads.rule !== 'relu' && reads.rule !== 'copy') throw new AssayError('INTERNAL', `${reads.rule} is no choice`);
  const x = bitsOf(slots[reads.x]!)[reads.index]!;
  if (reads.rule === 'copy') return y === x || (isNan(y) && isNan(x));
  if (isNan(x)) return true;
  if (x >= SIGN || x === 0) return zero;
  return y === x || (zero && isSmall(x));
}
