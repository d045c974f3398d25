/** Test helper: a float graph run by onnxruntime, node or web, every slot returned. */
import type { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node';
import type { FloatBundle } from '../float-bundle.js';
import { slotName } from '../export-float.js';

export interface OnnxruntimeApi {
  readonly InferenceSession: {
    create(model: Uint8Array, options: InferenceSession.SessionOptions): Promise<InferenceSession>;
  };
  readonly Tensor: typeof OrtTensor;
}

/** @param inputs one array per graph input, item outermost. @returns one array per value. */
export async function runOnnxruntime(
  api: OnnxruntimeApi,
  { graph, executable }: FloatBundle,
  inputs: readonly Float32Array[],
  items: number,
  options: InferenceSession.SessionOptions = {},
): Promise<Float32Array[]> {
  const session = await api.InferenceSession.create(executable, { logSeverityLevel: 3, ...options });
  try {
    const feeds = Object.fromEntries(
      graph.inputs.map(({ value }, i) => [
        slotName(value),
        new api.Tensor('float32', inputs[i]!, [items, ...graph.values[value]!.shape]),
      ]),
    );
    const results = await session.run(feeds);
    const computed = graph.nodes.map((_, j) => results[slotName(graph.inputs.length + j)]!.data as Float32Array);
    return [...inputs, ...computed.map((data) => Float32Array.from(data))];
  } finally {
    await session.release();
  }
}
