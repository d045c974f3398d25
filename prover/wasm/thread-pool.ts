/**
 * Work split among threads that share the memory. The calling thread takes part and returns when all is done.
 *
 * A call of a kernel over n positions is cut into chunks of `grain` positions, whatever the number of threads, so that
 * each result is the same for any number. Threads draw chunks from a counter in the control block.
 *   1. The caller writes the call, sets `next` to 0, opens it, counts `generation` up and wakes the helpers.
 *   2. A helper that wakes counts `active` up, and only then looks whether the call is open. If so it draws chunks until
 *      none is left. Then it counts `active` down.
 *   3. The caller draws chunks too; when none is left it closes the call and waits until `active` is 0.
 * Atomics are sequentially consistent: a helper that saw the call open is seen in `active` by the caller that closed it,
 * and one that wakes too late finds it closed and reads nothing that the next call might be writing.
 */
import { AssayError } from '../../common/errors.js';
import type { Kernel, Kernels } from './webassembly.js';

/** An argument that moves with the position, the chunk or the thread; a plain number is the same everywhere. */
export interface MovingArgument {
  readonly base: number;
  readonly perPosition?: number;
  readonly perChunk?: number;
  readonly perThread?: number;
}
export type Argument = number | MovingArgument;

/** A thread that runs `serveCalls`. */
export interface Helper {
  /** Ends the thread. */
  terminate(): Promise<unknown>;
}

/** Words of the control block, an Int32Array of its own. */
const GENERATION = 0;
const OPEN = 1;
const ACTIVE = 2;
const NEXT = 3;
const FAILED = 4;
const STOP = 5;
const KERNEL = 6;
const POSITIONS = 7;
const GRAIN = 8;
const ARGUMENT_COUNT = 9;
const ARGUMENTS = 16;
const WORDS_PER_ARGUMENT = 4;
const MAX_ARGUMENTS = 24;
const CONTROL_WORDS = ARGUMENTS + WORDS_PER_ARGUMENT * MAX_ARGUMENTS;

/** How often the caller looks for the helpers' end before it sleeps: most ends are near, a wake-up costs tens of us. */
const SPINS = 2000;

/** Kernels by number, the same order for each instance of a module. */
const kernelNames = (kernels: Kernels): string[] => Object.keys(kernels).sort();

/** Draws chunks of the call in the control block until none is left. */
function drawChunks(control: Int32Array, kernel: Kernel, thread: number): void {
  const positions = control[POSITIONS]!;
  const grain = control[GRAIN]!;
  const words = new Array<number>(control[ARGUMENT_COUNT]! + 1);
  for (;;) {
    const chunk = Atomics.add(control, NEXT, 1);
    const start = chunk * grain;
    if (start >= positions) return;
    for (let i = 0; i < words.length - 1; i++) {
      const at = ARGUMENTS + WORDS_PER_ARGUMENT * i;
      words[i] = control[at]! + start * control[at + 1]! + chunk * control[at + 2]! + thread * control[at + 3]!;
    }
    words[words.length - 1] = Math.min(grain, positions - start);
    kernel(...words);
  }
}

/** A helper's life: until the pool is closed. */
export function serveCalls(control: Int32Array, kernels: Kernels, thread: number): void {
  const list = kernelNames(kernels).map((name) => kernels[name]!);
  let seen = 0;
  for (;;) {
    Atomics.wait(control, GENERATION, seen);
    seen = Atomics.load(control, GENERATION);
    if (Atomics.load(control, STOP) !== 0) return;
    Atomics.add(control, ACTIVE, 1);
    try {
      if (Atomics.load(control, OPEN) !== 0) drawChunks(control, list[control[KERNEL]!]!, thread);
    } catch {
      Atomics.store(control, FAILED, 1);
    }
    if (Atomics.sub(control, ACTIVE, 1) === 1) Atomics.notify(control, ACTIVE);
  }
}

export class ThreadPool {
  readonly #control: Int32Array;
  readonly #numbers: ReadonlyMap<string, number>;
  #helpers: readonly Helper[] = [];

  /** A pool of the calling thread alone; `addHelpers` makes it larger. */
  constructor(
    readonly kernels: Kernels,
    control: Int32Array = new Int32Array(CONTROL_WORDS),
  ) {
    this.#control = control;
    this.#numbers = new Map(kernelNames(kernels).map((name, number) => [name, number]));
  }

  /** A control block that threads can share. */
  static sharedControl(): Int32Array {
    return new Int32Array(new SharedArrayBuffer(4 * CONTROL_WORDS));
  }

  /** Threads that take part, the calling one included. */
  get threads(): number {
    return this.#helpers.length + 1;
  }

  /** Helpers that run `serveCalls` on this pool's control block, as threads 1, 2, ... */
  addHelpers(helpers: readonly Helper[]): void {
    this.#helpers = [...this.#helpers, ...helpers];
  }

  /**
   * Calls the kernel for positions 0 .. n-1 in chunks of `grain`, with the arguments of the chunk's first position and,
   * last, the number of positions in the chunk.
   * @throws AssayError INTERNAL where a kernel trapped.
   */
  run(name: string, n: number, grain: number, args: readonly Argument[]): void {
    const number = this.#numbers.get(name);
    if (number === undefined || args.length > MAX_ARGUMENTS)
      throw new AssayError('INTERNAL', `kernel ${name} with ${args.length} arguments cannot be called`);
    const control = this.#control;
    control[KERNEL] = number;
    control[POSITIONS] = n;
    control[GRAIN] = grain;
    control[ARGUMENT_COUNT] = args.length;
    args.forEach((arg, i) => {
      const at = ARGUMENTS + WORDS_PER_ARGUMENT * i;
      const moving = typeof arg === 'number' ? { base: arg } : arg;
      control[at] = moving.base;
      control[at + 1] = moving.perPosition ?? 0;
      control[at + 2] = moving.perChunk ?? 0;
      control[at + 3] = moving.perThread ?? 0;
    });
    Atomics.store(control, NEXT, 0);
    const shared = this.#helpers.length > 0 && n > grain;
    if (shared) {
      Atomics.store(control, OPEN, 1);
      Atomics.add(control, GENERATION, 1);
      Atomics.notify(control, GENERATION);
    }
    let failure: unknown;
    let failed = false;
    try {
      drawChunks(control, this.kernels[name]!, 0);
    } catch (error) {
      [failed, failure] = [true, error];
    }
    if (shared) this.#awaitHelpers();
    // Read in every case: what a helper left there belongs to this call.
    const helperFailed = Atomics.exchange(control, FAILED, 0) !== 0;
    if (failed || helperFailed) throw new AssayError('INTERNAL', `kernel ${name} trapped`, { cause: failure });
  }

  /** Ends the helpers; the pool stays usable with the calling thread alone. */
  async close(): Promise<void> {
    const helpers = this.#helpers;
    this.#helpers = [];
    Atomics.store(this.#control, STOP, 1);
    Atomics.add(this.#control, GENERATION, 1);
    if (helpers.length > 0) Atomics.notify(this.#control, GENERATION);
    await Promise.all(helpers.map((helper) => helper.terminate()));
  }

  #awaitHelpers(): void {
    const control = this.#control;
    Atomics.store(control, OPEN, 0);
    for (let spin = 0; ; spin++) {
      const active = Atomics.load(control, ACTIVE);
      if (active === 0) return;
      if (spin >= SPINS) Atomics.wait(control, ACTIVE, active, 1000);
    }
  }
}
