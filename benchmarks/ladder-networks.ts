/**
 * Rungs of the ladder that are too large to ship: seeded weights (He et al. 2015), made in memory when asked for. Shapes
 * and operators are those of real networks; their answers mean nothing, so they are compared with float ones, not labels.
 */
import { sizeOf } from '../graph/index.js';
import { SeededRandom } from '../models/random.js';
import { normalWeights } from '../models/train/initialise.js';
import { OnnxGraphWriter } from '../models/train/onnx-graph-writer.js';

const SEED = 8;

export interface MadeNetwork {
  readonly input: { readonly name: string; readonly shape: readonly number[] };
  readonly file: () => Uint8Array;
}

/** A network that is written while its shape is followed. */
class Writing {
  private readonly writer = new OnnxGraphWriter();
  private readonly random = new SeededRandom(SEED);
  private value: string;

  constructor(
    private readonly name: string,
    private readonly input: { readonly name: string; readonly shape: readonly number[] },
    private shape: readonly number[] = input.shape,
  ) {
    this.value = input.name;
  }

  dense(name: string, outputs: number): this {
    const inputs = sizeOf(this.shape);
    const weight = this.writer.constant(
      `${name}.w`,
      [outputs, inputs],
      normalWeights(this.random, outputs * inputs, inputs, 2),
    );
    const bias = this.writer.constant(`${name}.b`, [outputs], normalWeights(this.random, outputs, 100, 1));
    this.value = this.writer.node('Gemm', name, [this.value, weight, bias], { transB: 1 });
    this.shape = [outputs];
    return this;
  }

  conv(name: string, outputs: number, kernel: number): this {
    const [inputs, rows, columns] = this.shape as [number, number, number];
    const fanIn = inputs * kernel * kernel;
    const weight = this.writer.constant(
      `${name}.w`,
      [outputs, inputs, kernel, kernel],
      normalWeights(this.random, outputs * fanIn, fanIn, 2),
    );
    const bias = this.writer.constant(`${name}.b`, [outputs], normalWeights(this.random, outputs, 100, 1));
    this.value = this.writer.node('Conv', name, [this.value, weight, bias], { kernel_shape: [kernel, kernel] });
    this.shape = [outputs, rows - kernel + 1, columns - kernel + 1];
    return this;
  }

  relu(name: string): this {
    this.value = this.writer.node('Relu', name, [this.value]);
    return this;
  }

  /** 2 x 2, stride 2. */
  maxPool(name: string): this {
    const [channels, rows, columns] = this.shape as [number, number, number];
    this.value = this.writer.node('MaxPool', name, [this.value], { kernel_shape: [2, 2], strides: [2, 2] });
    this.shape = [channels, rows >> 1, columns >> 1];
    return this;
  }

  flatten(name: string): this {
    this.value = this.writer.node('Flatten', name, [this.value], { axis: 1 });
    this.shape = [sizeOf(this.shape)];
    return this;
  }

  file(): Uint8Array {
    return this.writer.finish(this.name, this.input, { name: 'logits', shape: this.shape });
  }
}

const IMAGE = { name: 'image', shape: [1, 28, 28] } as const;
const COLOUR_IMAGE = { name: 'image', shape: [3, 32, 32] } as const;

const dense = (name: string, hidden: number): MadeNetwork => ({
  input: IMAGE,
  file: () =>
    new Writing(name, IMAGE)
      .flatten('flatten')
      .dense('fc1', hidden)
      .relu('relu1')
      .dense('fc2', hidden)
      .relu('relu2')
      .dense('fc3', 10)
      .file(),
});

export const MADE_NETWORKS: Readonly<Record<string, MadeNetwork>> = {
  /** 264,310 parameters: the size at which other provers of convolutional networks report. */
  'cifar-cnn': {
    input: COLOUR_IMAGE,
    file: () =>
      new Writing('cifar-cnn', COLOUR_IMAGE)
        .conv('conv1', 16, 5)
        .relu('relu1')
        .maxPool('pool1')
        .conv('conv2', 32, 5)
        .relu('relu2')
        .maxPool('pool2')
        .flatten('flatten')
        .dense('fc1', 300)
        .relu('relu3')
        .dense('fc2', 32)
        .relu('relu4')
        .dense('fc3', 10)
        .file(),
  },
  /** 999,382 parameters. */
  'dense-1m': dense('dense-1m', 678),
  /** 4,003,206 parameters. */
  'dense-4m': dense('dense-4m', 1642),
};
