/** Hashes and trees of tensors (tensor-root.ts steps 1 to 3) by the kernels in the calling thread, where they are at hand. */
import { sizeOf } from '../../tensor.js';
import type { CommittedInfo } from '../tensor-root.js';
import { TAG } from '../tags.js';
import { CHUNK_ELEMENTS } from '../chunk-size.js';
import { useFastKeccak } from '../keccak.js';
import { BLOCK_CHUNKS, JOB_BYTES } from './layout.js';
import { arenaAt, hashKernels, hashMemory, hashModule, PAGE_BYTES, scratchAt } from './hash-kernels.js';
import type { HashKernels, HashMemory } from './hash-kernels.js';
import { fits, isContiguous, orderOf, writeJob } from './tensor-job.js';

const BLOCK_ELEMENTS = BLOCK_CHUNKS * CHUNK_ELEMENTS;
/** Items larger than this many elements are left to JavaScript: the memory keeps what it once needed. */
const MOST_ELEMENTS = 2 ** 27;
const MOST_BYTES = 4 * MOST_ELEMENTS;
const SHORT_BYTES = 256;

class OwnKernels {
  readonly #kernels: HashKernels;
  readonly #memory: HashMemory;
  #bytes: Uint8Array;
  #words: Int32Array;

  constructor(code: object) {
    this.#memory = hashMemory(1);
    this.#kernels = hashKernels(code, this.#memory);
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.#words = new Int32Array(this.#memory.buffer);
  }

  treeValue(info: CommittedInfo, data: Int32Array, items: number): Uint8Array | null {
    const order = orderOf(info, items);
    const size = sizeOf(info.shape);
    if (!fits(order) || size > MOST_ELEMENTS || data.length === 0) return null;
    const contiguous = isContiguous(order);
    const blocks = Math.ceil(data.length / BLOCK_ELEMENTS);
    const job = arenaAt(1);
    const results = job + JOB_BYTES;
    const window = Math.ceil((results + 32 * blocks) / 16) * 16;
    let loaded = { from: 0, to: 0 };
    for (let block = 0; block < blocks; block++) {
      // What the block reads: its own elements, or the items that they belong to.
      const first = block * BLOCK_ELEMENTS;
      const end = Math.min(first + BLOCK_ELEMENTS, data.length);
      const from = contiguous ? first : Math.floor(first / size) * size;
      const to = contiguous ? end : Math.ceil(end / size) * size;
      this.#reserve(window + 4 * (to - from));
      if (from !== loaded.from || to > loaded.to) {
        this.#words.set(from === 0 && to === data.length ? data : data.subarray(from, to), window >> 2);
        writeJob(this.#words, job, info, order, { data: window - 4 * from, elements: data.length, out: results });
        loaded = { from, to };
      }
      if (this.#kernels.hashBlock(job, block, scratchAt(0)) === 0) return null;
    }
    this.#kernels.treeValue(scratchAt(0), TAG.tensorNode, results, blocks);
    return this.#bytes.slice(results, results + 32);
  }

  keccak(bytes: Uint8Array, length: number): Uint8Array {
    const out = arenaAt(1);
    const data = out + 32;
    this.#reserve(data + length);
    // A short one byte by byte: a view of it costs more.
    if (length > SHORT_BYTES) this.#bytes.set(bytes.subarray(0, length), data);
    else for (let i = 0; i < length; i++) this.#bytes[data + i] = bytes[i]!;
    this.#kernels.keccak(scratchAt(0), data, length, out);
    return this.#bytes.slice(out, out + 32);
  }

  merkleValue(tag: number, leaves: readonly Uint8Array[]): Uint8Array {
    const level = arenaAt(1);
    this.#reserve(level + 32 * leaves.length);
    leaves.forEach((leaf, i) => this.#bytes.set(leaf, level + 32 * i));
    this.#kernels.treeValue(scratchAt(0), tag, level, leaves.length);
    return this.#bytes.slice(level, level + 32);
  }

  #reserve(bytes: number): void {
    const missing = bytes - this.#bytes.length;
    if (missing <= 0) return;
    this.#memory.grow(Math.ceil(missing / PAGE_BYTES));
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.#words = new Int32Array(this.#memory.buffer);
  }
}

let own: OwnKernels | null | undefined;

function ownKernels(): OwnKernels | null {
  if (own === undefined) {
    const code = hashModule();
    own = code === null ? null : new OwnKernels(code);
  }
  return own;
}

/**
 * Nothing is checked but the range of the elements.
 * @param data items * size(shape) elements, at least one.
 * @returns null where an element lies outside the range, or the kernels are not at hand or do not take such a tensor.
 */
export function fastTreeValue(info: CommittedInfo, data: Int32Array, items: number): Uint8Array | null {
  return ownKernels()?.treeValue(info, data, items) ?? null;
}

/**
 * merkleValue of merkle.ts.
 * @param leaves of 32 bytes each.
 * @returns null where there are no leaves, or the kernels are not at hand.
 */
export function fastMerkleValue(tag: number, leaves: readonly Uint8Array[]): Uint8Array | null {
  return leaves.length === 0 || 32 * leaves.length > MOST_BYTES
    ? null
    : (ownKernels()?.merkleValue(tag, leaves) ?? null);
}

/** keccak256 of the first `length` bytes; null where the kernels are not at hand or their memory is too small. */
export function fastKeccak(bytes: Uint8Array, length = bytes.length): Uint8Array | null {
  return length > MOST_BYTES ? null : (ownKernels()?.keccak(bytes, length) ?? null);
}

// Whoever imports the kernels has them; a verifier in a browser does not.
useFastKeccak(fastKeccak);
