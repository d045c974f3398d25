/** Pooling over one or two spatial axes, and over all of them. */
import { sizeOf } from '../../tensor.js';
import type { Tensor } from '../../tensor.js';
import { INTEGER_LIMITS, numbersOf, tensorFromNumbers } from '../numbers.js';
import { requireNumeric } from './elementwise.js';
import type { Application, Facts, Operator } from './operator.js';
import { planWindow } from './window.js';
import type { WindowPlan } from './window.js';

function plan(application: Application, shape: readonly number[]): WindowPlan {
  const kernel = application.numbers('kernel_shape');
  if (kernel === null) throw application.invalid('lacks kernel_shape');
  return planWindow(application, shape, { kernel, ceilMode: application.number('ceil_mode', 0) !== 0 });
}

function poolFacts(application: Application): Facts {
  const { type, shape } = application.input(0);
  requireNumeric(application, type, false);
  return { type, shape: [...shape.slice(0, 2), ...plan(application, shape).outputSides] };
}

/** Padded cells are never chosen; a window of padding alone gives the lowest value of the type. */
const MAX_POOL: Operator = {
  op: 'MaxPool',
  sinceOpset: 7,
  infer: (application) => {
    const facts = poolFacts(application);
    return [facts, { type: 'int64', shape: facts.shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const window = plan(application, x.shape);
    const source = numbersOf(x);
    const shape = [...x.shape.slice(0, 2), ...window.outputSides];
    const values = new Float64Array(sizeOf(shape));
    const indices = application.asks(1) ? new BigInt64Array(values.length) : null;
    const columnMajor = application.number('storage_order', 0) !== 0;
    const lowest = INTEGER_LIMITS[x.type]?.[0] ?? -Infinity;
    const [height, width] = window.input;
    const [outHeight, outWidth] = window.output;
    let to = 0;
    for (let plane = 0; plane < window.batch * window.channels; plane++) {
      const start = plane * height * width;
      for (let row = 0; row < outHeight; row++) {
        for (let column = 0; column < outWidth; column++, to++) {
          let best = lowest;
          let at = -1;
          for (let i = 0; i < window.kernel[0]; i++) {
            const y = row * window.strides[0] + i * window.dilations[0] - window.begin[0];
            if (y < 0 || y >= height) continue;
            for (let j = 0; j < window.kernel[1]; j++) {
              const z = column * window.strides[1] + j * window.dilations[1] - window.begin[1];
              if (z < 0 || z >= width) continue;
              const value = source[start + y * width + z]!;
              if (value > best || at === -1) {
                best = value;
                at = y * width + z;
              }
            }
          }
          values[to] = best;
          if (indices !== null) {
            const inPlane = columnMajor && at !== -1 ? (at % width) * height + Math.floor(at / width) : at;
            indices[to] = BigInt(start + inPlane);
          }
        }
      }
    }
    const result: Tensor[] = [tensorFromNumbers(x.type, shape, values)];
    if (indices !== null) result.push({ type: 'int64', shape, data: indices });
    return result;
  },
};

/**
 * The mean of the cells inside the input, or with count_include_pad of all cells inside the padded input. Cells
 * beyond the padding, which ceil_mode can reach, are never counted.
 */
const AVERAGE_POOL: Operator = {
  op: 'AveragePool',
  sinceOpset: 7,
  infer: (application) => [poolFacts(application)],
  evaluate: (application) => {
    const x = application.tensor(0);
    const window = plan(application, x.shape);
    const source = numbersOf(x);
    const shape = [...x.shape.slice(0, 2), ...window.outputSides];
    const values = new Float64Array(sizeOf(shape));
    const includePad = application.number('count_include_pad', 0) !== 0;
    const [height, width] = window.input;
    const [outHeight, outWidth] = window.output;
    const paddedHeight = height + window.end[0];
    const paddedWidth = width + window.end[1];
    let to = 0;
    for (let plane = 0; plane < window.batch * window.channels; plane++) {
      const start = plane * height * width;
      for (let row = 0; row < outHeight; row++) {
        for (let column = 0; column < outWidth; column++, to++) {
          let sum = 0;
          let inside = 0;
          let padded = 0;
          for (let i = 0; i < window.kernel[0]; i++) {
            const y = row * window.strides[0] + i * window.dilations[0] - window.begin[0];
            if (y >= paddedHeight) break;
            for (let j = 0; j < window.kernel[1]; j++) {
              const z = column * window.strides[1] + j * window.dilations[1] - window.begin[1];
              if (z >= paddedWidth) break;
              padded++;
              if (y < 0 || y >= height || z < 0 || z >= width) continue;
              inside++;
              sum += source[start + y * width + z]!;
            }
          }
          values[to] = sum / (includePad ? padded : inside);
        }
      }
    }
    return [tensorFromNumbers(x.type, shape, values)];
  },
};

/** One value for each plane, however many spatial axes there are. */
function global(op: string, reduce: (source: ArrayLike<number>, from: number, to: number) => number): Operator {
  const facts = (application: Application): Facts => {
    const { type, shape } = application.input(0);
    requireNumeric(application, type, false);
    if (shape.length < 3) throw application.mismatch('has an input without spatial axes');
    return { type, shape: shape.map((side, axis) => (axis < 2 ? side : 1)) };
  };
  return {
    op,
    sinceOpset: 7,
    infer: (application) => [facts(application)],
    evaluate: (application) => {
      const x = application.tensor(0);
      const { shape } = facts(application);
      const source = numbersOf(x);
      const inner = sizeOf(x.shape.slice(2));
      const values = new Float64Array(sizeOf(shape));
      for (let i = 0; i < values.length; i++) values[i] = reduce(source, i * inner, (i + 1) * inner);
      return [tensorFromNumbers(x.type, shape, values)];
    },
  };
}

export const POOLING: readonly Operator[] = [
  MAX_POOL,
  AVERAGE_POOL,
  global('GlobalAveragePool', (source, from, to) => {
    let sum = 0;
    for (let i = from; i < to; i++) sum += source[i]!;
    return sum / (to - from);
  }),
  global('GlobalMaxPool', (source, from, to) => {
    let best = -Infinity;
    for (let i = from; i < to; i++) best = Math.max(best, source[i]!);
    return best;
  }),
];
