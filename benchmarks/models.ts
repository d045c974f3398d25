/** The models that the suites run on: those we ship, and opt-mnist.onnx where the checkout has it beside it. */
import { existsSync, readFileSync } from 'node:fs';
import { AssayError } from '../common/errors.js';
import { packageRoot } from '../common/package-root.js';
import { compileModel, encodeInputs, readOnnx, type Bundle, type Samples, type Tensor } from '../graph/index.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../models/index.js';

const OPT_MNIST = new URL('../shared/onnx-models/opt-mnist.onnx', packageRoot());
const CALIBRATION = 200;

export const PROVER_MODELS: readonly string[] = [
  'iris',
  'mnist-mlp',
  'lenet5',
  'mnist-dwcnn',
  ...(existsSync(OPT_MNIST) ? ['opt-mnist'] : []),
];

/** @throws AssayError SHIPPED_MODEL_UNKNOWN. */
export function compiledModel(name: string): Bundle {
  const file = name === 'opt-mnist' ? OPT_MNIST : shippedModel(name).file;
  return compileModel(readOnnx(readFileSync(file), name), { calibration: samplesOf(name, 'calibration', CALIBRATION) });
}

/** The first held-out samples as one batch of integers; they repeat where the part holds fewer. */
export function batchOf(name: string, bundle: Bundle, items: number): Int32Array[] {
  const samples = samplesOf(name, 'heldOut', items);
  if (samples.length === 0) throw new AssayError('SAMPLE_COUNT_OUT_OF_RANGE', `${items} items of ${name}`);
  const encoded = Array.from({ length: items }, (_, i) => encodeInputs(bundle, samples[i % samples.length]!).values);
  return bundle.inputs.map((_, input) => Int32Array.from(encoded.flatMap((values) => [...values[input]!])));
}

function samplesOf(name: string, part: 'calibration' | 'heldOut', count: number): Samples {
  const own = name === 'opt-mnist' ? 'lenet5' : name;
  const samples = part === 'calibration' ? calibrationSamples(own, count) : heldOutSamples(own, count).samples;
  return name === 'opt-mnist' ? samples.map(optMnistSample) : samples;
}

/** opt-mnist takes pixels 0 to 255 under another name. */
export function optMnistSample(sample: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
  const { data } = sample.get('image')!;
  const pixels = Float32Array.from(data as Float32Array, (pixel) => 255 * pixel);
  return new Map([['Input3', { type: 'float32', shape: [1, 1, 28, 28], data: pixels }]]);
}
