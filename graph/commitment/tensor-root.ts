/**
 * Commitment to one tensor: weights, tables, inputs and trace slots alike.
 *
 * Symbols. Elements e_0 .. e_{L-1}: L = items * size(shape), item outermost, then the item's axes in the order of
 * `layout` (outermost first). lo, hi the declared range. Encoding of elements: encoding.ts. Tags: tags.ts.
 *   1. Chunk i holds elements 64i .. min(64i + 64, L) - 1; there are n = ceil(L / 64) chunks. The last may be shorter
 *      and is not padded.
 *   2. Chunk leaf: keccak256(0x10 | uint32 i | uint8 number of elements | encoded elements).
 *   3. Tree: merkle.ts over the leaves with node tag 0x11.
 *   4. Tensor root: keccak256(0x12 | header | tree value), header = int32 lo | int32 hi | uint8 rank |
 *      rank * uint32 side | rank * uint8 layout axis | uint32 items | uint32 n.
 * The root binds range, shape, layout, items and number of chunks; element width and L follow from them. An opened
 * chunk must have exactly the bytes that the header gives it. A zero-knowledge receipt uses another scheme.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { AssayError } from '../../common/errors.js';
import { CHUNK_ELEMENTS } from './chunk-size.js';
import { sizeOf, stridesOf } from '../tensor.js';
import type { IntRange, TensorInfo } from '../integer/types.js';
import { elementWidth, encodeElements, Preimage, toHex } from './encoding.js';
import { merkleValue } from './merkle.js';
import { TAG } from './tags.js';
import { fastTreeValue } from './wasm/own-kernels.js';

export { CHUNK_ELEMENTS };

/** What of a tensor its root binds besides the elements. */
export type CommittedInfo = Pick<TensorInfo, 'shape' | 'range' | 'layout'>;

export interface TensorHeader {
  readonly range: IntRange;
  readonly shape: readonly number[];
  readonly layout: readonly number[];
  readonly items: number;
  readonly chunkCount: number;
}

export function tensorHeader(info: CommittedInfo, items: number): TensorHeader {
  const { range, shape, layout } = info;
  return { range, shape, layout, items, chunkCount: Math.ceil((items * sizeOf(shape)) / CHUNK_ELEMENTS) };
}

/** Number of elements that chunk `index` of a tensor has; 0 outside. */
export function chunkLength(header: TensorHeader, index: number): number {
  return Math.max(0, Math.min(CHUNK_ELEMENTS, header.items * sizeOf(header.shape) - CHUNK_ELEMENTS * index));
}

/** Elements in committed order (item outermost, then axes by layout). */
export function inLayout(info: CommittedInfo, data: Int32Array, items: number): Int32Array {
  if (info.layout.every((axis, i) => axis === i)) return data;
  const size = sizeOf(info.shape);
  const strides = stridesOf(info.shape);
  // Offsets of one item in committed order, axis by axis from the outermost.
  let offsets = [0];
  for (const axis of info.layout) {
    const next: number[] = [];
    for (const offset of offsets) for (let i = 0; i < info.shape[axis]!; i++) next.push(offset + i * strides[axis]!);
    offsets = next;
  }
  const ordered = new Int32Array(data.length);
  for (let item = 0; item < items; item++)
    for (let i = 0; i < size; i++) ordered[item * size + i] = data[item * size + offsets[i]!]!;
  return ordered;
}

/** Step 2 for encoded bytes. */
export function chunkLeaf(index: number, length: number, encoded: Uint8Array): Uint8Array {
  const preimage = new Uint8Array(6 + encoded.length);
  preimage[0] = TAG.chunk;
  new DataView(preimage.buffer).setUint32(1, index);
  preimage[5] = length;
  preimage.set(encoded, 6);
  return keccak_256(preimage);
}

/** @throws AssayError INPUT_RANGE */
export function checkLength(info: CommittedInfo, data: Int32Array, items: number): void {
  const expected = items * sizeOf(info.shape);
  if (!Number.isInteger(items) || items < 1 || data.length !== expected)
    throw new AssayError(
      'INPUT_RANGE',
      `a commitment to ${items} items of [${info.shape.join(', ')}] needs ${expected} elements, found ${data.length}`,
    );
}

/** Encoded bytes of every chunk. @throws AssayError INPUT_RANGE for a wrong length or an element outside the range. */
export function tensorChunks(info: CommittedInfo, data: Int32Array, items: number): Uint8Array[] {
  checkLength(info, data, items);
  const { lo, hi } = info.range;
  const outside = data.findIndex((v) => v < lo || v > hi);
  if (outside >= 0)
    throw new AssayError(
      'INPUT_RANGE',
      `element ${outside} is ${data[outside]}, outside the committed range ${lo}..${hi}`,
      { meta: { element: outside, value: data[outside]!, range: info.range } },
    );
  const width = elementWidth(info.range);
  const bytes = encodeElements(inLayout(info, data, items), width);
  const step = CHUNK_ELEMENTS * width;
  return Array.from({ length: Math.ceil(bytes.length / step) }, (_, i) => bytes.subarray(i * step, (i + 1) * step));
}

/** Step 2 for a whole tensor. */
export function chunkLeaves(info: CommittedInfo, chunks: readonly Uint8Array[]): Uint8Array[] {
  const width = elementWidth(info.range);
  return chunks.map((bytes, i) => chunkLeaf(i, bytes.length / width, bytes));
}

/** The header's bytes, as in step 4. */
export function encodeHeader({ range, shape, layout, items, chunkCount }: TensorHeader): Uint8Array {
  const bytes = new Preimage().i32(range.lo).i32(range.hi).u8(shape.length);
  for (const side of shape) bytes.u32(side);
  for (const axis of layout) bytes.u8(axis);
  return bytes.u32(items).u32(chunkCount).done();
}

/** Step 4. */
export function rootFromTree(header: TensorHeader, treeValue: Uint8Array): Uint8Array {
  return new Preimage().u8(TAG.tensorRoot).raw(encodeHeader(header)).raw(treeValue).hash();
}

/** Steps 1 to 3 in JavaScript: what the kernels of wasm/ are held against, and what browsers run. */
export const slowTreeValue = (info: CommittedInfo, data: Int32Array, items: number): Uint8Array =>
  merkleValue(TAG.tensorNode, chunkLeaves(info, tensorChunks(info, data, items)));

/** As tensorRoot, in bytes. */
export function tensorRootBytes(info: CommittedInfo, data: Int32Array, items: number): Uint8Array {
  checkLength(info, data, items);
  // The slow way names the element that the kernels only refuse.
  const value = fastTreeValue(info, data, items) ?? slowTreeValue(info, data, items);
  return rootFromTree(tensorHeader(info, items), value);
}

/**
 * Root of `items` items of a tensor.
 * @param data in memory order (row-major by `shape`, item outermost).
 * @throws AssayError INPUT_RANGE for a wrong length or an element outside the range.
 */
export function tensorRoot(info: CommittedInfo, data: Int32Array, items: number): string {
  return toHex(tensorRootBytes(info, data, items));
}
