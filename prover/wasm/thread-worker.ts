/** The helper thread of node-arithmetic.ts: an instance of its own over the memory that all threads share. */
import { parentPort, workerData } from 'node:worker_threads';
import { instantiateKernels } from './kernels.js';
import { serveCalls } from './thread-pool.js';
import type { WasmMemory, WasmModule } from './webassembly.js';

export interface HelperSettings {
  readonly module: WasmModule;
  readonly memory: WasmMemory;
  readonly control: Int32Array;
  readonly thread: number;
}

const { module, memory, control, thread } = workerData as HelperSettings;
const kernels = instantiateKernels(module, memory, thread);
parentPort!.postMessage('ready');
serveCalls(control, kernels, thread);
