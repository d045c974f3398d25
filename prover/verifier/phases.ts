/**
 * The three phases of a proof, over numbers or over wires: everything between the commitments and the one opening.
 *
 *   commitments y, r0, r1, m -> alpha, beta, r_e, tau_out -> commitments gw, gx, gt -> tau, lambda
 *   -> phase L (lookups) -> values at r* -> chunk points, lambda -> D -> phase A (products) -> operands -> gamma
 *   -> phase O (opening sumcheck) -> coefficients of all columns, a point, a value
 */
import { inverse, pow } from '../field/fr.js';
import type { Field } from '../field/field.js';
import { claimsOver, outputPointBits, wordPointBits, type ProductTerm, type PublicValues } from '../plan/claims.js';
import { coefficientsOver, type OpeningEntry } from '../plan/coefficients.js';
import { lookupOver } from '../plan/lookup.js';
import { chunkBits, type Plan } from '../plan/plan.js';
import type { Messages } from '../transcript/transcript.js';
import { sumcheckOver } from './sumcheck.js';

/** A field in which equations can be demanded. */
export interface CheckedField<E> extends Field<E> {
  /** @param message which check fails where the two differ. */
  readonly requireEqual: (a: E, b: E, message: string) => void;
}

/** What a prover sends in the phases; proof.ts has the meaning of each. */
export interface PhaseMessages<E = bigint> {
  readonly lookupRounds: readonly (readonly E[])[];
  readonly values: readonly E[];
  readonly direct: E;
  readonly arithmeticRounds: readonly (readonly E[])[];
  readonly operands: readonly E[];
  readonly openingRounds: readonly (readonly E[])[];
}

/** What is left to be opened: sum_c coefficient_c column_c at the point is the value. */
export interface PhaseResult<E = bigint> {
  readonly coefficients: readonly E[];
  readonly point: readonly E[];
  readonly value: E;
}

/** A transcript that has absorbed the statement, and can absorb the commitments before and after the lookup challenges. */
export interface PhaseTranscript<E> extends Messages<E> {
  absorbColumns(label: 'commitments' | 'helper commitments'): void;
}

const HALF = inverse(2n);

/** The formulas over a field. */
export function phasesOver<E>(field: CheckedField<E>) {
  const { zero, one, of, add, mul, sub, requireEqual } = field;
  const { collectClaims, operandClaim, sharedWeightAt } = claimsOver(field);
  const { bracketWeights, lookupSummand, publicPart, unflattenValues } = lookupOver(field);
  const columnCoefficients = coefficientsOver(field);
  const { verifySumcheck } = sumcheckOver(field);

  /** Runs every check of the phases. */
  function verifyPhases(
    plan: Plan,
    messages: PhaseMessages<E>,
    publicValues: PublicValues<E>,
    transcript: PhaseTranscript<E>,
  ): PhaseResult<E> {
    transcript.absorbColumns('commitments');
    const alpha = transcript.challenge('alpha');
    const beta = transcript.challenge('beta');
    const word = transcript.challenges('r_e', wordPointBits(plan));
    const output = transcript.challenges('tau_out', outputPointBits(plan));
    transcript.absorbColumns('helper commitments');
    const tau = transcript.challenges('tau', plan.lookupBits);
    const bracket = transcript.challenge('lookup lambda');

    const lookup = verifySumcheck(transcript, 'lookup', zero, messages.lookupRounds);
    const atPoint = unflattenValues(plan, messages.values);
    const known = publicPart(plan, tau, lookup.point);
    const summand = lookupSummand(plan, { alpha, beta }, bracketWeights(plan, bracket), atPoint, known);
    requireEqual(summand, lookup.claim, 'phase L: the lookup relation does not hold at its end point');
    transcript.absorbScalars('lookup values', messages.values);
    const witness = [...transcript.challenges('witness chunk point', chunkBits(plan.witnessChunks)), ...lookup.point];
    const table = [...transcript.challenges('table chunk point', chunkBits(plan.tableChunks)), ...lookup.point];
    const lambda = transcript.challenge('lambda');

    const claims = collectClaims(plan, { witness, table, output, word, lambda }, atPoint, publicValues);
    transcript.absorbScalars('direct', [messages.direct]);
    const entries: OpeningEntry<E>[] = [{ scale: one, functionals: claims.direct }];
    const arithmetic = verifySumcheck(
      transcript,
      'arithmetic',
      sub(claims.total, messages.direct),
      messages.arithmeticRounds,
    );
    const terms = productTerms(plan, claims.products, arithmetic.point, messages.operands);
    requireEqual(terms.total, arithmetic.claim, 'phase A: the products do not hold at their end point');
    transcript.absorbScalars('operands', messages.operands);

    const gamma = transcript.challenge('gamma');
    let claim = messages.direct;
    let power = one;
    for (const { value, functionals } of terms.operands) {
      power = mul(power, gamma);
      claim = add(claim, mul(power, value));
      entries.push({ scale: power, functionals });
    }
    const opening = verifySumcheck(transcript, 'opening', claim, messages.openingRounds);
    return {
      coefficients: columnCoefficients(plan, entries, opening.point),
      point: opening.point,
      value: opening.claim,
    };
  }

  /**
   * The end of phase A: sum_k 2^-(m - m_k) c_k E_k P_k Q_k, term k at the last m_k coordinates of the point; and the
   * operands as entries of phase O. A term with fewer variables lies dormant in the first rounds, halved in each.
   */
  function productTerms(
    plan: Plan,
    products: readonly ProductTerm<E>[],
    point: readonly E[],
    operands: readonly E[],
  ): { total: E; operands: { value: E; functionals: OpeningEntry<E>['functionals'] }[] } {
    let total = zero;
    const claimed = products.flatMap((term, k) => {
      const rho = point.slice(point.length - term.variables);
      const [p, q] = [operands[2 * k]!, operands[2 * k + 1]!];
      const weight = mul(
        mul(term.coefficient, of(pow(HALF, BigInt(point.length - term.variables)))),
        sharedWeightAt(plan, term, rho),
      );
      total = add(total, mul(weight, mul(p, q)));
      return (['p', 'q'] as const).map((side, i) => {
        const { functionals, constant } = operandClaim(plan, term, side, rho);
        return { value: sub(i === 0 ? p : q, constant), functionals };
      });
    });
    return { total, operands: claimed };
  }

  return { verifyPhases };
}
