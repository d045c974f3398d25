/** Round polynomials from their values: what a prover sends. */
import { add, inverse, mul, sub, toField } from '../field/fr.js';
import type { Transcript } from '../transcript/transcript.js';
import { evaluateRound } from '../verifier/sumcheck.js';

const matrices = new Map<number, readonly (readonly bigint[])[]>();

/** matrix[k][i]: coefficient of X^k in the Lagrange polynomial of the point i among 0..d. */
function lagrangeMatrix(d: number): readonly (readonly bigint[])[] {
  const known = matrices.get(d);
  if (known) return known;
  const columns = Array.from({ length: d + 1 }, (_, i) => {
    let numerator = [1n];
    let denominator = 1n;
    for (let j = 0; j <= d; j++) {
      if (j === i) continue;
      numerator = [0n, ...numerator].map((c, k) => sub(c, mul(toField(j), numerator[k] ?? 0n)));
      denominator = mul(denominator, toField(i - j));
    }
    const scale = inverse(denominator);
    return numerator.map((c) => mul(c, scale));
  });
  const matrix = columns.map((_, k) => columns.map((column) => column[k]!));
  matrices.set(d, matrix);
  return matrix;
}

/**
 * Coefficients c_0, c_2, ..., c_d, the linear one left out.
 * @param values at 0, 2, 3, ..., d.
 * @param claim the value at 0 plus that at 1.
 */
export function roundCoefficients(values: readonly bigint[], claim: bigint): bigint[] {
  const [first, ...rest] = values;
  const all = [first!, sub(claim, first!), ...rest];
  const matrix = lagrangeMatrix(all.length - 1);
  const coefficient = (k: number): bigint => matrix[k]!.reduce((sum, weight, i) => add(sum, mul(weight, all[i]!)), 0n);
  return [coefficient(0), ...all.slice(2).map((_, k) => coefficient(k + 2))];
}

/** One sumcheck as it goes: absorbs each round, draws its challenge, keeps the claim. */
export class ProverSumcheck {
  readonly rounds: bigint[][] = [];
  readonly point: bigint[] = [];

  constructor(
    private readonly transcript: Transcript,
    private readonly label: string,
    public claim: bigint,
  ) {}

  /** @param values of the round polynomial at 0, 2, 3, ..., degree. @returns the challenge to bind the variable to. */
  round(values: readonly bigint[]): bigint {
    const coefficients = roundCoefficients(values, this.claim);
    this.transcript.absorbScalars(`${this.label} round`, coefficients);
    const r = this.transcript.challenge(`${this.label} point`);
    this.claim = evaluateRound(coefficients, this.claim, r);
    this.rounds.push(coefficients);
    this.point.push(r);
    return r;
  }
}
