/** Real commitments for the reference prover: KZG in WebAssembly, opened by Mercury. */
import { mercuryProver } from '../opening/mercury-prover.js';
import type { WasmBackend } from '../opening/wasm-backend.js';
import type { ReferenceCommitter } from '../reference/reference-prover.js';
import { SCHEME_CODE } from '../verifier/kzg-scheme.js';
import type { Arithmetic } from '../wasm/arithmetic.js';

export function kzgCommitter({ fr, memory }: Arithmetic, backend: WasmBackend): ReferenceCommitter {
  return {
    name: 'mercury',
    code: SCHEME_CODE.mercury,
    srsId: backend.srsId,
    commit: (column) => Promise.resolve(memory.scoped(() => backend.commit(fr.fromBigInts(column)))),
    open: (transcript, claim, columns) =>
      Promise.resolve(
        memory.scoped(() => {
          const vectors = columns.map((column) => fr.fromBigInts(column));
          return mercuryProver.prove(transcript, claim, backend.combine(vectors, claim.coefficients), backend);
        }),
      ),
  };
}
