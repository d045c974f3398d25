/** The committed columns of one proof in WebAssembly memory: small integers stay small until a sumcheck binds them. */
import { columnsOf, type Family, type Plan } from '../plan/plan.js';
import type { FrVector, FrVectors, IntVector } from '../wasm/fr-vectors.js';

export type Column = FrVector | IntVector;

export class ColumnStore {
  private readonly columns = new Map<string, Column>();

  constructor(private readonly plan: Plan) {}

  put(family: Family | 'model', group: number, chunk: number, column: Column): void {
    this.columns.set(`${family} ${group} ${chunk}`, column);
  }

  get(family: Family | 'model', group: number, chunk: number): Column {
    return this.columns.get(`${family} ${group} ${chunk}`)!;
  }

  /** In the order of opening. Model columns may be shorter than 2^n: the rest is 0. */
  ordered(): Column[] {
    return columnsOf(this.plan).map(({ family, group, chunk }) => this.get(family, group, chunk));
  }
}

/** sum_c e_c f_c over 2^n cells. */
export function combineColumns(
  fr: FrVectors,
  n: number,
  columns: readonly Column[],
  coefficients: readonly bigint[],
): FrVector {
  const sum = fr.zeros(2 ** n);
  columns.forEach((column, c) => {
    if (coefficients[c] !== 0n) fr.axpy({ pointer: sum.pointer, length: column.length }, coefficients[c]!, column);
  });
  return sum;
}
