/** From functionals to the opening: the coefficient of every committed column at the end point of phase O. */
import { FR, type Field } from '../field/field.js';
import { bitsOf, bitsOfAxes } from '../program/layout.js';
import type { Functional, SlotFunctional } from './claims.js';
import { functionalsOver } from './functional.js';
import { lookupOver } from './lookup.js';
import { claimsOver } from './claims.js';
import { chunkFinder, chunksOf, columnsOf, slotOf, type ChunkPlan, type Plan } from './plan.js';

/** Functionals with the power of gamma that their entry carries. */
export interface OpeningEntry<E = bigint> {
  readonly scale: E;
  readonly functionals: readonly Functional<E>[];
}

/** The formulas over a field. */
export function coefficientsOver<E>(field: Field<E>) {
  const { zero, add, mul, sub, one } = field;
  const { denseWeights, eqWeight, evaluateFactors, evaluateWeight } = functionalsOver(field);
  const { withChunk } = lookupOver(field);
  const { splitPoint } = claimsOver(field);

  /**
   * e_c = sum of scale * A(c, u) over the functionals on column c, in the order of `columnsOf`. A chunk is the part of its
   * column whose leading index bits are its place. A model column has 2^k cells, k <= n; in a larger column it is the part
   * whose leading n - k index bits are 0.
   */
  function columnCoefficients(plan: Plan, entries: readonly OpeningEntry<E>[], u: readonly E[]): E[] {
    const coefficients = columnsOf(plan).map(() => zero);
    const find = chunkFinder(plan);
    const put = ({ family, group, offset, column }: ChunkPlan, value: E): void => {
      const bits = family === 'model' ? plan.groups[group]!.program.modelBits : plan.lookupBits;
      const { selector } = splitPoint(u, offset, bits);
      coefficients[column] = add(coefficients[column]!, mul(selector, value));
    };
    const inChunk = u.slice(plan.n - plan.lookupBits);
    for (const { scale, functionals } of entries)
      for (const functional of functionals) {
        if (functional.kind === 'column') {
          const chunks = chunksOf(plan, functional.family);
          const chunkPoint = functional.point.slice(0, functional.point.length - plan.lookupBits);
          const inside = functional.point.slice(functional.point.length - plan.lookupBits);
          const value = inside.reduce(
            (p, x, i) => mul(p, add(mul(x, inChunk[i]!), mul(sub(one, x), sub(one, inChunk[i]!)))),
            mul(scale, functional.coefficient),
          );
          denseWeights(eqWeight(chunkPoint), chunks).forEach((w, c) =>
            put(find(functional.family, -1, c), mul(w, value)),
          );
        } else
          slotCoefficients(plan, functional, u, (family, group, chunk, value) =>
            put(find(family, group, chunk), mul(scale, value)),
          );
      }
    return coefficients;
  }

  function slotCoefficients(
    plan: Plan,
    functional: SlotFunctional<E>,
    u: readonly E[],
    put: (family: 'y' | 'model', group: number, chunk: number, value: E) => void,
  ): void {
    const group = plan.groups[functional.group]!;
    const isModel = functional.space === 'model';
    const { program } = group;
    const { offset, bits } = isModel
      ? { offset: group.modelOffsets[functional.slot]!, bits: bitsOfAxes(program.model[functional.slot]!.axes) }
      : slotOf(group, functional.slot);
    const columnBits = isModel ? program.modelBits : plan.lookupBits;
    const chunks = isModel ? group.modelChunks : plan.witnessChunks;
    const axes = (isModel ? program.model : program.witness)[functional.slot]!.axes;
    const inColumn = u.slice(plan.n - columnBits);
    const [first, count] = [Math.floor(offset / 2 ** columnBits), Math.max(1, 2 ** (bits - columnBits))];
    for (let chunk = first; chunk < first + count; chunk++) {
      const point = withChunk(chunks, chunk, inColumn);
      const { selector, inside } = splitPoint(point, offset, bits);
      const batchBits = isModel ? 0 : group.batchBits;
      let value = mul(selector, functional.coefficient);
      if (functional.batch)
        value = mul(value, evaluateWeight(functional.batch, group.items, inside.slice(0, batchBits)));
      const at = axisCoordinates(axes, inside.slice(batchBits));
      value = mul(
        value,
        evaluateFactors(functional.factors, (axis) => at[axis]!),
      );
      if (isModel) put('model', functional.group, chunk, value);
      else put('y', -1, chunk, value);
    }
  }

  /** The coordinates of a slot, cut by axis. */
  function axisCoordinates(axes: readonly number[], coordinates: readonly E[]): (readonly E[])[] {
    let at = 0;
    return axes.map((side) => coordinates.slice(at, (at += bitsOf(side))));
  }

  return columnCoefficients;
}

export const columnCoefficients = coefficientsOver(FR);
