/** onnxruntime-node on the exact graph: the answer that proofs are compared with, and how long inference alone takes. */
import { decodeBundle, exportExact } from '../../graph/index.js';

export interface InferenceTask {
  readonly bundle: Uint8Array;
  /** One array per graph input, item-major. */
  readonly inputs: readonly Int32Array[];
  readonly items: number;
  readonly threads: number;
  readonly repeat: number;
}

export interface InferenceMeasured {
  /** One array per graph output, item-major. */
  readonly outputs: readonly Int32Array[];
  readonly inferenceMs: readonly number[];
}

export async function measureInference(task: InferenceTask): Promise<InferenceMeasured> {
  const ort = await import('onnxruntime-node');
  const { graph } = decodeBundle(task.bundle, 'bundle');
  const session = await ort.InferenceSession.create(exportExact(graph, { outputs: graph.outputs }), {
    executionProviders: ['cpu'],
    logSeverityLevel: 3,
    intraOpNumThreads: task.threads,
  });
  const feeds = Object.fromEntries(
    graph.inputs.map((id, i) => [
      `t${id}`,
      new ort.Tensor('float32', Float32Array.from(task.inputs[i]!), [task.items, ...graph.tensors[id]!.shape]),
    ]),
  );
  const results = await session.run(feeds);
  const inferenceMs: number[] = [];
  for (let i = 0; i < task.repeat; i++) {
    const startedAt = performance.now();
    await session.run(feeds);
    inferenceMs.push(performance.now() - startedAt);
  }
  const outputs = graph.outputs.map((id) => Int32Array.from(results[`t${id}`]!.data as Float32Array, Math.round));
  await session.release();
  return { outputs, inferenceMs };
}
