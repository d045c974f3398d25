/**
 * The Poseidon permutation of t field elements, twice: as the paper writes it, and with sparse partial rounds.
 *
 *   x -> M S(x + c): R_F / 2 rounds with x^5 on all cells, R_P on cell 0 alone, R_F / 2 on all cells.
 *
 * Source: Poseidon, section 2.
 */
import { add, mul } from '../../prover/field/fr.js';
import { FULL_ROUNDS, poseidonParameters } from './parameters.js';
import { apply, sparseRounds } from './sparse-rounds.js';

const power5 = (x: bigint): bigint => {
  const square = mul(x, x);
  return mul(mul(square, square), x);
};

/** The definition: what everything else must equal. @param state t field elements, t from 2 to 17. */
export function referencePermutation(state: readonly bigint[]): bigint[] {
  const { constants, matrix, partialRounds } = poseidonParameters(state.length);
  let cells = [...state];
  constants.forEach((row, r) => {
    const full = r < FULL_ROUNDS / 2 || r >= FULL_ROUNDS / 2 + partialRounds;
    const shifted = cells.map((cell, i) => add(cell, row[i]!));
    cells = apply(
      matrix,
      shifted.map((cell, i) => (full || i === 0 ? power5(cell) : cell)),
    );
  });
  return cells;
}

/** The same by sparse rounds, 3 (t = 3) to 8 (t = 17) times as fast. @param state t field elements, t from 2 to 17. */
export function permutation(state: readonly bigint[]): bigint[] {
  const { fullConstants, matrix, entry, partial } = sparseRounds(state.length);
  const half = FULL_ROUNDS / 2;
  const fullRound = (cells: readonly bigint[], r: number): bigint[] =>
    apply(
      r === half - 1 ? entry : matrix,
      cells.map((cell, i) => power5(add(cell, fullConstants[r]![i]!))),
    );
  let cells = [...state];
  for (let r = 0; r < half; r++) cells = fullRound(cells, r);
  for (const { constant, matrix: sparse } of partial) {
    const [first, ...rest] = cells;
    const corner = power5(add(first!, constant));
    cells = [
      rest.reduce((sum, cell, i) => add(sum, mul(sparse.row[i]!, cell)), mul(sparse.corner, corner)),
      ...rest.map((cell, i) => add(cell, mul(sparse.column[i]!, corner))),
    ];
  }
  for (let r = half; r < FULL_ROUNDS; r++) cells = fullRound(cells, r);
  return cells;
}
