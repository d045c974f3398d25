/** Roots of the tensors of one execution, taken tensor by tensor, in any order, as they come to exist. */
import { AssayError } from '../../common/errors.js';
import { tensorRootBytes, type CommittedInfo } from './tensor-root.js';

export interface TraceRun {
  /**
   * @param position of the tensor in what the run was begun with.
   * @param values stay as they are until `roots` returns.
   * @throws AssayError INPUT_RANGE as tensorRoot, here or from `roots`.
   */
  add(position: number, values: Int32Array): void;
  /**
   * One root of 32 bytes per tensor. Once.
   * @throws AssayError INPUT_RANGE as tensorRoot; INTERNAL where a tensor was not added.
   */
  roots(): Uint8Array[];
}

export const missingTensor = (position: number): AssayError =>
  new AssayError('INTERNAL', `tensor ${position} of the trace was not given`);

/** In the calling thread, each tensor when it is added. */
export function directRun(infos: readonly CommittedInfo[], items: number): TraceRun {
  const roots: Uint8Array[] = [];
  return {
    add: (position, values) => {
      roots[position] = tensorRootBytes(infos[position]!, values, items);
    },
    roots: () => infos.map((_, position) => roots[position] ?? fail(position)),
  };
}

function fail(position: number): never {
  throw missingTensor(position);
}
