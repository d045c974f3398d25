/**
 * Blocks of tensors to hash, drawn by several threads from a ring in shared memory.
 *
 *   1. The owner writes a task (job, block) behind the last one and counts `published` up; helpers sleep on it.
 *   2. A thread draws task n by moving `next` from n to n + 1, hashes it and counts `done` up.
 *   3. The owner draws too when it has nothing else to do, and sleeps on `done` until it equals `published`.
 * The counters only rise, modulo 2^32, so that a thread that slept for long can't draw a task twice. A place of the ring is
 * written again when its task is done: the owner keeps `published` less than RING_TASKS before `done`.
 */
import type { HashKernels } from './hash-kernels.js';

/** A power of two. A run of 4096 blocks has 134 million elements. */
export const RING_TASKS = 4096;
const PUBLISHED = 0;
const NEXT = 1;
const DONE = 2;
const FAILED = 3;
const TASKS = 16;

/** What the queue needs of the kernels. */
export type BlockKernels = Pick<HashKernels, 'hashBlock'>;

export const queueMemory = (): Int32Array => new Int32Array(new SharedArrayBuffer(4 * (TASKS + 2 * RING_TASKS)));

/** Draws and hashes one task. @returns false where none is left. */
function hashOne(queue: Int32Array, kernels: BlockKernels, scratch: number): boolean {
  for (;;) {
    const next = Atomics.load(queue, NEXT);
    if (next === Atomics.load(queue, PUBLISHED)) return false;
    if (Atomics.compareExchange(queue, NEXT, next, (next + 1) | 0) !== next) continue;
    const at = TASKS + 2 * (next & (RING_TASKS - 1));
    let fine: boolean;
    try {
      fine = kernels.hashBlock(queue[at]!, queue[at + 1]!, scratch) === 1;
    } catch {
      // A trap; the owner computes the tensor anew and meets it there.
      fine = false;
    }
    if (!fine) Atomics.store(queue, FAILED, 1);
    Atomics.add(queue, DONE, 1);
    Atomics.notify(queue, DONE);
    return true;
  }
}

/** A helper's life: until its thread is ended. */
export function serveQueue(queue: Int32Array, kernels: BlockKernels, scratch: number): never {
  for (;;) {
    const published = Atomics.load(queue, PUBLISHED);
    if (!hashOne(queue, kernels, scratch)) Atomics.wait(queue, PUBLISHED, published);
  }
}

/** The owner's side. */
export class BlockQueue {
  constructor(
    readonly memory: Int32Array,
    readonly kernels: BlockKernels,
    readonly scratch: number,
  ) {}

  publish(job: number, block: number): void {
    const { memory } = this;
    while (((memory[PUBLISHED]! - Atomics.load(memory, DONE)) | 0) >= RING_TASKS) this.#hashOrWait();
    const published = memory[PUBLISHED]!;
    const at = TASKS + 2 * (published & (RING_TASKS - 1));
    memory[at] = job;
    memory[at + 1] = block;
    Atomics.store(memory, PUBLISHED, (published + 1) | 0);
    Atomics.notify(memory, PUBLISHED, 1);
  }

  /** Works until every task is done. @returns true where a block failed since the last time. */
  finish(): boolean {
    while (Atomics.load(this.memory, DONE) !== this.memory[PUBLISHED]) this.#hashOrWait();
    return Atomics.exchange(this.memory, FAILED, 0) !== 0;
  }

  #hashOrWait(): void {
    const done = Atomics.load(this.memory, DONE);
    if (hashOne(this.memory, this.kernels, this.scratch)) return;
    if (done !== this.memory[PUBLISHED]) Atomics.wait(this.memory, DONE, done);
  }
}
