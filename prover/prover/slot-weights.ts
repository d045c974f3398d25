/** Weights of functionals as vectors over padded cells, in WebAssembly memory. */
import { mul } from '../field/fr.js';
import { sizeOf } from '../../graph/tensor.js';
import { denseWeights, type AxisWeight, type Factor } from '../plan/functional.js';
import { bitsOf, cellStrides } from '../program/layout.js';
import { unravel } from '../program/blocks.js';
import type { FrVector, FrVectors } from '../wasm/fr-vectors.js';

/** An axis weight over 2^bits cells: zero on padding. */
export function paddedWeights(weight: AxisWeight, side: number): bigint[] {
  const values = denseWeights(weight, side);
  return [...values, ...new Array<bigint>(2 ** bitsOf(side) - side).fill(0n)];
}

/** The product of factors over the padded cells of an index space. Every axis of side > 1 has its factor. */
export function itemWeights(fr: FrVectors, factors: readonly Factor[], axes: readonly number[]): FrVector {
  const sorted = [...factors].sort((a, b) => a.axes[0]! - b.axes[0]!);
  const order = sorted.flatMap((factor) => factor.axes);
  const inOrder = order.every((axis, i) => i === 0 || axis > order[i - 1]!);
  if (inOrder) {
    const vectors = sorted.map((factor) => fr.fromBigInts(factorCells(factor)));
    if (vectors.length === 0) return fr.fromBigInts([1n]);
    return vectors.reduce((product, vector) => fr.outer(product, vector));
  }
  // Factors that interleave: cell by cell.
  const strides = cellStrides(axes);
  let cells: { cell: number; weight: bigint }[] = [{ cell: 0, weight: 1n }];
  for (const { axes: own, sides, weight } of sorted) {
    const along = denseWeights(weight, sizeOf(sides)).map((w, i) => ({
      cell: unravel(i, sides).reduce((sum, index, place) => sum + index * strides[own[place]!]!, 0),
      weight: w,
    }));
    cells = cells.flatMap((a) => along.map((b) => ({ cell: a.cell + b.cell, weight: mul(a.weight, b.weight) })));
  }
  const values = new Array<bigint>(2 ** axes.reduce((bits, side) => bits + bitsOf(side), 0)).fill(0n);
  for (const { cell, weight } of cells) values[cell] = weight;
  return fr.fromBigInts(values);
}

/** One factor over the padded cells of its own axes. */
function factorCells({ axes, sides, weight }: Factor): bigint[] {
  if (axes.length === 1) return paddedWeights(weight, sides[0]!);
  const strides = cellStrides(sides);
  const cells = new Array<bigint>(2 ** sides.reduce((bits, side) => bits + bitsOf(side), 0)).fill(0n);
  denseWeights(weight, sizeOf(sides)).forEach((w, i) => {
    cells[unravel(i, sides).reduce((sum, index, place) => sum + index * strides[place]!, 0)] = w;
  });
  return cells;
}
