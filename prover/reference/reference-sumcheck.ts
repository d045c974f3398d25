/** The prover's side of a sumcheck over BigInt: every round sums the summand at each of the points 0..degree. */
import { add, inverse, mul, sub, toField } from '../field/fr.js';
import type { Transcript } from '../transcript/transcript.js';

/** Binds the most significant variable: f'[i] = f[i] + r (f[i + half] - f[i]). */
export function bindTop(values: readonly bigint[], r: bigint): bigint[] {
  const half = values.length / 2;
  return Array.from({ length: half }, (_, i) => add(values[i]!, mul(r, sub(values[i + half]!, values[i]!))));
}

/** Coefficients c_0, c_1, ..., c_d of the polynomial with values p(0), ..., p(d). */
export function interpolate(values: readonly bigint[]): bigint[] {
  const d = values.length - 1;
  const coefficients = new Array<bigint>(d + 1).fill(0n);
  values.forEach((value, i) => {
    // Numerator prod_{j != i} (X - j) by its coefficients.
    let numerator = [1n];
    let denominator = 1n;
    for (let j = 0; j <= d; j++) {
      if (j === i) continue;
      const next = [0n, ...numerator];
      numerator.forEach((c, k) => {
        next[k] = sub(next[k]!, mul(c, toField(j)));
      });
      numerator = next;
      denominator = mul(denominator, toField(i - j));
    }
    const scale = mul(value, inverse(denominator));
    numerator.forEach((c, k) => {
      coefficients[k] = add(coefficients[k]!, mul(scale, c));
    });
  });
  return coefficients;
}

export interface ProvedSumcheck {
  readonly rounds: bigint[][];
  readonly point: bigint[];
  /** The tables at the point. */
  readonly ends: bigint[];
}

/**
 * @param tables multilinear polynomials by their values, equal lengths 2^m.
 * @param summand their combination, of the given degree in each variable.
 */
export function proveSumcheck(
  transcript: Transcript,
  label: string,
  degree: number,
  tables: readonly (readonly bigint[])[],
  summand: (values: readonly bigint[]) => bigint,
): ProvedSumcheck {
  let current = tables.map((table) => [...table]);
  const variables = Math.log2(current[0]!.length);
  const rounds: bigint[][] = [];
  const point: bigint[] = [];
  for (let round = 0; round < variables; round++) {
    const half = current[0]!.length / 2;
    const values = Array.from({ length: degree + 1 }, (_, at) => {
      let sum = 0n;
      for (let i = 0; i < half; i++)
        sum = add(
          sum,
          summand(current.map((table) => add(table[i]!, mul(toField(at), sub(table[i + half]!, table[i]!))))),
        );
      return sum;
    });
    const [constant, , ...higher] = interpolate(values);
    const sent = [constant!, ...higher];
    transcript.absorbScalars(`${label} round`, sent);
    const r = transcript.challenge(`${label} point`);
    rounds.push(sent);
    point.push(r);
    current = current.map((table) => bindTop(table, r));
  }
  return { rounds, point, ends: current.map(([value]) => value!) };
}
