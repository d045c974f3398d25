/** Openings of consecutive chunks of a committed tensor. */
import { AssayError } from '../../common/errors.js';
import { sizeOf } from '../tensor.js';
import { decodeElements, elementWidth, fromHex, isElementRange, toHex } from './encoding.js';
import { HASH_BYTES, merkleOpening, valueFromOpening } from './merkle.js';
import { TAG } from './tags.js';
import {
  CHUNK_ELEMENTS,
  chunkLeaf,
  chunkLength,
  chunkLeaves,
  rootFromTree,
  tensorChunks,
  tensorHeader,
} from './tensor-root.js';
import type { CommittedInfo, TensorHeader } from './tensor-root.js';

/** Plain JSON. */
export interface ChunkOpening {
  readonly header: TensorHeader;
  /** Index of the first chunk. */
  readonly first: number;
  /** Encoded elements of each chunk, 0x-hex. */
  readonly chunks: readonly string[];
  /** Siblings in the order of merkle.ts step 4, 0x-hex. */
  readonly siblings: readonly string[];
}

export type ChunkVerdict =
  | { readonly valid: true; readonly firstElement: number; readonly values: Int32Array }
  | { readonly valid: false; readonly reason: string };

/** @throws AssayError OPENING_INVALID where the chunks do not exist. */
export function openChunks(
  info: CommittedInfo,
  data: Int32Array,
  items: number,
  first: number,
  count: number,
): ChunkOpening {
  const chunks = tensorChunks(info, data, items);
  if (!Number.isInteger(first) || !Number.isInteger(count) || first < 0 || count < 1 || first + count > chunks.length)
    throw new AssayError(
      'OPENING_INVALID',
      `chunks ${first}..${first + count - 1} do not exist: the tensor has ${chunks.length}`,
    );
  const siblings = merkleOpening(TAG.tensorNode, chunkLeaves(info, chunks), first, first + count - 1);
  return {
    header: tensorHeader(info, items),
    first,
    chunks: chunks.slice(first, first + count).map(toHex),
    siblings: siblings.map(toHex),
  };
}

const isUint32 = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;
const isInt32 = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= -(2 ** 31) && (value as number) < 2 ** 31;

/** Why a header is not one that a tensor of integers or of float32 has; null where it is. */
function headerFault(header: TensorHeader): string | null {
  const { range, shape, layout, items, chunkCount } = header;
  if (!isInt32(range.lo) || !isInt32(range.hi) || !isElementRange(range)) return 'range';
  if (!shape.every((side) => isUint32(side) && side >= 1) || shape.length > 255) return 'shape';
  if (layout.length !== shape.length || [...layout].sort((p, q) => p - q).some((axis, i) => axis !== i))
    return 'layout';
  if (!isUint32(items) || items < 1) return 'items';
  if (!isUint32(chunkCount) || chunkCount !== Math.ceil((items * sizeOf(shape)) / CHUNK_ELEMENTS)) return 'chunk count';
  return null;
}

/**
 * Checks that the opening shows consecutive elements, in committed order, of the tensor behind `root`.
 * Values outside the header's range are valid here: such an encoding is the fault of whoever committed to it. Those of a
 * tensor of float32 are the elements' bits; the header's range tells (encoding.ts).
 * The opening's JSON shape is trusted; its contents are not.
 */
export function verifyChunks(root: string, opening: ChunkOpening): ChunkVerdict {
  const invalid = (reason: string): ChunkVerdict => ({ valid: false, reason });
  const { header, first } = opening;
  const fault = headerFault(header);
  if (fault !== null) return invalid(`malformed header: ${fault}`);
  if (!isUint32(first)) return invalid('malformed chunk index');
  const width = elementWidth(header.range);
  const leaves: Uint8Array[] = [];
  const values: number[] = [];
  for (const [i, text] of opening.chunks.entries()) {
    const length = chunkLength(header, first + i);
    const bytes = fromHex(text, length * width);
    if (bytes === null || length === 0)
      return invalid(`chunk ${first + i} must be ${length * width} bytes of lower-case hex`);
    leaves.push(chunkLeaf(first + i, length, bytes));
    values.push(...decodeElements(bytes, width, header.range.lo < 0));
  }
  const siblings = opening.siblings.map((text) => fromHex(text, HASH_BYTES));
  if (siblings.includes(null)) return invalid('a sibling is not 32 bytes of lower-case hex');
  const value = valueFromOpening(TAG.tensorNode, leaves, first, header.chunkCount, siblings as Uint8Array[]);
  if (value === null) return invalid('wrong number of chunks or siblings');
  if (toHex(rootFromTree(header, value)) !== root) return invalid('the root computed from the opening differs');
  return { valid: true, firstElement: first * CHUNK_ELEMENTS, values: Int32Array.from(values) };
}
