/** The model key: commitments to a model's scaled weights, biases and tables. */
import { AssayError } from '../../common/errors.js';
import { modelRoots, type IdentifiedModel } from '../../graph/commitment/model-digest.js';
import type { WasmBackend } from '../opening/wasm-backend.js';
import type { ProgramWithModel } from '../program/build-program.js';
import type { ModelKey } from '../verifier/model-key.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { modelColumns } from './witness.js';

/**
 * @param model the bundle that `built` was made from.
 * @throws AssayError SRS_TOO_SMALL.
 */
export function makeModelKey(
  model: IdentifiedModel,
  built: ProgramWithModel,
  { arithmetic, backend }: { readonly arithmetic: Arithmetic; readonly backend: WasmBackend },
): ModelKey {
  const { program } = built;
  const size = 2 ** program.modelBits;
  if (backend.size < size)
    throw new AssayError('SRS_TOO_SMALL', `the SRS has ${backend.size} points, the model's columns need ${size}`);
  const cells = modelColumns(built);
  const { fr, memory } = arithmetic;
  const commitments = Array.from({ length: cells.length / size }, (_, c) =>
    memory.scoped(() => backend.commit(fr.ints(cells.subarray(c * size, (c + 1) * size)))),
  );
  const { graphRoot, weightsRoot, opCount } = modelRoots(model);
  return { roots: { graphRoot, weightsRoot, opCount }, srsId: backend.srsId, program, commitments };
}
