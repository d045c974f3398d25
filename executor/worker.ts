/**
 * The thread that runs inference, so that a long one never blocks the event loop of the node (queue locks, HTTP).
 * onnxruntime-node and TensorFlow.js both compute synchronously in the thread that calls them.
 *
 * One request at a time: the device is one, and the memory of a job is planned against an otherwise idle process.
 */
import { availableParallelism } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { TraceHasher } from '../graph/commitment/wasm/trace-hasher.js';
import { chooseEngine } from './choose-engine.js';
import type { ChosenEngine } from './choose-engine.js';
import { ExecutorWorker, plain } from './executor-worker.js';
import type { WorkerRequest, WorkerSettings, WorkerStart } from './worker-messages.js';

/** Threads that hash a trace: with more, copying it into their memory takes as long as hashing it. */
const MOST_HASHING_THREADS = 8;

async function main(): Promise<void> {
  const port = parentPort!;
  const settings = workerData as WorkerSettings;
  let chosen: ChosenEngine;
  try {
    chosen = await chooseEngine(settings.engine, settings.threads === null ? {} : { threads: settings.threads });
  } catch (error) {
    port.postMessage({ kind: 'failed', error: plain(error) } satisfies WorkerStart);
    port.close();
    return;
  }
  const threads = Math.min(settings.threads ?? availableParallelism(), MOST_HASHING_THREADS);
  const worker = new ExecutorWorker(settings, chosen, await TraceHasher.open(threads));
  const { engine, report, missing } = chosen;
  let turn: Promise<unknown> = Promise.resolve();
  port.on('message', (request: WorkerRequest) => {
    turn = turn.then(async () => {
      port.postMessage(await worker.answer(request));
      if (request.kind === 'close') port.close();
    });
  });
  port.postMessage({
    kind: 'ready',
    engine: engine.name,
    version: engine.version,
    selfTest: report,
    missing,
  } satisfies WorkerStart);
}

await main();
