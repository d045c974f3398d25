/**
 * Parameters of the Poseidon permutations over Fr of BN254 with S-box x^5: round numbers, round constants, mix matrix.
 *
 * Symbols. t: width, 2 to 17 field elements. R_F = 8 full rounds, R_P partial ones for 128 bits of security. The round
 * constants C and the matrix M are drawn from a Grain LFSR that starts from (field, S-box, n = 254, t, R_F, R_P), so
 * nobody chose them:
 *
 *   1. Grain: 80 bits, b_{i+80} = b_{i+62} + b_{i+51} + b_{i+38} + b_{i+23} + b_{i+13} + b_i; the first 160 are dropped.
 *      The rest is read in pairs: (1, x) gives the bit x, (0, x) nothing.
 *   2. C: t (R_F + R_P) numbers of 254 bits, those that are not below r left out.
 *   3. M_ij = 1 / (x_i + y_j) for the next 2t numbers mod r: a Cauchy matrix, all of whose minors are invertible.
 *
 * Source: Grassi, Khovratovich, Rechberger, Roy, Schofnegger, Poseidon, USENIX Security 2021, sections 2.3, 5 and
 * appendix F. These are the instances of circomlib; poseidon.test.ts holds the vectors.
 */
import { AssayError } from '../../common/errors.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { add, inverse } from '../../prover/field/fr.js';

export const FULL_ROUNDS = 8;
/** Partial rounds for t = 2, 3, ..., 17: table 2 of the paper, rounded up as circomlib has them. */
const PARTIAL_ROUNDS = [56, 57, 56, 60, 60, 63, 64, 63, 60, 66, 60, 65, 70, 60, 64, 68];
export const SMALLEST_WIDTH = 2;
export const LARGEST_WIDTH = SMALLEST_WIDTH + PARTIAL_ROUNDS.length - 1;

const FIELD_BITS = 254;

export interface PoseidonParameters {
  /** t. */
  readonly width: number;
  /** R_P. */
  readonly partialRounds: number;
  /** C by rounds: R_F + R_P rows of t. */
  readonly constants: readonly (readonly bigint[])[];
  /** M by rows. */
  readonly matrix: readonly (readonly bigint[])[];
}

const made = new Map<number, PoseidonParameters>();

/**
 * The parameters of a width, computed at the first call (some 10 ms).
 * @throws AssayError INTERNAL for a width outside 2..17.
 */
export function poseidonParameters(width: number): PoseidonParameters {
  const known = made.get(width);
  if (known !== undefined) return known;
  const partialRounds = PARTIAL_ROUNDS[width - SMALLEST_WIDTH];
  if (partialRounds === undefined)
    throw new AssayError('INTERNAL', `Poseidon has widths ${SMALLEST_WIDTH} to ${LARGEST_WIDTH}, not ${width}`);
  const draw = grain(width, partialRounds);
  const belowModulus = (): bigint => {
    for (;;) {
      const value = draw();
      if (value < FR_MODULUS) return value;
    }
  };
  const row = <T>(of: (i: number) => T): T[] => Array.from({ length: width }, (_, i) => of(i));
  const constants = Array.from({ length: FULL_ROUNDS + partialRounds }, () => row(belowModulus));
  const [x, y] = [row(() => draw() % FR_MODULUS), row(() => draw() % FR_MODULUS)];
  const matrix = x.map((xi) => y.map((yj) => inverse(add(xi, yj))));
  const parameters = { width, partialRounds, constants, matrix };
  made.set(width, parameters);
  return parameters;
}

/** Numbers of 254 bits, most significant bit first. */
function grain(width: number, partialRounds: number): () => bigint {
  const bits = (value: number, count: number) =>
    Array.from({ length: count }, (_, i) => (value >> (count - 1 - i)) & 1);
  // Prime field, S-box x^5.
  const start = [bits(1, 2), bits(0, 4), bits(FIELD_BITS, 12), bits(width, 12), bits(FULL_ROUNDS, 10)]
    .concat([bits(partialRounds, 10), new Array<number>(30).fill(1)])
    .flat();
  const stream = new Uint8Array(1 << 14);
  stream.set(start);
  let at = start.length;
  const next = (): number => {
    if (at === stream.length) {
      stream.copyWithin(0, at - 80);
      at = 80;
    }
    const [a, b, c] = [stream[at - 18]!, stream[at - 29]!, stream[at - 42]!];
    const bit = a ^ b ^ c ^ stream[at - 57]! ^ stream[at - 67]! ^ stream[at - 80]!;
    stream[at++] = bit;
    return bit;
  };
  for (let i = 0; i < 160; i++) next();
  return () => {
    let digits = '0b';
    while (digits.length < 2 + FIELD_BITS) {
      const selector = next();
      const bit = next();
      if (selector === 1) digits += bit;
    }
    return BigInt(digits);
  };
}
