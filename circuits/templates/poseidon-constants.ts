/**
 * The constants of PoseidonBlock as circom functions of the width t, for the widths that a circuit uses. One row of
 * POSEIDON_PARTIAL is the constant of cell 0, then the corner, the row and the column of the sparse matrix.
 */
import { poseidonParameters } from '../poseidon/parameters.js';
import { sparseRounds } from '../poseidon/sparse-rounds.js';

const WIDEST_CUT = 9;

type Literal = bigint | number | readonly Literal[];

const literal = (value: Literal): string =>
  Array.isArray(value) ? `[${value.map(literal).join(',')}]` : `${value as bigint}`;

/** @param widths t of the blocks: the elements of a block and one. */
export function poseidonConstants(widths: Iterable<number>): string {
  const sorted = [...new Set(widths)].sort((a, b) => a - b);
  const choose = (name: string, of: (width: number) => Literal): string => {
    const cases = sorted.map((width) => `    if (t == ${width}) {\n        return ${literal(of(width))};\n    }\n`);
    return `function ${name}(t) {\n${cases.join('')}    assert(0);\n    return ${literal(of(sorted[0]!))};\n}\n`;
  };
  return [
    'pragma circom 2.1.0;\n',
    choose('POSEIDON_PARTIAL_ROUNDS', (t) => poseidonParameters(t).partialRounds),
    choose('POSEIDON_CUT_ROUNDS', cutRounds),
    choose('POSEIDON_FULL_CONSTANTS', (t) => sparseRounds(t).fullConstants),
    choose('POSEIDON_MATRIX', (t) => sparseRounds(t).matrix),
    choose('POSEIDON_ENTRY_MATRIX', (t) => sparseRounds(t).entry),
    choose('POSEIDON_PARTIAL', (t) =>
      sparseRounds(t).partial.map(({ constant, matrix }) => [constant, matrix.corner, ...matrix.row, ...matrix.column]),
    ),
  ].join('\n');
}

/**
 * Partial rounds between two cuts: one cut in the middle of narrow permutations, none in wide ones. Measured per block, for
 * a proving key in bytes: t = 5 without a cut 302 constraints and 486 kB, with one 307 and 342 kB, with three 317 and
 * 274 kB; t = 17 without 614 and 1,178 kB, with one 631 and 906 kB.
 */
function cutRounds(width: number): number {
  const { partialRounds } = poseidonParameters(width);
  return width <= WIDEST_CUT ? Math.ceil(partialRounds / 2) : partialRounds;
}
