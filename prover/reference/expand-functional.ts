/** A functional written out cell by cell: what its short form must equal. */
import { mul } from '../field/fr.js';
import { sizeOf } from '../../graph/tensor.js';
import type { Functional } from '../plan/claims.js';
import { denseWeights, eqWeight } from '../plan/functional.js';
import { chunksOf, slotOf, type Plan } from '../plan/plan.js';
import { unravel } from '../program/blocks.js';
import { cellStrides } from '../program/layout.js';

/** Calls with the name of the chunk ("family group chunk"), the cell and its weight. */
export function expandFunctional(
  plan: Plan,
  functional: Functional,
  put: (chunk: string, cell: number, weight: bigint) => void,
): void {
  if (functional.kind === 'column') {
    const size = 2 ** plan.lookupBits;
    denseWeights(eqWeight(functional.point), chunksOf(plan, functional.family) * size).forEach((w, i) =>
      put(`${functional.family} -1 ${Math.floor(i / size)}`, i % size, mul(w, functional.coefficient)),
    );
    return;
  }
  const group = plan.groups[functional.group]!;
  const isModel = functional.space === 'model';
  const { axes } = (isModel ? group.program.model : group.program.witness)[functional.slot]!;
  const strides = cellStrides(axes);
  // Weight of an item's element: product over the factors.
  let item: { cell: number; weight: bigint }[] = [{ cell: 0, weight: functional.coefficient }];
  for (const { axes: own, sides, weight } of functional.factors) {
    const along = denseWeights(weight, sizeOf(sides)).map((w, i) => ({
      cell: unravel(i, sides).reduce((sum, index, place) => sum + index * strides[own[place]!]!, 0),
      weight: w,
    }));
    item = item.flatMap((left) =>
      along.map((right) => ({ cell: left.cell + right.cell, weight: mul(left.weight, right.weight) })),
    );
  }
  const size = 2 ** (isModel ? group.program.modelBits : plan.lookupBits);
  const emit = (cell: number, weight: bigint): void =>
    put(
      isModel ? `model ${functional.group} ${Math.floor(cell / size)}` : `y -1 ${Math.floor(cell / size)}`,
      cell % size,
      weight,
    );
  if (isModel) {
    for (const { cell, weight } of item) emit(group.modelOffsets[functional.slot]! + cell, weight);
    return;
  }
  const { offset, bits } = slotOf(group, functional.slot);
  const itemCells = 2 ** (bits - group.batchBits);
  denseWeights(functional.batch!, group.items).forEach((w, b) => {
    for (const { cell, weight } of item) emit(offset + b * itemCells + cell, mul(w, weight));
  });
}
