/** Normalisation by running statistics (BatchNormalization) and by the item's own (LayerNormalization). */
import { sizeOf } from '../../tensor.js';
import type { ElementType, Tensor } from '../../tensor.js';
import { numbersOf, tensorFromNumbers } from '../numbers.js';
import type { NumberArray } from '../numbers.js';
import { requireNumeric } from './elementwise.js';
import { broadcastIndices, broadcastShapes } from './indexing.js';
import type { Application, Operator } from './operator.js';

const FLOATS: readonly ElementType[] = ['float32', 'float16', 'bfloat16', 'float64'];

/** Inference: y = scale (x - mean) / sqrt(variance + epsilon) + bias, per channel (axis 1). */
const BATCH_NORMALIZATION: Operator = {
  op: 'BatchNormalization',
  sinceOpset: 7,
  infer: (application) => {
    const { type, shape } = application.input(0);
    requireNumeric(application, type, false);
    const training =
      application.opset >= 14
        ? application.number('training_mode', 0) !== 0
        : [1, 2, 3, 4].some((index) => application.asks(index));
    if (training) {
      throw application.unsupported(
        'it is in training mode and normalises by the statistics of the batch',
        'Export the model in evaluation mode (model.eval() in PyTorch).',
      );
    }
    if (application.opset < 9 && application.number('spatial', 1) === 0) {
      throw application.unsupported(
        'it has spatial = 0, which opset 9 removed',
        'Convert the model to opset 9 or later.',
      );
    }
    application.requireTypes([1, 2, 3, 4], FLOATS);
    const channels = shape[1] ?? 1;
    for (const index of [1, 2, 3, 4]) {
      const parameter = application.input(index);
      if (parameter.shape.length !== 1 || parameter.shape[0] !== channels) {
        throw application.mismatch(`has a parameter (input ${index}) that is not [${channels}]`);
      }
    }
    return [{ type, shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const parameter = (index: number): NumberArray => numbersOf(application.tensor(index));
    const [scale, bias, mean, variance] = [parameter(1), parameter(2), parameter(3), parameter(4)];
    const epsilon = application.number('epsilon', Math.fround(1e-5));
    const channels = scale.length;
    const inner = sizeOf(x.shape.slice(2));
    const source = numbersOf(x);
    const values = new Float64Array(source.length);
    for (let i = 0; i < values.length; i++) {
      const c = Math.floor(i / inner) % channels;
      values[i] = (scale[c]! * (source[i]! - mean[c]!)) / Math.sqrt(variance[c]! + epsilon) + bias[c]!;
    }
    return [tensorFromNumbers(x.type, x.shape, values)];
  },
};

/** Over the axes from `axis` to the last. Outputs: the result, the mean, and 1 / standard deviation. */
const LAYER_NORMALIZATION: Operator = {
  op: 'LayerNormalization',
  sinceOpset: 17,
  infer: (application) => {
    const { type, shape } = application.input(0);
    requireNumeric(application, type, false);
    const axis = application.axis(application.number('axis', -1), shape.length);
    application.requireTypes([1, 2], FLOATS);
    const inner = shape.slice(axis);
    for (const index of [1, 2]) {
      const parameter = index === 1 ? application.input(1) : application.optional(2);
      if (parameter !== null && broadcastShapes(application, [inner, parameter.shape]).join() !== inner.join()) {
        throw application.mismatch(`has a parameter (input ${index}) that does not broadcast to [${inner.join(', ')}]`);
      }
    }
    const statistics = { type: stashType(application), shape: [...shape.slice(0, axis), ...inner.map(() => 1)] };
    return [{ type, shape }, statistics, statistics];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const axis = application.axis(application.number('axis', -1), x.shape.length);
    const innerShape = x.shape.slice(axis);
    const inner = sizeOf(innerShape);
    const outer = sizeOf(x.shape.slice(0, axis));
    const epsilon = application.number('epsilon', Math.fround(1e-5));
    const parameter = (index: number, missing: number): ((i: number) => number) => {
      if (application.optional(index) === null) return () => missing;
      const tensor = application.tensor(index);
      const data = numbersOf(tensor);
      const indices = broadcastIndices(tensor.shape, innerShape);
      return (i) => data[indices === null ? i : indices[i]!]!;
    };
    const scale = parameter(1, 1);
    const bias = parameter(2, 0);
    const source = numbersOf(x);
    const values = new Float64Array(source.length);
    const means = new Float64Array(outer);
    const inverses = new Float64Array(outer);
    for (let o = 0; o < outer; o++) {
      let sum = 0;
      for (let i = 0; i < inner; i++) sum += source[o * inner + i]!;
      const mean = sum / inner;
      let squares = 0;
      for (let i = 0; i < inner; i++) squares += (source[o * inner + i]! - mean) ** 2;
      const inverse = 1 / Math.sqrt(squares / inner + epsilon);
      means[o] = mean;
      inverses[o] = inverse;
      for (let i = 0; i < inner; i++)
        values[o * inner + i] = (source[o * inner + i]! - mean) * inverse * scale(i) + bias(i);
    }
    const statistics = [...x.shape.slice(0, axis), ...innerShape.map(() => 1)];
    const type = stashType(application);
    return [
      tensorFromNumbers(x.type, x.shape, values),
      tensorFromNumbers(type, statistics, means),
      tensorFromNumbers(type, statistics, inverses),
    ];
  },
};

/** The statistics are float32 (stash_type 1) or bfloat16 (16). */
function stashType(application: Application): Tensor['type'] {
  const stash = application.number('stash_type', 1);
  if (stash === 1) return 'float32';
  if (stash === 16) return 'bfloat16';
  throw application.invalid(`has stash_type ${stash}; expected 1 or 16`);
}

export const NORMALIZATION: readonly Operator[] = [BATCH_NORMALIZATION, LAYER_NORMALIZATION];
