/** The reference prover over plain columns, to be attacked: no curve, so that thousands of forgeries take minutes. */
import { toField } from '../field/fr.js';
import type { ProgramWithModel } from '../program/build-program.js';
import { modelColumns } from '../prover/witness.js';
import { PLAIN_SRS_ID, plainCommitment, plainOpening, plainScheme } from '../reference/plain-scheme.js';
import { referenceProve, type ReferenceCommitter } from '../reference/reference-prover.js';
import type { ModelKey } from '../verifier/model-key.js';
import { verifyProof } from '../verifier/verify-proof.js';
import type { AuditedProver } from './audited-prover.js';

export const plainCommitter: ReferenceCommitter = {
  name: 'plain',
  code: 0,
  srsId: PLAIN_SRS_ID,
  commit: (column) => Promise.resolve(plainCommitment(column)),
  open: (_transcript, _claim, columns) => Promise.resolve(plainOpening(columns)),
};

export function plainKey(built: ProgramWithModel): ModelKey {
  const { program } = built;
  const cells = modelColumns(built);
  const size = 2 ** program.modelBits;
  const commitments = Array.from({ length: cells.length / size }, (_, c) =>
    plainCommitment(Array.from(cells.subarray(c * size, (c + 1) * size), toField)),
  );
  const zeros = `0x${'00'.repeat(32)}`;
  return { roots: { graphRoot: zeros, weightsRoot: zeros, opCount: 0 }, srsId: PLAIN_SRS_ID, program, commitments };
}

export const plainProver: AuditedProver = {
  name: 'reference prover, plain columns',
  key: (built) => Promise.resolve(plainKey(built)),
  prove: (statement, witnesses, n, bound, tampering) =>
    referenceProve(statement, witnesses, n, plainCommitter, bound, tampering),
  verify: (statement, proof, bound) => verifyProof(statement, proof, plainScheme, bound),
};
