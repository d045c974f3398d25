/** A committed tensor, as far as it is known: its root always, header, hashes of chunks and chunks where they are. */
import { decodeElements, elementWidth, encodeElements, Preimage, toHex } from '../../graph/commitment/encoding.js';
import { HASH_BYTES } from '../../graph/commitment/merkle.js';
import { TAG } from '../../graph/commitment/tags.js';
import {
  CHUNK_ELEMENTS,
  encodeHeader,
  inLayout,
  rootFromTree,
  tensorHeader,
  type CommittedInfo,
  type TensorHeader,
} from '../../graph/commitment/tensor-root.js';
import { sizeOf, stridesOf } from '../../graph/tensor.js';
import type { Hex } from '../../receipts/types.js';
import type { Run, TensorOpening } from '../../verifier-contracts/dispute-types.js';
import { SparseTree } from './sparse-tree.js';

export const ZERO_HASH: Hex = `0x${'00'.repeat(HASH_BYTES)}`;

/** Position of an element, given in memory order, in committed order; item outermost in both. */
export function committedPosition(info: Pick<CommittedInfo, 'shape' | 'layout'>, element: number): number {
  const { shape, layout } = info;
  if (layout.every((axis, i) => axis === i)) return element;
  const size = sizeOf(shape);
  const own = stridesOf(shape);
  const moved = stridesOf(layout.map((axis) => shape[axis]!));
  const position = element % size;
  return (
    element -
    position +
    layout.reduce((sum, axis, i) => sum + (Math.floor(position / own[axis]!) % shape[axis]!) * moved[i]!, 0)
  );
}

/** Bytes that an opening of chunks first..last costs beyond their elements: siblings, and the fields of a run in the ABI. */
const RUN_BYTES = 160;

/** One tensor whose header is known to be that of `info`. */
export class KnownTensor {
  readonly width: 1 | 2 | 4;
  readonly header: TensorHeader;
  private readonly chunks: (Uint8Array | undefined)[] = [];
  private tree: SparseTree;
  private hashed = true;

  constructor(
    readonly info: CommittedInfo,
    readonly items: number,
  ) {
    this.header = tensorHeader(info, items);
    this.width = elementWidth(info.range);
    this.tree = new SparseTree(TAG.tensorNode, this.header.chunkCount);
  }

  /** From all elements, in memory order. They need only fit the width: a cheat commits to what is out of range, too. */
  static of(info: CommittedInfo, data: Int32Array, items: number): KnownTensor {
    const tensor = new KnownTensor(info, items);
    const bytes = encodeElements(inLayout(info, data, items), tensor.width);
    const step = CHUNK_ELEMENTS * tensor.width;
    for (let i = 0; i < tensor.header.chunkCount; i++) tensor.chunks.push(bytes.subarray(i * step, (i + 1) * step));
    tensor.hashed = false;
    return tensor;
  }

  /** Hashes of its chunks, as far as known. Those of a tensor known altogether are made when first asked for. */
  hashes(): SparseTree {
    if (!this.hashed) {
      const { width } = this;
      this.tree = SparseTree.of(
        TAG.tensorNode,
        // As chunkLeaf, by the fast hash where there is one.
        this.chunks.map((bytes, i) => {
          const head = new Preimage()
            .u8(TAG.chunk)
            .u32(i)
            .u8(bytes!.length / width);
          return head.raw(bytes!).hash();
        }),
      );
      this.hashed = true;
    }
    return this.tree;
  }

  get headerBytes(): Uint8Array {
    return encodeHeader(this.header);
  }

  /** Null where not enough is known. */
  root(): Hex | null {
    const value = this.hashes().value();
    return value === null ? null : (toHex(rootFromTree(this.header, value)) as Hex);
  }

  /** Encoded elements of a chunk, or null. */
  chunk(index: number): Uint8Array | null {
    return this.chunks[index] ?? null;
  }

  /** Takes in a chunk that hashes to its leaf. */
  learnChunk(index: number, bytes: Uint8Array): void {
    this.hashes();
    this.chunks[index] = bytes;
  }

  /** An element by its position in committed order, or null. */
  at(position: number): number | null {
    const bytes = this.chunk(Math.floor(position / CHUNK_ELEMENTS));
    if (bytes === null) return null;
    const start = (position % CHUNK_ELEMENTS) * this.width;
    return decodeElements(bytes.subarray(start, start + this.width), this.width, this.info.range.lo < 0)[0]!;
  }

  /** An element by its position in memory order, item outermost; or null. */
  element(element: number): number | null {
    return this.at(committedPosition(this.info, element));
  }

  /** Opens these chunks (ascending), or the header alone; null where something is missing. */
  open(chunks: readonly number[]): TensorOpening | null {
    const header = toHex(this.headerBytes) as Hex;
    if (chunks.length === 0) {
      const value = this.hashes().value();
      return value === null ? null : { header, runs: [], treeValue: toHex(value) as Hex };
    }
    const runs: Run[] = [];
    const known = (chunk: number): boolean => this.chunks[chunk] !== undefined;
    for (const [first, last] of joinedRuns(this.header.chunkCount, this.width, chunks, known)) {
      const path = this.hashes().opening(0, first, last);
      const bytes = Array.from({ length: last - first + 1 }, (_, i) => this.chunk(first + i));
      if (path === null || bytes.includes(null)) return null;
      const elements: Hex = `0x${bytes.map((chunk) => toHex(chunk!).slice(2)).join('')}`;
      runs.push({ firstChunk: first, elements, path: path.map((hash) => toHex(hash) as Hex) });
    }
    return { header, runs, treeValue: ZERO_HASH };
  }
}

/**
 * Ranges of chunks that are opened as one run each: neighbours together, and those between which the chunks cost less than
 * two paths.
 * @param chunks ascending.
 * @param known whether a chunk that lies between is at hand.
 */
export function joinedRuns(
  chunkCount: number,
  width: number,
  chunks: readonly number[],
  known: (chunk: number) => boolean,
): [number, number][] {
  const size = (first: number, last: number): number =>
    RUN_BYTES + (last - first + 1) * CHUNK_ELEMENTS * width + HASH_BYTES * pathLength(chunkCount, first, last);
  const ranges: [number, number][] = [];
  for (const chunk of chunks) {
    const run = ranges.at(-1);
    const touches = run !== undefined && chunk === run[1] + 1;
    const cheaper =
      run !== undefined &&
      size(run[0], chunk) <= size(...run) + size(chunk, chunk) &&
      range(run[1] + 1, chunk).every(known);
    if (touches || cheaper) run![1] = chunk;
    else ranges.push([chunk, chunk]);
  }
  return ranges;
}

const range = (first: number, end: number): number[] =>
  Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i);

/** Siblings of leaves first..last of `count` (merkle.ts step 4). */
export function pathLength(count: number, first: number, last: number): number {
  let [a, b, length] = [first, last, 0];
  for (let size = count; size > 1; size = Math.ceil(size / 2)) {
    if (a % 2 === 1) length++;
    if (b % 2 === 0 && b + 1 < size) length++;
    a = Math.floor(a / 2);
    b = Math.floor(b / 2);
  }
  return length;
}
