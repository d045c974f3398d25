/** HyperKZG: the prover. Steps and symbols are those of hyperkzg.ts. */
import { mul, neg, powers } from '../field/fr.js';
import type { Transcript } from '../transcript/transcript.js';
import { absorbClaim } from './claim.js';
import { HYPERKZG_TAG } from './hyperkzg.js';
import { ProofWriter } from './proof-writer.js';
import { scoped } from './scoped.js';
import type { OpeningClaim, OpeningProver, PolynomialBackend } from './types.js';

export const hyperKzgProver: OpeningProver = {
  prove: (transcript, claim, f, backend) => scoped(backend, () => prove(transcript, claim, f, backend)),
};

function prove<V>(transcript: Transcript, claim: OpeningClaim, f: V, backend: PolynomialBackend<V>): Uint8Array {
  const { n, point } = claim;
  absorbClaim(HYPERKZG_TAG, transcript, claim, backend.srsId);
  const writer = new ProofWriter(transcript);

  // Step 1.
  const folds = [f];
  for (let i = 0; i + 1 < n; i++) folds.push(backend.fold(folds[i]!, point[n - 1 - i]!));
  writer.points(
    'hyperkzg folds',
    folds.slice(1).map((fold) => backend.commit(fold)),
  );
  const r = transcript.challenge('hyperkzg r');

  // Step 2.
  const at = [r, neg(r), mul(r, r)];
  for (const [row, label] of ['hyperkzg at r', 'hyperkzg at -r', 'hyperkzg at r^2'].entries()) {
    writer.scalars(
      label,
      folds.map((fold) => backend.evaluate(fold, at[row]!)),
    );
  }

  // Step 3; d of step 4 is the verifier's alone, but both transcripts must end in the same state.
  const combined = backend.combine(folds, powers(transcript.challenge('hyperkzg q'), n));
  writer.points(
    'hyperkzg witnesses',
    at.map((root) => scoped(backend, () => backend.commit(backend.quotient(combined, root)))),
  );
  transcript.challenge('hyperkzg d');
  return writer.proof();
}
