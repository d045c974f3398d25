/** The committed columns of one proof in WebAssembly memory: small integers stay small until a sumcheck binds them. */
import type { FrVector, FrVectors, IntVector } from '../wasm/fr-vectors.js';

export type Column = FrVector | IntVector;

/** Families of small integers, one after another in columns of 2^n cells. */
export function intColumns(
  fr: FrVectors,
  n: number,
  families: readonly Int32Array[],
): { readonly families: readonly IntVector[]; readonly columns: readonly IntVector[] } {
  const length = families.reduce((sum, family) => sum + family.length, 0);
  const all = new Int32Array(Math.ceil(length / 2 ** n) * 2 ** n);
  let at = 0;
  const starts = families.map((family) => {
    all.set(family, at);
    return (at += family.length) - family.length;
  });
  const { pointer, kind } = fr.ints(all);
  const slice = (from: number, count: number): IntVector => ({ pointer: pointer + 4 * from, length: count, kind });
  return {
    families: families.map((family, i) => slice(starts[i]!, family.length)),
    columns: Array.from({ length: all.length / 2 ** n }, (_, c) => slice(c * 2 ** n, 2 ** n)),
  };
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
