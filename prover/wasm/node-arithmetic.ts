/** The prover's arithmetic in Node: finds the built code and starts helper threads. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { AssayError } from '../../common/errors.js';
import { packageRoot } from '../../common/package-root.js';
import { Arithmetic, type StartHelpers } from './arithmetic.js';
import type { Helper } from './thread-pool.js';
import type { HelperSettings } from './thread-worker.js';

export interface NodeArithmeticOptions {
  /**
   * Threads that share the work, the calling one included; 1 where the platform shares no memory.
   * @default one per processor, at most 8
   */
  readonly threads?: number;
  /** What the memory may grow to. @default nearly 4 GiB */
  readonly maximumBytes?: number;
}

/** More threads than this wait for memory. */
const MOST_THREADS = 8;

/**
 * Opens the arithmetic; `close` it when done. Helper threads do not keep the process alive.
 * @throws AssayError PROVER_NOT_BUILT
 */
export async function openArithmetic(options: NodeArithmeticOptions = {}): Promise<Arithmetic> {
  const { threads = Math.min(availableParallelism(), MOST_THREADS), ...limits } = options;
  if (threads <= 1 || typeof SharedArrayBuffer === 'undefined')
    return Arithmetic.open({ code: builtCode('single.wasm'), ...limits });
  const startHelpers: StartHelpers = (module, memory, control) =>
    Promise.all(Array.from({ length: threads - 1 }, (_, i) => startHelper({ module, memory, control, thread: i + 1 })));
  return Arithmetic.openShared({ code: builtCode('threads.wasm'), ...limits }, threads, startHelpers);
}

function builtCode(name: string): Uint8Array {
  const file = new URL(`dist/prover/wasm/${name}`, packageRoot());
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new AssayError('PROVER_NOT_BUILT', `${file.pathname} cannot be read`, { cause });
  }
}

function startHelper(settings: HelperSettings): Promise<Helper> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(...entryOf(settings));
    // Only a thread that is ready lets the process end: before that, its start is what the caller waits for.
    worker.once('message', () => {
      worker.unref();
      resolve(worker);
    });
    worker.on('error', (cause) =>
      reject(new AssayError('INTERNAL', `a helper thread of the prover did not start: ${cause.message}`, { cause })),
    );
  });
}

/** The thread's file: compiled beside this one, or, where this runs from source, through tsx. */
function entryOf(workerData: HelperSettings): ConstructorParameters<typeof Worker> {
  if (!import.meta.url.endsWith('.ts'))
    return [new URL('./thread-worker.js', import.meta.url), { workerData, execArgv: [] }];
  const source = JSON.stringify(new URL('./thread-worker.ts', import.meta.url).href);
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const line = `import(${loader}).then(({ register }) => (register(), import(${source})))`;
  return [line, { workerData, eval: true, execArgv: [] }];
}
