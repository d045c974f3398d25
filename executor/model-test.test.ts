import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TraceHasher } from '../graph/commitment/wasm/trace-hasher.js';
import { encodeBundle, inputRoot } from '../graph/index.js';
import type { Hex } from '../receipts/types.js';
import type { Engine, EngineName } from './engine.js';
import { ExecutorWorker } from './executor-worker.js';
import { referenceEngine } from './engines/reference.js';
import { isGpu, MACS_LIMIT, testModel } from './model-test.js';
import { images, smallClassifier } from './testing/digits.js';
import type { WorkerReply } from './worker-messages.js';

const bundle = smallClassifier(1, 6);
/** 8 x 8 x 6 channels of 3 x 3, and 96 features to 4 classes. */
const MACS = 64 * 6 * 9 + 96 * 4;

/** An engine under a GPU's name. `errs`: one unit off, in the last element of a slot of this bundle's convolution. */
function gpu(name: EngineName, errs: boolean): Engine & { runs: number; closed: number } {
  const honest = referenceEngine();
  const engine = {
    ...honest,
    name,
    runs: 0,
    closed: 0,
    loadExact: async (...args: Parameters<Engine['loadExact']>) => {
      const session = await honest.loadExact(...args);
      return {
        ...session,
        run: async (inputs: readonly Int32Array[], items: number) => {
          engine.runs++;
          const slots = await session.run(inputs, items);
          const [, relu] = slots;
          // In range and on bright images only: nothing but a comparison finds it.
          if (errs && inputs[0]!.every((pixel) => pixel === 127)) relu![5] = relu![5]! > 0 ? relu![5]! - 1 : 1;
          return slots;
        },
        close: async () => {
          engine.closed++;
        },
      };
    },
  };
  return engine;
}

describe('testModel', () => {
  const session = () => referenceEngine().loadExact(bundle);

  it('tells how much was compared', async () => {
    const report = await testModel('onnxruntime-cuda', await session(), bundle);
    expect(report).toMatchObject({ kind: 'equal', items: 4, elements: 4 * (64 + 6 * 64 + 6 * 16 + 4) });
  });

  it('compares as many items as the limit allows, and says where it allows none', async () => {
    const some = await testModel('onnxruntime-cuda', await session(), bundle, 2 * MACS);
    expect(some).toMatchObject({ kind: 'equal', items: 2 });
    const none = await testModel('onnxruntime-cuda', await session(), bundle, MACS - 1);
    expect(none).toMatchObject({ kind: 'skipped', macs: MACS, limit: MACS - 1 });
    expect(none).toHaveProperty('reason', expect.stringContaining(bundle.graph.name));
    expect(MACS_LIMIT).toBeGreaterThan(4 * MACS);
  });

  it('refuses a session that differs in one element', async () => {
    const wrong = await gpu('onnxruntime-cuda', true).loadExact(bundle);
    await expect(testModel('onnxruntime-cuda', wrong, bundle)).rejects.toMatchObject({
      code: 'ENGINE_NOT_EXACT',
      mend: expect.stringContaining('onnxruntime-cpu') as string,
      meta: { engine: 'onnxruntime-cuda', model: bundle.digest, differing: 1 },
    });
  });
});

describe('the worker', () => {
  let folder: string;
  let hasher: TraceHasher;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'assay-model-test-'));
    hasher = await TraceHasher.open(1);
  });
  afterEach(() => rm(folder, { recursive: true }));

  const workerOn = (engine: Engine): ExecutorWorker => {
    const settings = { engine: engine.name, threads: null, memoryBudgetBytes: 2 ** 30, traceFolder: folder };
    const { name, version } = engine;
    const report = { engine: name, version, deviceClass: 'exact', cases: [], elapsedMs: 0 } as const;
    return new ExecutorWorker(settings, { engine, report, missing: [] }, hasher);
  };
  const execute = (worker: ExecutorWorker): Promise<WorkerReply> => {
    const inputs = images(1, 3);
    const expectedInputRoot = inputRoot(bundle.graph, inputs, 1) as Hex;
    const job = { id: 1, kind: 'execute', digest: bundle.digest, inputs, items: 1, expectedInputRoot } as const;
    return worker.answer({ ...job, bundle: encodeBundle(bundle) });
  };

  it.each(['onnxruntime-cuda', 'onnxruntime-webgpu', 'tfjs-node-gpu'] as const)(
    'tests a model on %s once, before its first job',
    async (name) => {
      const engine = gpu(name, false);
      const worker = workerOn(engine);
      expect(await execute(worker)).toMatchObject({ kind: 'executed', modelTest: { kind: 'equal', items: 4 } });
      expect(engine.runs).toBe(5);
      expect(await execute(worker)).toMatchObject({ kind: 'executed', modelTest: { kind: 'equal' } });
      expect(engine.runs).toBe(6);
    },
  );

  it('runs no job on a GPU that errs on the model, and closes the session', async () => {
    const engine = gpu('onnxruntime-webgpu', true);
    const worker = workerOn(engine);
    for (let attempt = 1; attempt <= 2; attempt++) {
      expect(await execute(worker)).toMatchObject({ kind: 'failed', error: { code: 'ENGINE_NOT_EXACT' } });
      expect(engine.closed).toBe(attempt);
    }
  });

  it.each(['onnxruntime-cpu', 'tfjs-wasm', 'reference'] as const)('spares %s', async (name) => {
    expect(isGpu(name)).toBe(false);
    const engine = gpu(name, false);
    expect(await execute(workerOn(engine))).toMatchObject({ kind: 'executed', modelTest: null });
    expect(engine.runs).toBe(1);
  });
});
