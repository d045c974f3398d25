/** From functionals to the opening: the coefficient of every committed column at the end point of phase O. */
import { add, mul, sub } from '../field/fr.js';
import { bitsOf, bitsOfAxes } from '../program/layout.js';
import type { Functional, SlotFunctional } from './claims.js';
import { denseWeights, eqWeight, evaluateFactors, evaluateWeight } from './functional.js';
import { withChunk } from './lookup.js';
import { splitPoint } from './claims.js';
import { chunksOf, columnsOf, slotOf, type Plan } from './plan.js';

/** Functionals with the power of gamma that their entry carries. */
export interface OpeningEntry {
  readonly scale: bigint;
  readonly functionals: readonly Functional[];
}

/**
 * e_c = sum of scale * A(c, u) over the functionals on column c, in the order of `columnsOf`. A model column has 2^k
 * cells, k <= n; in a larger column it is the part whose leading n - k index bits are 0.
 */
export function columnCoefficients(plan: Plan, entries: readonly OpeningEntry[], u: readonly bigint[]): bigint[] {
  const columns = columnsOf(plan);
  const index = new Map(columns.map(({ family, group, chunk }, i) => [`${family} ${group} ${chunk}`, i]));
  const coefficients = columns.map(() => 0n);
  const put = (key: string, value: bigint): void => {
    const i = index.get(key)!;
    coefficients[i] = add(coefficients[i]!, value);
  };
  for (const { scale, functionals } of entries)
    for (const functional of functionals) {
      if (functional.kind === 'column') {
        const chunks = chunksOf(plan, functional.family);
        const chunkPoint = functional.point.slice(0, functional.point.length - plan.n);
        const inside = functional.point.slice(functional.point.length - plan.n);
        const value = inside.reduce(
          (p, x, i) => mul(p, add(mul(x, u[i]!), mul(sub(1n, x), sub(1n, u[i]!)))),
          mul(scale, functional.coefficient),
        );
        denseWeights(eqWeight(chunkPoint), chunks).forEach((w, c) =>
          put(`${functional.family} -1 ${c}`, mul(w, value)),
        );
      } else slotCoefficients(plan, functional, u, (key, value) => put(key, mul(scale, value)));
    }
  return coefficients;
}

function slotCoefficients(
  plan: Plan,
  functional: SlotFunctional,
  u: readonly bigint[],
  put: (key: string, value: bigint) => void,
): void {
  const group = plan.groups[functional.group]!;
  const isModel = functional.space === 'model';
  const { program } = group;
  const { offset, bits } = isModel
    ? { offset: group.modelOffsets[functional.slot]!, bits: bitsOfAxes(program.model[functional.slot]!.axes) }
    : slotOf(group, functional.slot);
  const columnBits = isModel ? program.modelBits : plan.n;
  const chunks = isModel ? group.modelChunks : plan.witnessChunks;
  const axes = (isModel ? program.model : program.witness)[functional.slot]!.axes;
  const unused = u.slice(0, plan.n - columnBits).reduce((p, x) => mul(p, sub(1n, x)), 1n);
  const inColumn = u.slice(plan.n - columnBits);
  const [first, count] = [Math.floor(offset / 2 ** columnBits), Math.max(1, 2 ** (bits - columnBits))];
  for (let chunk = first; chunk < first + count; chunk++) {
    const point = withChunk(chunks, chunk, inColumn);
    const { selector, inside } = splitPoint(point, offset, bits);
    const batchBits = isModel ? 0 : group.batchBits;
    let value = mul(mul(unused, selector), functional.coefficient);
    if (functional.batch) value = mul(value, evaluateWeight(functional.batch, group.items, inside.slice(0, batchBits)));
    const at = axisCoordinates(axes, inside.slice(batchBits));
    value = mul(
      value,
      evaluateFactors(functional.factors, (axis) => at[axis]!),
    );
    put(isModel ? `model ${functional.group} ${chunk}` : `y -1 ${chunk}`, value);
  }
}

/** The coordinates of a slot, cut by axis. */
function axisCoordinates(axes: readonly number[], coordinates: readonly bigint[]): (readonly bigint[])[] {
  let at = 0;
  return axes.map((side) => coordinates.slice(at, (at += bitsOf(side))));
}
