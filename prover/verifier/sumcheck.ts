/**
 * The verifier's side of a sumcheck: claim = sum over x in {0,1}^m of a polynomial of the given degree in each variable.
 * Round by round the prover sends the univariate p_i by its coefficients c_0, c_2, ..., c_d; the linear one follows from
 * p_i(0) + p_i(1) = claim_i. The challenge r_i is drawn after the round is absorbed and claim_{i+1} = p_i(r_i).
 * Source: Lund, Fortnow, Karloff, Nisan 1992; Thaler, Proofs, Arguments and Zero-Knowledge, section 4.1.
 */
import { FR, type Field } from '../field/field.js';
import type { Messages } from '../transcript/transcript.js';

export interface SumcheckResult<E = bigint> {
  readonly point: readonly E[];
  /** What the summand must be at the point. */
  readonly claim: E;
}

/** The formulas over a field. */
export function sumcheckOver<E>({ zero, add, mul, sub }: Field<E>) {
  /** The value at r of the round polynomial with coefficients c_0, c_2, ..., c_d and p(0) + p(1) = claim. */
  function evaluateRound(coefficients: readonly E[], claim: E, r: E): E {
    const [constant, ...higher] = coefficients;
    const linear = coefficients.reduce(sub, sub(claim, constant!));
    // Horner, from the top: c_d, ..., c_2, linear, constant.
    let value = zero;
    for (const c of [constant!, linear, ...higher].reverse()) value = add(mul(value, r), c);
    return value;
  }

  function verifySumcheck(
    transcript: Messages<E>,
    label: string,
    claim: E,
    rounds: readonly (readonly E[])[],
  ): SumcheckResult<E> {
    const point: E[] = [];
    for (const coefficients of rounds) {
      transcript.absorbScalars(`${label} round`, coefficients);
      const r = transcript.challenge(`${label} point`);
      claim = evaluateRound(coefficients, claim, r);
      point.push(r);
    }
    return { point, claim };
  }

  return { evaluateRound, verifySumcheck };
}

export const { evaluateRound, verifySumcheck } = sumcheckOver(FR);
