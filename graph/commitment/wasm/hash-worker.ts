/** The helper thread of trace-hasher.ts: an instance of its own over the memory that all threads share. */
import { parentPort, workerData } from 'node:worker_threads';
import { serveQueue } from './block-queue.js';
import { hashKernels, scratchAt, type HashMemory, type HashModule } from './hash-kernels.js';

export interface HashWorkerSettings {
  readonly code: HashModule;
  readonly memory: HashMemory;
  readonly queue: Int32Array;
  readonly thread: number;
}

const { code, memory, queue, thread } = workerData as HashWorkerSettings;
const kernels = hashKernels(code, memory);
parentPort!.postMessage('ready');
serveQueue(queue, kernels, scratchAt(thread));
