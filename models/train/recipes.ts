/** The shipped models: architecture and training settings. models/README.md tells how they were chosen. */
import { IRIS_SHAPE } from '../data/iris.js';
import { MNIST_CLASSES, MNIST_SHAPE } from '../data/mnist.js';
import type { SeededRandom } from '../random.js';
import { Relu, Tanh } from './activation.js';
import { BatchNorm } from './batch-norm.js';
import { Conv2d } from './conv2d.js';
import { Dense } from './dense.js';
import { DepthwiseConv2d } from './depthwise-conv2d.js';
import type { FitOptions } from './fit.js';
import { Flatten } from './flatten.js';
import type { Layer, Shape } from './layer.js';
import { AveragePool2x2, GlobalAveragePool, MaxPool2x2 } from './pool.js';
import { Residual } from './residual.js';
import { Sequential } from './sequential.js';

export interface Network {
  /** Ends in logits. */
  readonly layers: Layer;
  /** Where set, training sees inputs of mean 0 and variance 1, and the change of variables is folded into this layer. */
  readonly standardisedInto: Dense | null;
}

export interface Recipe {
  readonly dataset: 'mnist' | 'iris';
  readonly input: { readonly name: string; readonly shape: Shape };
  /** Name of the output; `probabilities` ends the file by a Softmax. */
  readonly output: 'logits' | 'probabilities';
  readonly build: (random: SeededRandom) => Network;
  /** Of the initial weights. */
  readonly seed: number;
  readonly fit: FitOptions;
}

const IMAGE = { name: 'image', shape: MNIST_SHAPE } as const;
const SEED = 1;

/** 784-128-10. */
function buildMlp(random: SeededRandom): Network {
  const layers = new Sequential([
    new Flatten('flatten', MNIST_SHAPE),
    new Dense('fc1', [784], 128, random),
    new Relu('relu1', [128]),
    new Dense('fc2', [128], MNIST_CLASSES, random, 1),
  ]);
  return { layers, standardisedInto: null };
}

/** LeCun, Bottou, Bengio and Haffner, Gradient-Based Learning, 1998, section II.B, with ReLU, full C3 and a linear end. */
function buildLenet5(random: SeededRandom): Network {
  const layers = new Sequential([
    new Conv2d('conv1', MNIST_SHAPE, 6, { kernel: 5, pad: 2 }, random),
    new Relu('relu1', [6, 28, 28]),
    new AveragePool2x2('pool1', [6, 28, 28]),
    new Conv2d('conv2', [6, 14, 14], 16, { kernel: 5 }, random),
    new Relu('relu2', [16, 10, 10]),
    new AveragePool2x2('pool2', [16, 10, 10]),
    new Flatten('flatten', [16, 5, 5]),
    new Dense('fc1', [400], 120, random),
    new Relu('relu3', [120]),
    new Dense('fc2', [120], 84, random),
    new Relu('relu4', [84]),
    new Dense('fc3', [84], MNIST_CLASSES, random, 1),
  ]);
  return { layers, standardisedInto: null };
}

/** Depthwise-separable convolutions with batch normalisation and two residual blocks, 16 to 64 channels. */
function buildDepthwiseCnn(random: SeededRandom): Network {
  /** The convolution, BatchNorm and, where `relu`, ReLU. */
  const unit = (name: string, conv: Layer, relu = true): Sequential => {
    const norm = new BatchNorm(`${name}.norm`, conv.outputShape);
    return new Sequential(relu ? [conv, norm, new Relu(`${name}.relu`, norm.outputShape)] : [conv, norm]);
  };
  const conv = (name: string, input: Shape, channels: number, kernel: number): Conv2d =>
    new Conv2d(`${name}.conv`, input, channels, { kernel, pad: (kernel - 1) / 2, bias: false }, random);
  /** Depthwise 3x3, then pointwise. */
  const separable = (name: string, input: Shape, channels: number, stride: number, relu = true): Sequential => {
    const depthwise = unit(`${name}.dw`, new DepthwiseConv2d(`${name}.dw.conv`, input, 3, stride, random));
    return new Sequential([
      depthwise,
      unit(`${name}.pw`, conv(`${name}.pw`, depthwise.outputShape, channels, 1), relu),
    ]);
  };
  const residual = (name: string, shape: Shape): Sequential =>
    new Sequential([
      new Residual(`${name}.add`, separable(name, shape, shape[0]!, 1, false)),
      new Relu(`${name}.relu`, shape),
    ]);
  const layers = new Sequential([
    unit('stem', conv('stem', MNIST_SHAPE, 16, 3)),
    new MaxPool2x2('pool', [16, 28, 28]),
    separable('widen1', [16, 14, 14], 32, 1),
    residual('block1', [32, 14, 14]),
    separable('widen2', [32, 14, 14], 64, 2),
    residual('block2', [64, 7, 7]),
    new GlobalAveragePool('average', [64, 7, 7]),
    new Flatten('flatten', [64, 1, 1]),
    new Dense('fc', [64], MNIST_CLASSES, random, 1),
  ]);
  return { layers, standardisedInto: null };
}

/** 4-16-3 with tanh. */
function buildIris(random: SeededRandom): Network {
  const hidden = new Dense('fc1', IRIS_SHAPE, 16, random, 1);
  const layers = new Sequential([hidden, new Tanh('tanh', [16]), new Dense('fc2', [16], 3, random, 1)]);
  return { layers, standardisedInto: hidden };
}

export const RECIPES = {
  'mnist-mlp': {
    dataset: 'mnist',
    input: IMAGE,
    output: 'logits',
    build: buildMlp,
    seed: SEED,
    fit: { seed: SEED, epochs: 30, batchSize: 50, learningRate: 2e-3, decay: 0.01, augment: true },
  },
  lenet5: {
    dataset: 'mnist',
    input: IMAGE,
    output: 'logits',
    build: buildLenet5,
    seed: SEED,
    fit: { seed: SEED, epochs: 40, batchSize: 50, learningRate: 2e-3, decay: 0.01, augment: true },
  },
  'mnist-dwcnn': {
    dataset: 'mnist',
    input: IMAGE,
    output: 'logits',
    build: buildDepthwiseCnn,
    seed: SEED,
    fit: { seed: SEED, epochs: 24, batchSize: 50, learningRate: 5e-3, decay: 0.01, augment: true },
  },
  iris: {
    dataset: 'iris',
    input: { name: 'features', shape: IRIS_SHAPE },
    output: 'probabilities',
    build: buildIris,
    seed: SEED,
    fit: { seed: SEED, epochs: 200, batchSize: 15, learningRate: 1e-2, decay: 0.01, augment: false },
  },
} as const satisfies Record<string, Recipe>;

export type ModelName = keyof typeof RECIPES;
