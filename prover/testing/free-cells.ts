/** Random field elements in every cell that no statement may depend on. */
import type { Draw } from '../audit/draw.js';
import { add, inverse, mul, neg } from '../field/fr.js';
import type { Plan } from '../plan/plan.js';
import { maskColumns } from '../prover/witness.js';

const MINUS_SHIFT = neg(inverse(1n << 24n));

/**
 * Padding and unallocated cells of y, r0, r1; r0 and r1 of inputs and maxima; rows of m that are no rows. The virtual
 * quotient of such a cell follows from its limbs.
 * @returns the number of cells written.
 */
export function fillFreeCells(columns: Map<string, bigint[]>, plan: Plan, draw: Draw): number {
  const masks = maskColumns(plan);
  const size = 2 ** plan.lookupBits;
  // A sequence state -> step state + 1 instead of a hash per cell, which would take longer than the proof.
  const step = draw.nonzero();
  let [state, filled] = [draw.field(), 0];
  const next = (): bigint => {
    filled++;
    state = add(mul(state, step), 1n);
    return state;
  };
  for (let i = 0; i < plan.witnessChunks * size; i++) {
    const at = (name: string): { column: bigint[]; cell: number } => ({
      column: columns.get(`${name} ${Math.floor(i / size)}`)!,
      cell: i % size,
    });
    const set = (name: string, value: bigint): void => {
      const { column, cell } = at(name);
      column[cell] = value;
    };
    const [isLooked, isRequant, isMaximum] = [masks.looked[i], masks.requant[i], masks.maxima[i]];
    if (!isLooked && !isMaximum) set('y', next());
    if (isRequant) continue;
    const r1 = next();
    // The quotient of an input cell is looked up: it must stay 0.
    const r0 = isLooked ? neg(mul(4096n, r1)) : next();
    set('r0', r0);
    set('r1', r1);
    set('q', mul(MINUS_SHIFT, add(r0, mul(4096n, r1))));
  }
  const valid = new Uint8Array(plan.tableChunks * size);
  for (const { offset, rows } of plan.tables.tables) valid.fill(1, offset, offset + rows);
  valid.forEach((isRow, i) => {
    if (!isRow) columns.get(`m ${Math.floor(i / size)}`)![i % size] = next();
  });
  return filled;
}
