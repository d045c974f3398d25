/** A tensor's header from the bytes that its root binds (graph/commitment/tensor-root.ts step 4). */
import { hexToBytes } from '@noble/hashes/utils.js';
import { isElementRange } from '../../graph/commitment/encoding.js';
import { CHUNK_ELEMENTS, type TensorHeader } from '../../graph/commitment/tensor-root.js';
import type { Hex } from '../../receipts/types.js';

/** Chunks are counted in 32 bits. */
const MOST_ELEMENTS = CHUNK_ELEMENTS * 2 ** 32;
const FIXED_BYTES = 17;

/** Bytes of a header that begins so, or null where even its rank is missing. */
export const headerLength = (bytes: Uint8Array): number | null =>
  bytes.length < 9 ? null : FIXED_BYTES + 5 * bytes[8]!;

/** The header, or null where no tensor of integers or of float32 has it (encoding.ts has the mark of these). What the chain reads (TensorTree.readHeader) is what this reads. */
export function readHeader(header: Hex): TensorHeader | null {
  const bytes = hexToBytes(header.slice(2));
  if (headerLength(bytes) !== bytes.length) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const rank = bytes[8]!;
  const range = { lo: view.getInt32(0), hi: view.getInt32(4) };
  const shape = Array.from({ length: rank }, (_, axis) => view.getUint32(9 + 4 * axis));
  const layout = [...bytes.subarray(9 + 4 * rank, 9 + 5 * rank)];
  const items = view.getUint32(9 + 5 * rank);
  const chunkCount = view.getUint32(13 + 5 * rank);
  let elements = items;
  for (const side of shape) {
    elements *= side;
    if (elements > MOST_ELEMENTS) return null;
  }
  const valid =
    isElementRange(range) &&
    [...layout].sort((a, b) => a - b).every((axis, i) => axis === i) &&
    elements > 0 &&
    chunkCount === Math.ceil(elements / CHUNK_ELEMENTS);
  return valid ? { range, shape, layout, items, chunkCount } : null;
}
