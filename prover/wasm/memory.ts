/**
 * The one linear memory of the prover, handed out as a stack: what was allocated last is freed first.
 *
 *     [static data | control block | scratch stack per thread | arena -> ]
 *
 * Buffers are never freed one by one; `mark` and `release`, or `scoped`, free all that came after a point.
 */
import { AssayError } from '../../common/errors.js';
import { PAGE_BYTES, type WasmMemory } from './webassembly.js';

/** SIMD loads and 64-bit atomics want no more. */
const ALIGNMENT = 16;

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

export class LinearMemory {
  #top: number;
  #peak: number;
  #bytes: Uint8Array;
  #view: DataView;

  constructor(
    readonly memory: WasmMemory,
    /** First byte of the arena. */
    base: number,
    /** Size that the memory may reach, in bytes. */
    readonly maximumBytes: number,
  ) {
    this.#top = base;
    this.#peak = base;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#view = new DataView(memory.buffer);
  }

  /** Bytes in use, fixed regions included. */
  get usedBytes(): number {
    return this.#top;
  }

  /** The most that was ever in use. */
  get peakBytes(): number {
    return this.#peak;
  }

  /** All of the memory. Not to be kept: growth replaces it. */
  get bytes(): Uint8Array {
    if (this.#bytes.buffer !== this.memory.buffer) this.#bytes = new Uint8Array(this.memory.buffer);
    return this.#bytes;
  }

  /** As `bytes`. */
  get view(): DataView {
    if (this.#view.buffer !== this.memory.buffer) this.#view = new DataView(this.memory.buffer);
    return this.#view;
  }

  /**
   * A pointer to `size` bytes of unspecified content.
   * @throws AssayError PROVER_MEMORY where they do not fit.
   */
  allocate(size: number): number {
    const pointer = this.#top;
    this.reserve(size);
    this.#top = pointer + Math.ceil(size / ALIGNMENT) * ALIGNMENT;
    this.#peak = Math.max(this.#peak, this.#top);
    return pointer;
  }

  /**
   * Grows the memory so that `size` more bytes can be allocated without growing again.
   * @throws AssayError PROVER_MEMORY
   */
  reserve(size: number): void {
    const end = this.#top + Math.ceil(size / ALIGNMENT) * ALIGNMENT;
    const present = this.memory.buffer.byteLength;
    if (end <= present) return;
    if (end > this.maximumBytes) throw this.#full(end);
    // By half of what there is at least: each growth remakes the views, and may copy.
    const wanted = Math.min(Math.max(end, present * 1.5), this.maximumBytes);
    try {
      this.memory.grow(Math.ceil(wanted / PAGE_BYTES) - present / PAGE_BYTES);
    } catch (cause) {
      throw this.#full(end, cause);
    }
  }

  mark(): number {
    return this.#top;
  }

  /** Frees all that was allocated after the mark. */
  release(mark: number): void {
    if (mark > this.#top) throw new AssayError('INTERNAL', `memory mark ${mark} lies above the top ${this.#top}`);
    this.#top = mark;
  }

  /** Runs `work` and frees what it allocated. */
  scoped<T>(work: () => T): T {
    const mark = this.mark();
    try {
      return work();
    } finally {
      this.release(mark);
    }
  }

  #full(end: number, cause?: unknown): AssayError {
    const facts = { neededBytes: end, maximumBytes: this.maximumBytes };
    return new AssayError(
      'PROVER_MEMORY',
      `the prover needs ${mebibytes(end)} of memory; it may use ${mebibytes(this.maximumBytes)}`,
      cause === undefined ? { meta: facts } : { meta: facts, cause },
    );
  }
}
