/** What the inference thread does with a request; worker.ts connects it to the thread's messages. */
import { asAssayError, AssayError } from '../common/errors.js';
import { decodeBundle, inputRoot, readOnnx } from '../graph/index.js';
import type { TraceHasher } from '../graph/commitment/wasm/trace-hasher.js';
import type { Bundle } from '../graph/index.js';
import type { ChosenEngine } from './choose-engine.js';
import type { Engine, ExactSession } from './engine.js';
import { executeJob, outputsFrom } from './execute.js';
import { isGpu, testModel } from './model-test.js';
import type { ModelTest } from './model-test.js';
import { SessionCache } from './session-cache.js';
import { predictExactBytes, predictFloatBytes } from './session-size.js';
import { TraceStore } from './trace-store.js';
import type { PlainError, WorkerReply, WorkerRequest, WorkerSettings } from './worker-messages.js';

/** Decoded bundles kept, most recently used last; one weighs about as much as its file. */
const BUNDLES_KEPT = 16;

export class ExecutorWorker {
  readonly #bundles = new Map<string, Bundle>();
  /** By bundle digest; of GPU engines only. */
  readonly #modelTests = new Map<string, ModelTest>();
  readonly #cache: SessionCache;
  readonly #traces: TraceStore;

  /** @param hasher is closed with the worker. */
  constructor(
    readonly settings: WorkerSettings,
    readonly chosen: ChosenEngine,
    readonly hasher: TraceHasher,
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
          await this.hasher.close();
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
    const { expectedInputRoot } = request;
    const root = inputRoot(bundle.graph, inputs, items);
    if (expectedInputRoot !== null && root !== expectedInputRoot) {
      const message = `the order names input root ${expectedInputRoot}, the input given has ${root}`;
      throw new AssayError('ORDER_MISMATCH', message, { meta: { expected: expectedInputRoot, found: root } });
    }
    const convolution = report.deviceClass === 'exact' ? 'conv' : 'im2col';
    const lease = await this.#cache.acquire(
      { engine: engine.name, model: digest, kind: 'exact' },
      predictExactBytes(bundle.graph, items),
      async () => {
        const session = await engine.loadExact(bundle, { convolution });
        if (isGpu(engine.name)) this.#modelTests.set(digest, await testedOrClosed(engine, session, bundle));
        return session;
      },
    );
    const start = performance.now();
    try {
      const execution = await executeJob(lease.session, bundle, inputs, items, this.hasher);
      const elapsedMs = performance.now() - start;
      await this.#traces.put('trace', execution.traceRoot, execution.slots, items);
      await this.#traces.put('result', execution.outputRoot, outputsFrom(bundle, execution.slots), items);
      return { id, kind: 'executed', execution, elapsedMs, modelTest: this.#modelTests.get(digest) ?? null };
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

  /**
   * What runs under a digest is what has it: bundles and sessions are kept by digest, for later jobs too.
   * @throws AssayError ORDER_MISMATCH where the bytes are of another bundle.
   */
  #bundle(digest: string, bytes: Uint8Array | null): Bundle | null {
    const known = this.#bundles.get(digest);
    if (known === undefined && bytes === null) return null;
    const bundle = known ?? decodeBundle(bytes!, `bundle ${digest}`);
    if (bundle.digest !== digest) {
      const message = `the bundle was given as ${digest}, its content has digest ${bundle.digest}`;
      throw new AssayError('ORDER_MISMATCH', message, { meta: { expected: digest, found: bundle.digest } });
    }
    this.#bundles.delete(digest);
    this.#bundles.set(digest, bundle);
    const oldest = this.#bundles.keys().next().value!;
    if (this.#bundles.size > BUNDLES_KEPT) this.#bundles.delete(oldest);
    return bundle;
  }
}

async function testedOrClosed(engine: Engine, session: ExactSession, bundle: Bundle): Promise<ModelTest> {
  try {
    return await testModel(engine.name, session, bundle);
  } catch (error) {
    // What the test found is what the caller must know; a failing close beside it is a warning.
    await session.close().catch((closing: unknown) => process.emitWarning(asAssayError(closing)));
    throw error;
  }
}

export function plain(error: unknown): PlainError {
  const { code, message, mend, meta } = asAssayError(error);
  return { code, message, mend, meta };
}
