/**
 * The size of the model's columns, a constant of the program: a model is committed to once, whatever the batch.
 *
 * Column size trades the opening (two multi-scalar multiplications of 2^n points) against commitments (64 bytes each,
 * one scalar multiplication in the verifier, which on chain is 7,500 gas with its calldata). The choice is the smallest n
 * at which one item's witness fits eight columns, its tables two, and the model two. Columns that are longer than witness
 * and tables need cost the lookups nothing: their chunks share columns (prover/plan/plan.ts).
 */
import { bitsOfAxes, placeSlots } from './layout.js';
import { tableCells } from './tables.js';
import type { Program } from './types.js';

export const MIN_COLUMN_BITS = 8;
export const MAX_COLUMN_BITS = 24;
const MAX_WITNESS_COLUMNS = 8;
const MAX_TABLE_COLUMNS = 2;
const MAX_MODEL_COLUMNS = 2;

export function chooseModelBits(program: Pick<Program, 'witness' | 'model' | 'tables'>): number {
  const columns = (cells: number, bits: number): number => Math.ceil(cells / 2 ** bits);
  const witness = placeSlots(program.witness.map(({ axes }) => bitsOfAxes(axes))).cells;
  const model = placeSlots(program.model.map(({ axes }) => bitsOfAxes(axes))).cells;
  const tables = tableCells(program.tables);
  let bits = MIN_COLUMN_BITS;
  while (
    bits < MAX_COLUMN_BITS &&
    (columns(witness, bits) > MAX_WITNESS_COLUMNS ||
      columns(tables, bits) > MAX_TABLE_COLUMNS ||
      columns(model, bits) > MAX_MODEL_COLUMNS)
  )
    bits++;
  return bits;
}
