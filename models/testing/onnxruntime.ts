import * as ort from 'onnxruntime-node';
import type { Examples } from '../data/dataset.js';
import { loadIris } from '../data/iris.js';
import { loadMnist } from '../data/mnist.js';
import type { ShippedModel } from '../index.js';

/** Test helper: the whole held-out part of a model's data. */
export function heldOutOf(model: ShippedModel): Examples {
  return model.dataset === 'mnist' ? loadMnist('heldOut') : loadIris('heldOut');
}

/** Test helper: onnxruntime's output of a shipped model for all examples in one batch, row-major [count, classes]. */
export async function runFloat(model: ShippedModel, { count, shape, values }: Examples): Promise<Float32Array> {
  const session = await ort.InferenceSession.create(model.file, { intraOpNumThreads: 1, logSeverityLevel: 3 });
  try {
    const outputs = await session.run({ [model.input]: new ort.Tensor('float32', values, [count, ...shape]) });
    return outputs[model.output]!.data as Float32Array;
  } finally {
    await session.release();
  }
}
