/**
 * Softmax and LogSoftmax. Since opset 13 over one axis (default -1); before, over all axes from `axis`
 * (default 1) on, as if the input were a matrix.
 */
import { sizeOf } from '../../tensor.js';
import { numbersOf, tensorFromNumbers } from '../numbers.js';
import { requireNumeric } from './elementwise.js';
import { around } from './indexing.js';
import type { Application, Operator } from './operator.js';

function plan(application: Application, shape: readonly number[]): { outer: number; side: number; inner: number } {
  const matrix = application.opset < 13;
  const axis = application.number('axis', matrix ? 1 : -1);
  // As a matrix, axis = rank makes rows of one element.
  if (matrix && axis === shape.length) return { outer: sizeOf(shape), side: 1, inner: 1 };
  const resolved = application.axis(axis, shape.length);
  if (!matrix) return around(shape, resolved);
  return { outer: sizeOf(shape.slice(0, resolved)), side: sizeOf(shape.slice(resolved)), inner: 1 };
}

function softmax(op: string, finish: (shiftedValue: number, sum: number) => number): Operator {
  return {
    op,
    sinceOpset: 7,
    infer: (application) => {
      const { type, shape } = application.input(0);
      requireNumeric(application, type, false);
      plan(application, shape);
      return [{ type, shape }];
    },
    evaluate: (application) => {
      const x = application.tensor(0);
      const { outer, side, inner } = plan(application, x.shape);
      const source = numbersOf(x);
      const values = new Float64Array(source.length);
      for (let o = 0; o < outer; o++) {
        for (let i = 0; i < inner; i++) {
          const start = o * side * inner + i;
          let peak = -Infinity;
          for (let s = 0; s < side; s++) peak = Math.max(peak, source[start + s * inner]!);
          let sum = 0;
          for (let s = 0; s < side; s++) sum += Math.exp(source[start + s * inner]! - peak);
          for (let s = 0; s < side; s++) values[start + s * inner] = finish(source[start + s * inner]! - peak, sum);
        }
      }
      return [tensorFromNumbers(x.type, x.shape, values)];
    },
  };
}

export const SOFTMAX: readonly Operator[] = [
  softmax('Softmax', (value, sum) => Math.exp(value) / sum),
  softmax('LogSoftmax', (value, sum) => value - Math.log(sum)),
];
