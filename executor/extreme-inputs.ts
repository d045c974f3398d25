/** Inputs at the ends of a graph's input ranges, where an inexact engine is most likely to show itself. */
import { sizeOf } from '../graph/index.js';
import type { IntegerGraph } from '../graph/index.js';

/** Element `index` of an input of range lo..hi. */
export type Pattern = (index: number, lo: number, hi: number) => number;

/** One pattern per item of a batch. */
export const PATTERNS: readonly Pattern[] = [
  (_, __, hi) => hi,
  (_, lo) => lo,
  (index, lo, hi) => (index % 2 === 0 ? hi : lo),
  (index, lo, hi) => lo + (scramble(index) % (hi - lo + 1)),
];

/** One array per graph input, of patterns.length items. */
export function extremeInputs(graph: IntegerGraph, patterns: readonly Pattern[]): Int32Array[] {
  return graph.inputs.map((id) => {
    const { shape, range } = graph.tensors[id]!;
    const size = sizeOf(shape);
    return Int32Array.from({ length: size * patterns.length }, (_, index) =>
      patterns[Math.floor(index / size)]!(index % size, range.lo, range.hi),
    );
  });
}

/** A fixed scattering of the natural numbers over 0 .. 2^31 - 1 (Knuth's multiplicative hash, twice). */
export function scramble(index: number): number {
  const once = Math.imul(index + 1, 2654435761) >>> 0;
  return Math.imul(once ^ (once >>> 15), 2246822519) >>> 1;
}

/** Elements of `expected` that `found` has otherwise or not at all. */
export function countDiffering(expected: readonly Int32Array[], found: readonly Int32Array[]): number {
  let differing = 0;
  expected.forEach((slot, index) => {
    for (let element = 0; element < slot.length; element++) {
      if (found[index]?.[element] !== slot[element]) differing++;
    }
  });
  return differing;
}
