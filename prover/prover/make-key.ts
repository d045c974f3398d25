/** The model key: commitments to a model's scaled weights, biases and tables. */
import { AssayError } from '../../common/errors.js';
import { modelRoots, type IdentifiedModel } from '../../graph/commitment/model-digest.js';
import type { ProgramWithModel } from '../program/build-program.js';
import type { ModelKey } from '../verifier/model-key.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import type { PointVector } from '../wasm/g1.js';
import { modelColumns } from './witness.js';

/**
 * @param model the bundle that `built` was made from.
 * @throws AssayError SRS_TOO_SMALL.
 */
export function makeModelKey(
  model: IdentifiedModel,
  built: ProgramWithModel,
  {
    arithmetic,
    points,
    srsId,
  }: { readonly arithmetic: Arithmetic; readonly points: PointVector; readonly srsId: Uint8Array },
): ModelKey {
  const { program } = built;
  const size = 2 ** program.modelBits;
  if (points.length < size)
    throw new AssayError('SRS_TOO_SMALL', `the SRS has ${points.length} points, the model's columns need ${size}`);
  const cells = modelColumns(built);
  const { fr, g1, memory } = arithmetic;
  const commitments = Array.from({ length: cells.length / size }, (_, c) =>
    memory.scoped(() =>
      g1.msm({ pointer: points.pointer, length: size }, fr.ints(cells.subarray(c * size, (c + 1) * size))),
    ),
  );
  const { graphRoot, weightsRoot, opCount } = modelRoots(model);
  return { roots: { graphRoot, weightsRoot, opCount }, srsId, program, commitments };
}
