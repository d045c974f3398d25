/**
 * The verifier: reads a proof that the integer models of a statement, applied to its public inputs, give its public
 * outputs. Exactly; there is no tolerance anywhere. docs/protocol.md has the protocol and its soundness; this file and
 * phases.ts have every check, in order. It never asks the proof how many of anything there are: the plan says so.
 *
 *   statement -> phases L, A, O (phases.ts) -> one opening of one combination of all columns
 */
import { AssayError } from '../../common/errors.js';
import { FR } from '../field/field.js';
import { columnsOf, makePlan } from '../plan/plan.js';
import type { Transcript } from '../transcript/transcript.js';
import { KeccakTranscript } from '../transcript/transcript.js';
import { phasesOver } from './phases.js';
import { decodeProof, proofShape, readProofHeader } from './proof.js';
import { productShape } from './product-shape.js';
import type { CommitmentScheme } from './scheme.js';
import { absorbStatement, publicValues, type Statement } from './statement.js';

const invalid = (message: string): never => {
  throw new AssayError('PROOF_INVALID', message);
};

const { verifyPhases } = phasesOver<bigint>({
  ...FR,
  requireEqual: (a, b, message) => {
    if (a !== b) invalid(message);
  },
});

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
  const opened = verifyPhases(plan, proof, values, {
    absorbColumns: (label) => transcript.absorbPoints(label, label === 'commitments' ? proof.witness : proof.helpers),
    absorbScalars: (label, scalars) => transcript.absorbScalars(label, scalars),
    challenge: (label) => transcript.challenge(label),
    challenges: (label, count) => transcript.challenges(label, count),
  });
  scheme.verify(
    transcript,
    {
      n: plan.n,
      commitments: [...proof.witness, ...proof.helpers, ...statement.groups.flatMap(({ key }) => key.commitments)],
      ...opened,
    },
    proof.opening,
  );
}
