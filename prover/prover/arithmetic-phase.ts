/** Phase A for the prover: all products in one sumcheck, shorter ones dormant in the first rounds. */
import { add, inverse, mul, pow, sub } from '../field/fr.js';
import type { ProductTerm } from '../plan/claims.js';
import type { Plan } from '../plan/plan.js';
import type { Transcript } from '../transcript/transcript.js';
import { productShape } from '../verifier/product-shape.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import type { FrVector } from '../wasm/fr-vectors.js';
import { operandVector, sharedVector, type OperandSources } from './operand-vectors.js';
import { ProverSumcheck } from './round-polynomials.js';

const HALF = inverse(2n);

export interface ProvedArithmetic {
  readonly rounds: readonly (readonly bigint[])[];
  readonly point: readonly bigint[];
  /** P_k, Q_k at the end, by product. */
  readonly operands: readonly bigint[];
}

/** @param claim the sum of all products: what the claims leave after the direct value. */
export function proveArithmetic(
  arithmetic: Arithmetic,
  transcript: Transcript,
  plan: Plan,
  products: readonly ProductTerm[],
  claim: bigint,
  sources: OperandSources,
): ProvedArithmetic {
  const { fr, rounds } = arithmetic;
  const { variables, degree } = productShape(plan);
  const sumcheck = new ProverSumcheck(transcript, 'arithmetic', claim);
  const active = products.map((term) => {
    const p = operandVector(arithmetic, plan, term, 'p', sources);
    const q = operandVector(arithmetic, plan, term, 'q', sources);
    const e = sharedVector(arithmetic, plan, term);
    const value = fr.dot(e ? fr.mul(e, p) : p, q);
    const dormantRounds = variables - term.variables;
    return { p, q, e, value, dormantRounds, coefficient: mul(term.coefficient, pow(HALF, BigInt(dormantRounds))) };
  });
  for (let round = 0; round < variables; round++) {
    const total = new Array<bigint>(degree).fill(0n);
    const sum = (values: readonly bigint[], scale: bigint): void =>
      values.forEach((v, i) => (total[i] = add(total[i]!, mul(scale, v))));
    for (const { p, q, e, value, dormantRounds, coefficient } of active) {
      if (round < dormantRounds) {
        // Constant in this variable: half of what is left of the sum.
        const constant = mul(pow(2n, BigInt(dormantRounds - 1 - round)), value);
        sum(new Array<bigint>(degree).fill(constant), coefficient);
      } else if (e) sum(rounds.cubic(e, p, q), coefficient);
      else sum(quadratic(rounds, p, q, value, degree), coefficient);
    }
    const r = sumcheck.round(total);
    for (const term of active) {
      if (round < term.dormantRounds) continue;
      term.p = fr.fold(term.p, r);
      term.q = fr.fold(term.q, r);
      if (term.e) term.e = fr.fold(term.e, r);
      else term.value = fr.dot(term.p, term.q);
    }
  }
  return {
    rounds: sumcheck.rounds,
    point: sumcheck.point,
    operands: active.flatMap(({ p, q }) => [fr.at(p, 0), fr.at(q, 0)]),
  };
}

/** sum_x P Q under its own value: the polynomial's values at 0, 2 and, where other products have degree 3, at 3. */
function quadratic(rounds: Arithmetic['rounds'], p: FrVector, q: FrVector, value: bigint, degree: number): bigint[] {
  const [g0, g2] = rounds.products([{ a: p, p: q }], value);
  const g1 = sub(value, g0);
  // Third differences of a polynomial of degree 2 vanish.
  return degree === 2 ? [g0, g2] : [g0, g2, add(mul(3n, sub(g2, g1)), g0)];
}
