/**
 * Public inputs as packed words. A word holds the cells of 2^k consecutive positions of the input's slot (padding as 0),
 * word = sum_i base^(2^k - 1 - i) (x_i - lo), base 2^8 or 2^16, below 2^128: cells lie in a word as bytes lie in memory.
 * k is smaller where an item has fewer cells. A word never spans two items. Words without a valid cell are neither
 * published nor absorbed.
 *
 * The claim of a proof is sum_e eq(r_e, e) w_e = <A, x - lo> with the weight
 *   A(cell) = eq(r_e, word of the cell) base^(2^k - 1 - place in the word), zero on padding,
 * a product over the slot's bits: masked per axis, else a free padding cell could complete any other word.
 */
import { FR, type Field } from '../field/field.js';
import { bitsOf, bitsOfAxes, cellsOfItem } from '../program/layout.js';
import type { InputSlot, Program } from '../program/types.js';
import { sizeOf } from '../../graph/tensor.js';
import { functionalsOver, type AxisWeight, type Factor } from './functional.js';

const WORD_BITS = 128;

/** log2 of the cells in one word of an input. */
export function wordBits(program: Program, input: InputSlot): number {
  return Math.min(bitsOf(WORD_BITS / input.cellBits), bitsOfAxes(program.witness[input.slot]!.axes));
}

/** The published words of one item, by ascending word index: [index within the item, word]. */
export function wordsOfItem(program: Program, input: InputSlot, item: ArrayLike<number>): [number, bigint][] {
  const { axes } = program.witness[input.slot]!;
  const { lo } = program.tables[input.table] as { lo: number };
  const perWord = 2 ** wordBits(program, input);
  const words = new Map<number, bigint>();
  cellsOfItem(axes).forEach((cell, i) => {
    const word = Math.floor(cell / perWord);
    const shift = BigInt((perWord - 1 - (cell % perWord)) * input.cellBits);
    words.set(word, (words.get(word) ?? 0n) | (BigInt(item[i]! - lo) << shift));
  });
  return [...words].sort(([a], [b]) => a - b);
}

/** Bits of the word index over a whole batch: how many coordinates of r_e an input uses, the last ones. */
export function wordIndexBits(program: Program, input: InputSlot, batchBits: number): number {
  return batchBits + bitsOfAxes(program.witness[input.slot]!.axes) - wordBits(program, input);
}

/** Input values of a batch, cut into items and packed. */
export function packInput(
  program: Program,
  input: InputSlot,
  items: number,
  values: ArrayLike<number>,
): [number, bigint][][] {
  const size = sizeOf(program.witness[input.slot]!.axes);
  return Array.from({ length: items }, (_, b) =>
    wordsOfItem(
      program,
      input,
      Array.from({ length: size }, (_, i) => values[b * size + i]!),
    ),
  );
}

/** The formulas over a field. */
export function inputsOver<E>(field: Field<E>) {
  const { zero, one, of, add, mul } = field;
  const { denseWeights, eqWeight } = functionalsOver(field);

  /** The weight A over the input's slot. */
  function packedWeights(
    program: Program,
    input: InputSlot,
    batchBits: number,
    wordPoint: readonly E[],
  ): { batch: AxisWeight<E>; factors: Factor<E>[] } {
    const { axes } = program.witness[input.slot]!;
    const indexBits = wordIndexBits(program, input, batchBits);
    const total = batchBits + bitsOfAxes(axes);
    const word = eqWeight(wordPoint.slice(wordPoint.length - indexBits)) as Extract<AxisWeight<E>, { kind: 'bits' }>;
    const bit = (position: number): { zero: E; one: E } =>
      position < indexBits
        ? { zero: word.zero[position]!, one: word.one[position]! }
        : { zero: of(1n << BigInt(input.cellBits * 2 ** (total - 1 - position))), one };
    let at = 0;
    const take = (count: number): AxisWeight<E> => {
      const bits = Array.from({ length: count }, () => bit(at++));
      return { kind: 'bits', zero: bits.map(({ zero }) => zero), one: bits.map(({ one }) => one) };
    };
    const batch = take(batchBits);
    const factors = axes.flatMap((side, axis): Factor<E>[] =>
      side === 1 ? [] : [{ axes: [axis], sides: [side], weight: take(bitsOf(side)) }],
    );
    return { batch, factors };
  }

  /** sum_e eq(r_e, e) w_e over the words of all items. */
  function evaluateWords(
    program: Program,
    input: InputSlot,
    batchBits: number,
    items: readonly (readonly [number, E][])[],
    wordPoint: readonly E[],
  ): E {
    const indexBits = wordIndexBits(program, input, batchBits);
    const eq = denseWeights(eqWeight(wordPoint.slice(wordPoint.length - indexBits)), 2 ** indexBits);
    const perItem = 2 ** (indexBits - batchBits);
    return items.reduce(
      (sum, words, item) => words.reduce((s, [index, word]) => add(s, mul(eq[item * perItem + index]!, word)), sum),
      zero,
    );
  }

  /** The smallest value of an input, as a field element. */
  const lowestOf = (program: Program, input: InputSlot): E => of((program.tables[input.table] as { lo: number }).lo);

  return { packedWeights, evaluateWords, lowestOf };
}

export const { packedWeights, evaluateWords, lowestOf } = inputsOver(FR);
