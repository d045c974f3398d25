/** An instance of the compiled kernels for one thread, and where in the memory each thread keeps its scratch stack. */
import { AssayError } from '../../common/errors.js';
import { PAGE_BYTES, webAssembly, type Kernels, type WasmMemory, type WasmModule } from './webassembly.js';

/** Static data of the module lies below. */
const STATIC_BYTES = PAGE_BYTES;
/** Scratch of one thread: the deepest kernel pushes less than 16 KiB. */
const SCRATCH_BYTES = PAGE_BYTES;

/** First byte that the kernels do not use by themselves. */
export const arenaBase = (threads: number): number => STATIC_BYTES + threads * SCRATCH_BYTES;

/** @param thread 0 for the calling thread. */
export function instantiateKernels(module: WasmModule, memory: WasmMemory, thread: number): Kernels {
  const { exports } = new webAssembly.Instance(module, { env: { memory } });
  const { setScratch, staticEnd, ...kernels } = Object.fromEntries(
    Object.entries(exports).filter(([, value]) => typeof value === 'function'),
  ) as Kernels;
  if (staticEnd!() > STATIC_BYTES)
    throw new AssayError('INTERNAL', `static data of the prover's WebAssembly reach to ${staticEnd!()}`);
  setScratch!(STATIC_BYTES + thread * SCRATCH_BYTES);
  return kernels;
}
