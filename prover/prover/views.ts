/**
 * Views written out: every pair of cells that a product of blocks ties together. The prover reads tensors through
 * these lists; the verifier never needs them.
 */
import { entriesOf, unravel, type Block } from '../program/blocks.js';

export interface ViewEntries {
  /** Index in the target, by the strides asked for. */
  readonly target: Int32Array;
  readonly source: Int32Array;
  readonly weight: Float64Array;
}

const offset = (index: number, axes: readonly number[], sides: readonly number[], strides: readonly number[]): number =>
  unravel(index, sides).reduce((sum, i, place) => sum + i * strides[axes[place]!]!, 0);

/** All (target, source, weight) of a view; indices are sums over axes of index times stride. */
export function viewEntries(
  blocks: readonly Block[],
  targetStrides: readonly number[],
  sourceStrides: readonly number[],
): ViewEntries {
  let target = Int32Array.of(0);
  let source = Int32Array.of(0);
  let weight = Float64Array.of(1);
  for (const block of blocks) {
    const entries = entriesOf(block);
    const own = entries.map(({ t, s, weight: w }) => ({
      t: offset(t, block.target, block.targetSides, targetStrides),
      s: offset(s, block.source, block.sourceSides, sourceStrides),
      w,
    }));
    const size = target.length * own.length;
    const next = { target: new Int32Array(size), source: new Int32Array(size), weight: new Float64Array(size) };
    let at = 0;
    for (let i = 0; i < target.length; i++)
      for (const { t, s, w } of own) {
        next.target[at] = target[i]! + t;
        next.source[at] = source[i]! + s;
        next.weight[at++] = weight[i]! * w;
      }
    ({ target, source, weight } = next);
  }
  return { target, source, weight };
}
