/**
 * The verifier: reads a proof that the integer models of a statement, applied to its public inputs, give its public
 * outputs. Exactly; there is no tolerance anywhere. docs/protocol.md has the protocol and its soundness; this file has
 * every check, in order. It never asks the proof how many of anything there are: the plan says so.
 *
 *   statement -> commitments y, r0, r1, m -> alpha, beta, r_e, tau_out -> commitments gw, gx, gt -> tau, lambda
 *   -> phase L (lookups) -> values at r* -> chunk points, lambda -> D -> phase A (products) -> operands -> gamma
 *   -> phase O (opening sumcheck) -> one opening of one combination of all columns
 */
import { AssayError } from '../../common/errors.js';
import { add, inverse, mul, pow, sub } from '../field/fr.js';
import { columnCoefficients, type OpeningEntry } from '../plan/coefficients.js';
import {
  collectClaims,
  operandClaim,
  outputPointBits,
  sharedWeightAt,
  wordPointBits,
  type ProductTerm,
} from '../plan/claims.js';
import { bracketWeights, lookupSummand, publicPart, unflattenValues } from '../plan/lookup.js';
import { chunkBits, columnsOf, makePlan, type Plan } from '../plan/plan.js';
import type { Transcript } from '../transcript/transcript.js';
import { KeccakTranscript } from '../transcript/transcript.js';
import { decodeProof, proofShape, readProofHeader, type Proof } from './proof.js';
import { productShape } from './product-shape.js';
import type { CommitmentScheme } from './scheme.js';
import { absorbStatement, publicValues, type Statement } from './statement.js';
import { verifySumcheck } from './sumcheck.js';

const HALF = inverse(2n);

const invalid = (message: string): never => {
  throw new AssayError('PROOF_INVALID', message);
};

/**
 * @param bound what else the proof must be tied to (an order's hash); the prover absorbed the same bytes.
 * @throws AssayError PROOF_INVALID naming the check that fails; PROOF_LIMITS where the statement is beyond the protocol.
 */
export function verifyProof(
  statement: Statement,
  bytes: Uint8Array,
  scheme: CommitmentScheme,
  bound: Uint8Array = new Uint8Array(0),
  transcript: Transcript = new KeccakTranscript(),
): void {
  const header = readProofHeader(bytes);
  if (header.scheme !== scheme.code) invalid(`the proof is of another commitment scheme than '${scheme.name}'`);
  for (const { key } of statement.groups)
    if (!key.srsId.every((byte, i) => byte === scheme.srsId[i]) || key.srsId.length !== scheme.srsId.length)
      invalid('the model key was made with another SRS');
  const groups = statement.groups.map(({ key, items }) => ({ program: key.program, items }));
  const plan = makePlan(groups, header.n);
  statement.groups.forEach(({ key }, g) => {
    if (key.commitments.length !== plan.groups[g]!.modelChunks)
      invalid(
        `the model key of group ${g} has ${key.commitments.length} commitments, its program ${plan.groups[g]!.modelChunks}`,
      );
  });
  const columns = columnsOf(plan);
  const shape = proofShape(plan, productShape(plan), scheme.openingBytes(plan.n, columns.length));
  const proof = decodeProof(bytes, shape);
  const values = publicValues(statement);

  absorbStatement(transcript, { scheme: scheme.name, srsId: scheme.srsId, bound }, plan, statement, values);
  transcript.absorbPoints('commitments', proof.witness);
  const alpha = transcript.challenge('alpha');
  const beta = transcript.challenge('beta');
  const word = transcript.challenges('r_e', wordPointBits(plan));
  const output = transcript.challenges('tau_out', outputPointBits(plan));
  transcript.absorbPoints('helper commitments', proof.helpers);
  const tau = transcript.challenges('tau', plan.lookupBits);
  const bracket = transcript.challenge('lookup lambda');

  const lookup = verifySumcheck(transcript, 'lookup', 0n, proof.lookupRounds);
  const atPoint = unflattenValues(plan, proof.values);
  const known = publicPart(plan, tau, lookup.point);
  const summand = lookupSummand(plan, { alpha, beta }, bracketWeights(plan, bracket), atPoint, known);
  if (summand !== lookup.claim) invalid('phase L: the lookup relation does not hold at its end point');
  transcript.absorbScalars('lookup values', proof.values);
  const witness = [...transcript.challenges('witness chunk point', chunkBits(plan.witnessChunks)), ...lookup.point];
  const table = [...transcript.challenges('table chunk point', chunkBits(plan.tableChunks)), ...lookup.point];
  const lambda = transcript.challenge('lambda');

  const claims = collectClaims(plan, { witness, table, output, word, lambda }, atPoint, values);
  transcript.absorbScalars('direct', [proof.direct]);
  const entries: OpeningEntry[] = [{ scale: 1n, functionals: claims.direct }];
  const arithmetic = verifySumcheck(transcript, 'arithmetic', sub(claims.total, proof.direct), proof.arithmeticRounds);
  const terms = productTerms(plan, claims.products, arithmetic.point, proof);
  if (terms.total !== arithmetic.claim) invalid('phase A: the products do not hold at their end point');
  transcript.absorbScalars('operands', proof.operands);

  const gamma = transcript.challenge('gamma');
  let claim = proof.direct;
  let power = 1n;
  for (const { value, functionals } of terms.operands) {
    power = mul(power, gamma);
    claim = add(claim, mul(power, value));
    entries.push({ scale: power, functionals });
  }
  const opening = verifySumcheck(transcript, 'opening', claim, proof.openingRounds);
  scheme.verify(
    transcript,
    {
      n: plan.n,
      commitments: [...proof.witness, ...proof.helpers, ...statement.groups.flatMap(({ key }) => key.commitments)],
      coefficients: columnCoefficients(plan, entries, opening.point),
      point: opening.point,
      value: opening.claim,
    },
    proof.opening,
  );
}

/**
 * The end of phase A: sum_k 2^-(m - m_k) c_k E_k P_k Q_k, term k at the last m_k coordinates of the point; and the
 * operands as entries of phase O. A term with fewer variables lies dormant in the first rounds, halved in each.
 */
function productTerms(
  plan: Plan,
  products: readonly ProductTerm[],
  point: readonly bigint[],
  proof: Proof,
): { total: bigint; operands: { value: bigint; functionals: OpeningEntry['functionals'] }[] } {
  let total = 0n;
  const operands = products.flatMap((term, k) => {
    const rho = point.slice(point.length - term.variables);
    const [p, q] = [proof.operands[2 * k]!, proof.operands[2 * k + 1]!];
    const weight = mul(
      mul(term.coefficient, pow(HALF, BigInt(point.length - term.variables))),
      sharedWeightAt(plan, term, rho),
    );
    total = add(total, mul(weight, mul(p, q)));
    return (['p', 'q'] as const).map((side, i) => {
      const { functionals, constant } = operandClaim(plan, term, side, rho);
      return { value: sub(i === 0 ? p : q, constant), functionals };
    });
  });
  return { total, operands };
}
