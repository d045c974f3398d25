/** The reference prover over real commitments, to be attacked: KZG under a development SRS, opened by Mercury. */
import { wasmBackend } from '../../opening/wasm-backend.js';
import { makeModelKey } from '../../prover/make-key.js';
import { referenceProve } from '../../reference/reference-prover.js';
import { developmentSrs } from '../../srs/development-cache.js';
import { openingKey } from '../../srs/srs.js';
import { kzgScheme } from '../../verifier/kzg-scheme.js';
import type { ModelKey } from '../../verifier/model-key.js';
import { verifyProof } from '../../verifier/verify-proof.js';
import { kzgCommitter } from '../../testing/kzg-committer.js';
import type { Arithmetic } from '../../wasm/arithmetic.js';
import type { AuditedProver } from '../audited-prover.js';
import { plainKey } from '../plain-prover.js';

/** log2 of the longest column. */
const LARGEST = 13;

export function kzgProver(arithmetic: Arithmetic): AuditedProver {
  const srs = developmentSrs(2 ** LARGEST, { arithmetic });
  const backend = wasmBackend(arithmetic, srs);
  const scheme = kzgScheme('mercury', openingKey(srs));
  const committer = kzgCommitter(arithmetic, backend);
  return {
    name: 'reference prover, KZG and Mercury',
    // The roots of a plain key, since these graphs have no ports to describe.
    key: (built): Promise<ModelKey> => {
      const { program } = built;
      const graph = { name: '', tensors: [], nodes: [], inputs: [], outputs: [] };
      const key = makeModelKey({ graph, inputs: [], outputs: [] }, built, { arithmetic, backend });
      return Promise.resolve({ ...key, program, roots: plainKey(built).roots });
    },
    prove: (statement, witnesses, n, bound, tampering) =>
      referenceProve(statement, witnesses, n, committer, bound, tampering),
    verify: (statement, proof, bound) => verifyProof(statement, proof, scheme, bound),
  };
}
