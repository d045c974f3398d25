/**
 * The prover's arithmetic in WebAssembly: vectors over Fr, points of G1 and sumcheck rounds, all in one memory.
 *
 * This file runs in Node and in browsers alike; node-arithmetic.ts finds the built code and starts threads in Node. In a
 * browser: `Arithmetic.open({ code: await fetched.arrayBuffer() })` with the file dist/prover/wasm/single.wasm.
 */
import { AssayError } from '../../common/errors.js';
import { FrVectors } from './fr-vectors.js';
import { G1 } from './g1.js';
import { arenaBase, instantiateKernels } from './kernels.js';
import { LinearMemory } from './memory.js';
import { SumcheckRounds } from './sumcheck-rounds.js';
import { ThreadPool, type Helper } from './thread-pool.js';
import { PAGE_BYTES, webAssembly, type WasmMemory, type WasmModule } from './webassembly.js';

/** What the parts of the arithmetic work with. */
export interface Core {
  readonly memory: LinearMemory;
  readonly pool: ThreadPool;
}

/** All that 32-bit pointers reach, less the last page, so that no end of a buffer is 2^32. */
export const LARGEST_MEMORY_BYTES = 2 ** 32 - PAGE_BYTES;

export interface ArithmeticOptions {
  /** The bytes of single.wasm. */
  readonly code: Uint8Array;
  /** What the memory may grow to. @default LARGEST_MEMORY_BYTES */
  readonly maximumBytes?: number;
}

/** Starts the helper threads 1 .. threads-1 and resolves when each is ready. */
export type StartHelpers = (module: WasmModule, memory: WasmMemory, control: Int32Array) => Promise<readonly Helper[]>;

export class Arithmetic {
  readonly fr: FrVectors;
  readonly g1: G1;
  readonly rounds: SumcheckRounds;

  private constructor(
    readonly memory: LinearMemory,
    private readonly pool: ThreadPool,
  ) {
    this.fr = new FrVectors({ memory, pool });
    this.g1 = new G1({ memory, pool });
    this.rounds = new SumcheckRounds({ memory, pool }, this.fr);
  }

  /** On the calling thread alone. */
  static async open({ code, maximumBytes = LARGEST_MEMORY_BYTES }: ArithmeticOptions): Promise<Arithmetic> {
    const module = await webAssembly.compile(code);
    const base = arenaBase(1);
    const memory = newMemory(base, maximumBytes, false);
    const pool = new ThreadPool(instantiateKernels(module, memory, 0));
    return new Arithmetic(new LinearMemory(memory, base, maximumBytes), pool);
  }

  /** On the calling thread and `threads` - 1 helpers. @param code the bytes of threads.wasm. */
  static async openShared(
    { code, maximumBytes = LARGEST_MEMORY_BYTES }: ArithmeticOptions,
    threads: number,
    startHelpers: StartHelpers,
  ): Promise<Arithmetic> {
    const module = await webAssembly.compile(code);
    const base = arenaBase(threads);
    const memory = newMemory(base, maximumBytes, true);
    const control = ThreadPool.sharedControl();
    const pool = new ThreadPool(instantiateKernels(module, memory, 0), control);
    pool.addHelpers(await startHelpers(module, memory, control));
    return new Arithmetic(new LinearMemory(memory, base, maximumBytes), pool);
  }

  /** Threads that share the work, the calling one included. */
  get threads(): number {
    return this.pool.threads;
  }

  /** Ends the helper threads. What is in the memory stays, and work goes on with the calling thread. */
  async close(): Promise<void> {
    await this.pool.close();
  }
}

/** @throws AssayError PROVER_MEMORY where the limit is below what is always needed, or the platform reserves less. */
function newMemory(base: number, maximumBytes: number, shared: boolean): WasmMemory {
  const [initial, maximum] = [base / PAGE_BYTES, Math.floor(maximumBytes / PAGE_BYTES)];
  try {
    return new webAssembly.Memory({ initial, maximum, shared });
  } catch (cause) {
    throw new AssayError(
      'PROVER_MEMORY',
      `${maximum} pages of memory cannot be reserved for the prover; it begins with ${initial}`,
      { meta: { neededBytes: base, maximumBytes }, cause },
    );
  }
}
