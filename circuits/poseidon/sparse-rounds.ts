/**
 * The partial rounds of Poseidon with sparse matrices: the same permutation with t multiplications a round in place of
 * t^2, and one constant in place of t.
 *
 * Symbols. S: x^5 on cell 0 alone. A partial round is x -> M S(x + c). Write M = [[m, v], [w, N]] with a 1 x 1 corner m.
 *
 *   1. Constants. S touches cell 0 only, so c's other cells pass through it: M S(x + c) = M S(x + c_0 e_0) + M (0, c_1..).
 *      The second part joins the constants of the next round; what is left behind is one number a round.
 *   2. Matrices. A = B diag(1, N) with B = [[m, v N^-1], [w, 1]] sparse, and diag(1, N) commutes with S. From the last
 *      partial round to the first: split the round's matrix A into B and D = diag(1, N), and give D to the round before:
 *      A' = D M. The first D is left over and is applied once, before the partial rounds.
 *
 * Source: Poseidon, appendix B (equivalent round constants, sparse factorisation).
 */
import { add, inverse, mul, neg } from '../../prover/field/fr.js';
import { FULL_ROUNDS, poseidonParameters } from './parameters.js';

type Vector = readonly bigint[];
type Matrix = readonly Vector[];

/** A = [[corner, row], [column, identity]]. */
export interface SparseMatrix {
  readonly corner: bigint;
  readonly row: Vector;
  readonly column: Vector;
}

export interface SparseRounds {
  /** Constants of the full rounds: R_F rows of t; row R_F / 2 holds what the partial rounds left over. */
  readonly fullConstants: readonly Vector[];
  /** M, for all full rounds but the last of the first half. */
  readonly matrix: Matrix;
  /** diag(1, N..) M, for the last full round of the first half. */
  readonly entry: Matrix;
  /** Of each partial round: the constant of cell 0 before the S-box, and the matrix after it. */
  readonly partial: readonly { readonly constant: bigint; readonly matrix: SparseMatrix }[];
}

const made = new Map<number, SparseRounds>();

/** Computed at the first call of a width: 10 ms at t = 5, 0.3 s at t = 17. */
export function sparseRounds(width: number): SparseRounds {
  const known = made.get(width);
  if (known !== undefined) return known;
  const { constants, matrix, partialRounds } = poseidonParameters(width);
  const half = FULL_ROUNDS / 2;

  const fullConstants = [...constants.slice(0, half)];
  const cornerConstants: bigint[] = [];
  let carried: Vector = matrix.map(() => 0n);
  for (let r = 0; r < partialRounds; r++) {
    const [first, ...rest] = addVectors(constants[half + r]!, carried);
    cornerConstants.push(first!);
    carried = apply(matrix, [0n, ...rest]);
  }
  const [afterPartial, ...last] = constants.slice(half + partialRounds);
  fullConstants.push(addVectors(afterPartial!, carried), ...last);

  const sparse: SparseMatrix[] = [];
  let current = matrix;
  for (let r = partialRounds - 1; r >= 0; r--) {
    const inner = current.slice(1).map((cells) => cells.slice(1));
    const inverseInner = invert(inner);
    sparse[r] = {
      corner: current[0]![0]!,
      row: apply(transpose(inverseInner), current[0]!.slice(1)),
      column: current.slice(1).map((cells) => cells[0]!),
    };
    // diag(1, N) M.
    current = [matrix[0]!, ...multiply(inner, matrix.slice(1))];
  }
  const rounds = {
    fullConstants,
    matrix,
    entry: current,
    partial: sparse.map((each, r) => ({ constant: cornerConstants[r]!, matrix: each })),
  };
  made.set(width, rounds);
  return rounds;
}

const addVectors = (a: Vector, b: Vector): bigint[] => a.map((value, i) => add(value, b[i]!));
const transpose = (a: Matrix): bigint[][] => a[0]!.map((_, j) => a.map((row) => row[j]!));
function multiply(a: Matrix, b: Matrix): bigint[][] {
  const columns = transpose(b);
  return a.map((row) => apply(columns, row));
}

/** a x. */
export const apply = (a: Matrix, x: Vector): bigint[] =>
  a.map((row) => row.reduce((sum, value, j) => add(sum, mul(value, x[j]!)), 0n));

/** Gauss and Jordan; the minors of a Cauchy matrix have no zero pivot, products of them none by construction. */
function invert(a: Matrix): bigint[][] {
  const size = a.length;
  const rows = a.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1n : 0n))]);
  for (let pivot = 0; pivot < size; pivot++) {
    const scale = inverse(rows[pivot]![pivot]!);
    rows[pivot] = rows[pivot]!.map((value) => mul(value, scale));
    for (let i = 0; i < size; i++) {
      if (i === pivot) continue;
      const factor = neg(rows[i]![pivot]!);
      rows[i] = rows[i]!.map((value, j) => add(value, mul(factor, rows[pivot]![j]!)));
    }
  }
  return rows.map((row) => row.slice(size));
}
