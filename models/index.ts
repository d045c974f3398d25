/**
 * The models that Assay ships, with data to calibrate and to try them. models/README.md has their cards.
 */
import { AssayError } from '../common/errors.js';
import { sizeOf, type Tensor } from '../graph/tensor.js';
import type { Examples, Part } from './data/dataset.js';
import { IRIS_COUNTS, loadIris } from './data/iris.js';
import { loadMnist, MNIST_COUNTS } from './data/mnist.js';
import { modelFile } from './model-file.js';

export interface ShippedModel {
  /** File name without `.onnx`, and name of the ONNX graph. */
  readonly name: string;
  /** Absolute path of the ONNX file. */
  readonly file: string;
  readonly title: string;
  readonly dataset: 'mnist' | 'iris';
  /** Name of the only input, in the ONNX file; float32 of shape [N, ...itemShape]. */
  readonly input: string;
  /** Name of the only output, in the ONNX file; float32 of shape [N, classes]. */
  readonly output: string;
  /** How many calibration samples there are. */
  readonly calibrationCount: number;
  /** How many held-out samples there are. */
  readonly heldOutCount: number;
}

/** One map from input name to tensor (batch 1) per sample, and the class index of each. */
export interface LabelledSamples {
  readonly samples: readonly ReadonlyMap<string, Tensor>[];
  readonly labels: Uint8Array;
}

const MODELS = [
  { name: 'lenet5', title: 'LeNet-5 on handwritten digits', dataset: 'mnist', input: 'image', output: 'logits' },
  {
    name: 'mnist-dwcnn',
    title: 'Depthwise-separable CNN on handwritten digits',
    dataset: 'mnist',
    input: 'image',
    output: 'logits',
  },
  {
    name: 'mnist-mlp',
    title: 'MLP 784-128-10 on handwritten digits',
    dataset: 'mnist',
    input: 'image',
    output: 'logits',
  },
  { name: 'iris', title: 'MLP 4-16-3 on iris flowers', dataset: 'iris', input: 'features', output: 'probabilities' },
] as const satisfies readonly Omit<ShippedModel, 'file' | 'calibrationCount' | 'heldOutCount'>[];

export function shippedModels(): readonly ShippedModel[] {
  return MODELS.map((model) => {
    const counts = model.dataset === 'mnist' ? MNIST_COUNTS : IRIS_COUNTS;
    return {
      ...model,
      file: modelFile(model.name),
      calibrationCount: counts.calibration,
      heldOutCount: counts.heldOut,
    };
  });
}

/** @throws AssayError SHIPPED_MODEL_UNKNOWN */
export function shippedModel(name: string): ShippedModel {
  const found = shippedModels().find((model) => model.name === name);
  if (found !== undefined) return found;
  const names = MODELS.map((model) => model.name);
  throw new AssayError('SHIPPED_MODEL_UNKNOWN', `No shipped model is named ${name}; there are ${names.join(', ')}.`, {
    meta: { name, names },
  });
}

/**
 * The first samples of the calibration part, at most `count` (the part may hold fewer), in a fixed order.
 * @throws AssayError SHIPPED_MODEL_UNKNOWN, SAMPLE_COUNT_OUT_OF_RANGE (negative or no whole number), DATASET_MISSING,
 * DATASET_CHANGED
 */
export function calibrationSamples(name: string, count: number): readonly ReadonlyMap<string, Tensor>[] {
  const model = shippedModel(name);
  return labelled(model, 'calibration', Math.min(count, model.calibrationCount)).samples;
}

/**
 * The first samples of the held-out part with their labels, at most `count` (the part may hold fewer), in a fixed
 * order. Nothing was trained or chosen on them.
 * @throws AssayError SHIPPED_MODEL_UNKNOWN, SAMPLE_COUNT_OUT_OF_RANGE (negative or no whole number), DATASET_MISSING,
 * DATASET_CHANGED
 */
export function heldOutSamples(name: string, count: number): LabelledSamples {
  const model = shippedModel(name);
  return labelled(model, 'heldOut', Math.min(count, model.heldOutCount));
}

function labelled(model: ShippedModel, part: Part, count: number): LabelledSamples {
  const examples: Examples = model.dataset === 'mnist' ? loadMnist(part, count) : loadIris(part, count);
  const size = sizeOf(examples.shape);
  const shape = [1, ...examples.shape];
  const samples = Array.from({ length: examples.count }, (_, item) => {
    const data = examples.values.slice(item * size, (item + 1) * size);
    return new Map<string, Tensor>([[model.input, { type: 'float32', shape, data }]]);
  });
  return { samples, labels: examples.labels };
}
