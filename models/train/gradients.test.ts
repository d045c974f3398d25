import { describe, expect, it } from 'vitest';
import { sizeOf } from '../../graph/tensor.js';
import { SeededRandom } from '../random.js';
import { Relu, Tanh } from './activation.js';
import { BatchNorm } from './batch-norm.js';
import { Conv2d } from './conv2d.js';
import { Dense } from './dense.js';
import { DepthwiseConv2d } from './depthwise-conv2d.js';
import { Flatten } from './flatten.js';
import type { Layer, Shape } from './layer.js';
import { softmaxCrossEntropy } from './loss.js';
import { AveragePool2x2, GlobalAveragePool, MaxPool2x2 } from './pool.js';
import { Residual } from './residual.js';
import { Sequential } from './sequential.js';

/** Central differences: error about step^2 plus 1e-16 / step, so 1e-5 leaves about ten digits. */
const STEP = 1e-5;
const ITEMS = 3;

const random = new SeededRandom(11);
const normals = (count: number): Float64Array => Float64Array.from({ length: count }, () => random.normal());

/** Every derivative that `backward` gives, of the loss sum(weights * output), against central differences. */
function checkGradients(layer: Layer, inputShape: Shape): void {
  for (const { value } of layer.parameters) value.set(normals(value.length));
  const x = normals(ITEMS * sizeOf(inputShape));
  const weights = normals(ITEMS * sizeOf(layer.outputShape));
  const loss = (): number => layer.forward(x, ITEMS, true).reduce((sum, y, i) => sum + weights[i]! * y, 0);
  const difference = (array: Float64Array, index: number): number => {
    const kept = array[index]!;
    array[index] = kept + STEP;
    const above = loss();
    array[index] = kept - STEP;
    const below = loss();
    array[index] = kept;
    return (above - below) / (2 * STEP);
  };

  for (const { gradient } of layer.parameters) gradient.fill(0);
  loss();
  const dx = layer.backward(weights, ITEMS).slice();
  const gradients = layer.parameters.map(({ gradient }) => gradient.slice());
  for (let i = 0; i < x.length; i++) expectClose(dx[i]!, difference(x, i), `input ${i}`);
  for (const [p, { name, value }] of layer.parameters.entries()) {
    for (let i = 0; i < value.length; i++) expectClose(gradients[p]![i]!, difference(value, i), `${name} ${i}`);
  }
}

function expectClose(found: number, expected: number, what: string): void {
  expect(Math.abs(found - expected) / Math.max(1, Math.abs(expected)), what).toBeLessThan(1e-7);
}

describe('gradients against finite differences', () => {
  const image: Shape = [4, 6, 6];
  const cases: [string, Layer, Shape][] = [
    ['Dense', new Dense('l', [7], 5, random), [7]],
    ['Conv2d', new Conv2d('l', image, 5, { kernel: 3 }, random), image],
    ['Conv2d padded, stride 2', new Conv2d('l', image, 3, { kernel: 3, pad: 1, stride: 2 }, random), image],
    ['Conv2d 5x5 padded by 2', new Conv2d('l', image, 2, { kernel: 5, pad: 2 }, random), image],
    ['DepthwiseConv2d', new DepthwiseConv2d('l', image, 3, 1, random), image],
    ['DepthwiseConv2d 5x5, stride 2', new DepthwiseConv2d('l', image, 5, 2, random), image],
    ['Conv2d in 2 groups, no bias', new Conv2d('l', image, 6, { kernel: 2, groups: 2, bias: false }, random), image],
    ['Conv2d pointwise', new Conv2d('l', image, 9, { kernel: 1 }, random), image],
    ['BatchNorm', new BatchNorm('l', image), image],
    ['Relu', new Relu('l', [9]), [9]],
    ['Tanh', new Tanh('l', [9]), [9]],
    ['AveragePool2x2', new AveragePool2x2('l', image), image],
    ['MaxPool2x2', new MaxPool2x2('l', image), image],
    ['GlobalAveragePool', new GlobalAveragePool('l', image), image],
    [
      'Residual in a Sequential',
      new Sequential([
        new Residual(
          'add',
          new Sequential([
            new Conv2d('a', image, 4, { kernel: 3, pad: 1, bias: false }, random),
            new BatchNorm('b', image),
            new Tanh('c', image),
          ]),
        ),
        new Flatten('f', image),
        new Dense('d', [144], 3, random),
      ]),
      image,
    ],
  ];
  it.each(cases)('%s', (_name, layer, shape) => {
    checkGradients(layer, shape);
  });

  it('softmaxCrossEntropy', () => {
    const logits = normals(4 * 5);
    const labels = Uint8Array.of(0, 4, 2, 2);
    const { gradient } = softmaxCrossEntropy(logits, labels);
    for (let i = 0; i < logits.length; i++) {
      const moved = (by: number): number =>
        softmaxCrossEntropy(
          logits.map((logit, j) => (j === i ? logit + by : logit)),
          labels,
        ).loss;
      expectClose(gradient[i]!, (moved(STEP) - moved(-STEP)) / (2 * STEP), `logit ${i}`);
    }
  });
});

describe('softmaxCrossEntropy', () => {
  it('is ln(classes) for equal logits, and finite for huge ones', () => {
    expect(softmaxCrossEntropy(new Float64Array(10), Uint8Array.of(3)).loss).toBeCloseTo(Math.log(10), 12);
    const huge = softmaxCrossEntropy(Float64Array.of(1e4, -1e4), Uint8Array.of(1));
    expect(huge.loss).toBe(2e4);
    expect(huge.correct).toBe(0);
  });
});
