/** Test helper: integer graph against float model, in units of an 8-bit output. */
import { compileModel } from '../compile.js';
import { decodeOutputs, encodeInputs } from '../../bundle/ports.js';
import type { Bundle } from '../../bundle/types.js';
import { evaluateGraph } from '../../integer/evaluate.js';
import { evaluateModel } from '../../onnx/evaluate-model.js';
import type { OnnxModel } from '../../onnx/model.js';
import { float64sOf } from '../../onnx/numbers.js';
import { prepareModel } from '../../onnx/prepare-model.js';
import type { Tensor } from '../../tensor.js';
import type { CompileOptions } from '../options.js';
import { buildModel, random, samplesOf, type ModelSpec } from './models.js';

/** The integer graph's outputs for one sample, as real tensors. */
export function runBundle(bundle: Bundle, sample: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
  const { values, items } = encodeInputs(bundle, sample);
  const tensors = evaluateGraph(bundle.graph, values, items);
  return decodeOutputs(
    bundle,
    bundle.graph.outputs.map((id) => tensors[id]!),
    items,
  );
}

/**
 * Compiles and compares on the calibration samples.
 * @returns the largest error over all outputs, in 255ths of each output's width (or its largest magnitude where it has one sign).
 */
export function compare(
  model: OnnxModel,
  options: CompileOptions,
): { bundle: Bundle; worst: number; shapes: readonly (readonly number[])[] } {
  const bundle = compileModel(model, options);
  const prepared = prepareModel(model, { dims: options.dims ?? {} });
  const error = new Map<string, number>();
  const low = new Map<string, number>();
  const high = new Map<string, number>();
  for (const sample of options.calibration) {
    const float = evaluateModel(prepared, sample);
    const integer = runBundle(bundle, sample);
    for (const [name, tensor] of integer) {
      const expected = float.get(name)!;
      if (tensor.shape.join() !== expected.shape.join())
        throw new Error(`${name}: shape [${tensor.shape.join()}], the model gives [${expected.shape.join()}]`);
      const found = float64sOf(tensor);
      float64sOf(expected).forEach((x, i) => {
        error.set(name, Math.max(error.get(name) ?? 0, Math.abs(x - found[i]!)));
        low.set(name, Math.min(low.get(name) ?? 0, x));
        high.set(name, Math.max(high.get(name) ?? 0, x));
      });
    }
  }
  let worst = 0;
  for (const [name, e] of error) {
    const width = high.get(name)! - low.get(name)!;
    worst = Math.max(worst, width === 0 ? (e === 0 ? 0 : Infinity) : (e / width) * 255);
  }
  return { bundle, worst, shapes: bundle.outputs.map((port) => port.shape) };
}

/** `compare` of a model given by its nodes, on 12 random samples. */
export function compareSpec(
  spec: ModelSpec,
  shapes: Readonly<Record<string, readonly number[]>>,
  scale = 1,
): ReturnType<typeof compare> {
  return compare(buildModel(spec), { calibration: samplesOf(shapes, 12, random(41), scale) });
}
