/** onnxruntime-node on the exact graph: the answer that proofs are compared with, and how long inference alone takes. */
import { decodeBundle, exportExact } from '../../graph/index.js';
import { timedAsync } from '../timing.js';

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

/** A session of the exact graph that gives its outputs alone, with the inputs at hand. */
export async function openInference(task: Omit<InferenceTask, 'repeat'>) {
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
  return {
    /** One array per graph output. */
    run: async (): Promise<Float32Array[]> => {
      const results = await session.run(feeds);
      return graph.outputs.map((id) => results[`t${id}`]!.data as Float32Array);
    },
    close: () => session.release(),
  };
}

export async function measureInference(task: InferenceTask): Promise<InferenceMeasured> {
  const inference = await openInference(task);
  const outputs = (await inference.run()).map((values) => Int32Array.from(values, Math.round));
  const inferenceMs: number[] = [];
  for (let i = 0; i < task.repeat; i++) inferenceMs.push((await timedAsync(() => inference.run())).ms);
  await inference.close();
  return { outputs, inferenceMs };
}
