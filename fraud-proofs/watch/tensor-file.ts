/**
 * Tensors as a file: the inputs of a job, or the slots of a trace, where both sides hold the model.
 *
 *   uint32 items | for each tensor, in order: its elements in memory order, two's complement, big-endian, in the width that
 *   its declared range has under hashes (graph/commitment/encoding.ts).
 *
 * The model says what the tensors are, so a file of another length is none of it. Nothing here is trusted: whoever reads a
 * file computes the root again.
 */
import { AssayError } from '../../common/errors.js';
import { decodeElements, elementWidth, encodeElements, sizeOf, type IntegerGraph } from '../../graph/index.js';

export type TensorInfos = readonly Pick<IntegerGraph['tensors'][number], 'shape' | 'range'>[];

export interface TensorsOfFile {
  readonly items: number;
  /** In memory order, item outermost. */
  readonly tensors: Int32Array[];
}

const COUNT_BYTES = 4;

export function encodeTensors(infos: TensorInfos, tensors: readonly Int32Array[], items: number): Uint8Array {
  const count = new Uint8Array(COUNT_BYTES);
  new DataView(count.buffer).setUint32(0, items);
  return Buffer.concat([count, ...infos.map(({ range }, i) => encodeElements(tensors[i]!, elementWidth(range)))]);
}

/** @throws AssayError TENSOR_FILE_INVALID where these are not the bytes of some items of these tensors. */
export function decodeTensors(infos: TensorInfos, bytes: Uint8Array): TensorsOfFile {
  const invalid = (found: string): AssayError =>
    new AssayError('TENSOR_FILE_INVALID', `file of ${infos.length} tensors: ${found}`);
  if (bytes.length < COUNT_BYTES) throw invalid(`${bytes.length} bytes, which hold no count of items`);
  const items = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const itemBytes = infos.reduce((sum, { shape, range }) => sum + sizeOf(shape) * elementWidth(range), 0);
  if (items === 0 || bytes.length !== COUNT_BYTES + items * itemBytes)
    throw invalid(`expected ${items} items of ${itemBytes} bytes each, found ${bytes.length - COUNT_BYTES} bytes`);
  let at = COUNT_BYTES;
  const tensors = infos.map(({ shape, range }) => {
    const width = elementWidth(range);
    const own = bytes.subarray(at, (at += items * sizeOf(shape) * width));
    return decodeElements(own, width, range.lo < 0);
  });
  return { items, tensors };
}
