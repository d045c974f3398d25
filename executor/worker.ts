/**
 * The thread that runs inference, so that a long one never blocks the event loop of the node (queue locks, HTTP).
 * onnxruntime-node and TensorFlow.js both compute synchronously in the thread that calls them.
 *
 * One request at a time: the device is one, and the memory of a job is planned against an otherwise idle process.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { asAssayError, AssayError } from '../common/errors.js';
import { decodeBundle, inputRoot, readOnnx } from '../graph/index.js';
import type { Bundle } from '../graph/index.js';
import { chooseEngine } from './choose-engine.js';
import type { ChosenEngine } from './choose-engine.js';
import { executeJob, outputsFrom } from './execute.js';
import { SessionCache } from './session-cache.js';
import { predictExactBytes, predictFloatBytes } from './session-size.js';
import { TraceStore } from './trace-store.js';
import type { PlainError, WorkerReply, WorkerRequest, WorkerSettings, WorkerStart } from './worker-messages.js';

/** Decoded bundles kept, most recently used last; one weighs about as much as its file. */
const BUNDLES_KEPT = 16;

class ExecutorWorker {
  readonly #bundles = new Map<string, Bundle>();
  readonly #cache: SessionCache;
  readonly #traces: TraceStore;

  constructor(
    readonly settings: WorkerSettings,
    readonly chosen: ChosenEngine,
  ) {
    this.#cache = new SessionCache(settings.memoryBudgetBytes);
    this.#traces = new TraceStore(settings.traceFolder);
  }

  async answer(request: WorkerRequest): Promise<WorkerReply> {
    const { id } = request;
    try {
      switch (request.kind) {
        case 'execute':
          return await this.#execute(request);
        case 'float':
          return await this.#float(request);
        case 'close':
          await this.#cache.close();
          await this.chosen.engine.close();
          return { id, kind: 'closed' };
      }
    } catch (error) {
      return { id, kind: 'failed', error: plain(error) };
    }
  }

  async #execute(request: Extract<WorkerRequest, { kind: 'execute' }>): Promise<WorkerReply> {
    const { id, digest, inputs, items } = request;
    const { engine, report } = this.chosen;
    const bundle = this.#bundle(digest, request.bundle);
    if (bundle === null) return { id, kind: 'bundleWanted' };
    if (report.deviceClass === 'float-only') {
      throw new AssayError('ENGINE_NOT_EXACT', `${engine.name} failed the self-test: it runs float models only`, {
        meta: { engine: engine.name },
      });
    }
    const root = inputRoot(bundle.graph, inputs, items);
    if (root !== request.expectedInputRoot) {
      const message = `the order names input root ${request.expectedInputRoot}, the input given has ${root}`;
      throw new AssayError('ORDER_MISMATCH', message, { meta: { expected: request.expectedInputRoot, found: root } });
    }
    const convolution = report.deviceClass === 'exact' ? 'conv' : 'im2col';
    const lease = await this.#cache.acquire(
      { engine: engine.name, model: digest, kind: 'exact' },
      predictExactBytes(bundle.graph, items),
      () => engine.loadExact(bundle, { convolution }),
    );
    const start = performance.now();
    try {
      const execution = await executeJob(lease.session, bundle, inputs, items);
      const elapsedMs = performance.now() - start;
      await this.#traces.put('trace', execution.traceRoot, execution.slots, items);
      await this.#traces.put('result', execution.outputRoot, outputsFrom(bundle, execution.slots), items);
      return { id, kind: 'executed', execution, elapsedMs };
    } finally {
      lease.release();
    }
  }

  async #float(request: Extract<WorkerRequest, { kind: 'float' }>): Promise<WorkerReply> {
    const { id, bytes, fileName, inputs } = request;
    const { engine } = this.chosen;
    const model = readOnnx(bytes, fileName);
    const lease = await this.#cache.acquire(
      { engine: engine.name, model: model.sourceHash, kind: 'float' },
      predictFloatBytes(bytes),
      () => engine.loadFloat(bytes, model),
    );
    const start = performance.now();
    try {
      const outputs = await lease.session.run(inputs);
      return { id, kind: 'floatDone', outputs, elapsedMs: performance.now() - start };
    } finally {
      lease.release();
    }
  }

  #bundle(digest: string, bytes: Uint8Array | null): Bundle | null {
    const known = this.#bundles.get(digest);
    if (known === undefined && bytes === null) return null;
    const bundle = known ?? decodeBundle(bytes!, `bundle ${digest}`);
    this.#bundles.delete(digest);
    this.#bundles.set(digest, bundle);
    const oldest = this.#bundles.keys().next().value!;
    if (this.#bundles.size > BUNDLES_KEPT) this.#bundles.delete(oldest);
    return bundle;
  }
}

function plain(error: unknown): PlainError {
  const { code, message, mend, meta } = asAssayError(error);
  return { code, message, mend, meta };
}

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
  const worker = new ExecutorWorker(settings, chosen);
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
