/**
 * Commitments to tensors of float32: the trees of graph/commitment/tensor-root.ts over other elements.
 *
 *   1. An element is its four bytes as IEEE 754 binary32, big-endian; NaNs with their payload.
 *   2. Header = int32 2^31 - 1 | int32 -2^31 | uint8 rank | rank * uint32 side | rank * uint8 layout axis |
 *      uint32 items | uint32 chunks; why this range: graph/commitment/encoding.ts.
 *   3. Chunks of 64 elements in committed order, leaves, tree and root as there.
 */
import { FLOAT_RANGE, Preimage } from '../../graph/commitment/encoding.js';
import { merkleValue } from '../../graph/commitment/merkle.js';
import { TAG } from '../../graph/commitment/tags.js';
import { CHUNK_ELEMENTS, chunkLeaf, inLayout } from '../../graph/commitment/tensor-root.js';
import { sizeOf } from '../../graph/tensor.js';
import { AssayError } from '../../common/errors.js';

export const FLOAT_WIDTH = 4;

/** A tensor with all that openings of it are made of. */
export interface CommittedTensor {
  readonly header: Uint8Array;
  /** Encoded elements in committed order. */
  readonly elements: Uint8Array;
  readonly leaves: readonly Uint8Array[];
  readonly treeValue: Uint8Array;
  readonly root: Uint8Array;
}

export function floatHeader(shape: readonly number[], layout: readonly number[], items: number): Uint8Array {
  const out = new Preimage().i32(FLOAT_RANGE.lo).i32(FLOAT_RANGE.hi).u8(shape.length);
  for (const side of shape) out.u32(side);
  for (const axis of layout) out.u8(axis);
  return out
    .u32(items)
    .u32(Math.ceil((items * sizeOf(shape)) / CHUNK_ELEMENTS))
    .done();
}

/** The bits of each element. */
export const bitsOf = (data: Float32Array): Uint32Array => new Uint32Array(data.buffer, data.byteOffset, data.length);

/**
 * @param data in memory order, item outermost.
 * @throws AssayError INPUT_RANGE for a wrong number of elements.
 */
export function commitTensor(
  { shape, layout }: { readonly shape: readonly number[]; readonly layout: readonly number[] },
  data: Float32Array,
  items: number,
): CommittedTensor {
  const expected = items * sizeOf(shape);
  if (!Number.isInteger(items) || items < 1 || data.length !== expected)
    throw new AssayError(
      'INPUT_RANGE',
      `a commitment to ${items} items of [${shape.join(', ')}] needs ${expected} elements, found ${data.length}`,
    );
  const bits = new Int32Array(data.buffer, data.byteOffset, data.length);
  const ordered = inLayout({ shape, layout, range: FLOAT_RANGE }, bits, items);
  const elements = new Uint8Array(FLOAT_WIDTH * ordered.length);
  const view = new DataView(elements.buffer);
  for (let i = 0; i < ordered.length; i++) view.setInt32(FLOAT_WIDTH * i, ordered[i]!);
  return committed(floatHeader(shape, layout, items), elements);
}

/** What a header and elements commit to, whether they fit each other or not. */
export function committed(header: Uint8Array, elements: Uint8Array): CommittedTensor {
  const leaves: Uint8Array[] = [];
  for (let from = 0; from < elements.length; from += FLOAT_WIDTH * CHUNK_ELEMENTS) {
    const chunk = elements.subarray(from, from + FLOAT_WIDTH * CHUNK_ELEMENTS);
    leaves.push(chunkLeaf(leaves.length, chunk.length / FLOAT_WIDTH, chunk));
  }
  const treeValue = merkleValue(TAG.tensorNode, leaves);
  const root = new Preimage().u8(TAG.tensorRoot).raw(header).raw(treeValue).hash();
  return { header, elements, leaves, treeValue, root };
}
