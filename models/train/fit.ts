import { sizeOf } from '../../graph/tensor.js';
import type { Examples } from '../data/dataset.js';
import { SeededRandom } from '../random.js';
import { Adam } from './adam.js';
import { moveImage } from './augment.js';
import type { Layer } from './layer.js';
import { argMax, softmaxCrossEntropy } from './loss.js';

export interface FitOptions {
  /** Of the order of examples and of augmentation. */
  readonly seed: number;
  readonly epochs: number;
  readonly batchSize: number;
  /** At the start; falls to 0 at the end along half a cosine, after a linear rise over the first epoch. */
  readonly learningRate: number;
  /** Decoupled weight decay, see `Adam`. */
  readonly decay: number;
  /** Random shifts, turns and scales: for square images of one channel only. */
  readonly augment: boolean;
}

/**
 * Trains the network in place. Every epoch takes the examples in a new random order; a last batch that is not full is
 * left out (its examples have their turn in another epoch).
 * Deterministic: the same network, examples and options give the same bits.
 */
export function fit(
  network: Layer,
  examples: Examples,
  options: FitOptions,
  onEpoch: (epoch: number, meanLoss: number) => void,
): void {
  const { batchSize, epochs } = options;
  const random = new SeededRandom(options.seed);
  const adam = new Adam(network.parameters, options.decay);
  const itemSize = sizeOf(examples.shape);
  const side = Math.sqrt(itemSize);
  const batches = Math.floor(examples.count / batchSize);
  const x = new Float64Array(batchSize * itemSize);
  const labels = new Uint8Array(batchSize);
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = random.permutation(examples.count);
    let lossSum = 0;
    for (let batch = 0; batch < batches; batch++) {
      for (let item = 0; item < batchSize; item++) {
        const source = order[batch * batchSize + item]!;
        labels[item] = examples.labels[source]!;
        if (options.augment) {
          moveImage(examples.values, source * itemSize, x, item * itemSize, side, random);
        } else {
          x.set(examples.values.subarray(source * itemSize, (source + 1) * itemSize), item * itemSize);
        }
      }
      const { loss, gradient } = softmaxCrossEntropy(network.forward(x, batchSize, true), labels);
      lossSum += loss;
      network.backward(gradient, batchSize);
      const done = epoch + batch / batches;
      adam.update(
        options.learningRate * Math.min(1, done + 1 / batches) * 0.5 * (1 + Math.cos((Math.PI * done) / epochs)),
      );
    }
    onEpoch(epoch + 1, lossSum / batches);
  }
}

/** The network's output for all examples, [count, ...outputShape], in inference mode. */
export function predict(network: Layer, examples: Examples): Float64Array {
  const itemSize = sizeOf(examples.shape);
  const outputSize = sizeOf(network.outputShape);
  const outputs = new Float64Array(examples.count * outputSize);
  const chunk = 100;
  for (let first = 0; first < examples.count; first += chunk) {
    const items = Math.min(chunk, examples.count - first);
    const x = Float64Array.from(examples.values.subarray(first * itemSize, (first + items) * itemSize));
    outputs.set(network.forward(x, items, false), first * outputSize);
  }
  return outputs;
}

/** How many rows of [labels.length, classes] have their largest element at the label. */
export function countCorrect(outputs: ArrayLike<number>, labels: Uint8Array): number {
  const classes = outputs.length / labels.length;
  let correct = 0;
  for (const [item, label] of labels.entries()) {
    const row = Array.from({ length: classes }, (_, k) => outputs[item * classes + k]!);
    if (argMax(row) === label) correct++;
  }
  return correct;
}
