import { exportFloat } from './export-float.js';
import { floatModel, type FloatModel } from './float-model.js';
import { lowerModel } from './lower-model.js';
import type { FloatGraph } from './types.js';

/** A float32 graph with its identity and the model that its executor runs. */
export interface FloatBundle {
  readonly graph: FloatGraph;
  readonly model: FloatModel;
  /** ONNX; every slot but the inputs is an output of it (export-float.ts). */
  readonly executable: Uint8Array;
}

/**
 * @param onnxBytes an ONNX file.
 * @param fileName stands in messages only.
 * @throws AssayError as `lowerModel`.
 */
export function floatBundle(onnxBytes: Uint8Array, fileName: string): FloatBundle {
  return bundleOfGraph(lowerModel(onnxBytes, fileName));
}

export function bundleOfGraph(graph: FloatGraph): FloatBundle {
  return { graph, model: floatModel(graph), executable: exportFloat(graph) };
}
