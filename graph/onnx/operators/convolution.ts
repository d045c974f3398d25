/** Convolution (cross-correlation) over one or two spatial axes: Conv, ConvInteger. */
import { sizeOf } from '../../tensor.js';
import type { Tensor } from '../../tensor.js';
import { float64sOf, numbersOf, tensorFromNumbers } from '../numbers.js';
import { commonType, requireNumeric } from './elementwise.js';
import type { Application, Facts, Operator } from './operator.js';
import { insideRange, planWindow } from './window.js';
import type { WindowPlan } from './window.js';

export interface ConvolutionPlan {
  readonly window: WindowPlan;
  readonly groups: number;
  readonly outChannels: number;
  readonly shape: readonly number[];
}

/** @param w weight [outChannels, channels / groups, kernel...]. */
export function planConvolution(application: Application, x: readonly number[], w: readonly number[]): ConvolutionPlan {
  if (w.length !== x.length)
    throw application.mismatch(`has a weight of ${w.length} dimensions for an input of ${x.length}`);
  const kernel = application.numbers('kernel_shape') ?? w.slice(2);
  if (kernel.join() !== w.slice(2).join()) {
    throw application.mismatch(
      `has kernel_shape [${kernel.join(', ')}] and a weight of window [${w.slice(2).join(', ')}]`,
    );
  }
  const groups = application.number('group', 1);
  const window = planWindow(application, x, { kernel, ceilMode: false });
  const outChannels = w[0]!;
  if (!(groups >= 1) || window.channels !== w[1]! * groups) {
    throw application.mismatch(
      `has ${window.channels} input channels; the weight and ${groups} groups ask for ${w[1]! * groups}`,
    );
  }
  if (outChannels % groups !== 0)
    throw application.mismatch(`has ${outChannels} output channels, which ${groups} groups do not divide`);
  return { window, groups, outChannels, shape: [window.batch, outChannels, ...window.outputSides] };
}

/**
 * The convolution in float64: exact for integers while sums stay below 2^53.
 * @param x [N, C, H, W]; padding is 0. @param w [outChannels, C / groups, kh, kw]. @param bias [outChannels].
 */
export function convolve(
  plan: ConvolutionPlan,
  x: Float64Array,
  w: Float64Array,
  bias: ArrayLike<number> | null,
): Float64Array {
  const { window, groups, outChannels } = plan;
  const { batch, channels, strides, dilations, begin } = window;
  const [height, width] = window.input;
  const [outHeight, outWidth] = window.output;
  const [kernelHeight, kernelWidth] = window.kernel;
  const [strideRow, strideColumn] = strides;
  const groupChannels = channels / groups;
  const groupOut = outChannels / groups;
  const plane = outHeight * outWidth;
  const result = new Float64Array(batch * outChannels * plane);
  const rowRanges = Array.from({ length: kernelHeight }, (_, tap) => insideRange(window, 0, tap));
  const columnRanges = Array.from({ length: kernelWidth }, (_, tap) => insideRange(window, 1, tap));
  for (let n = 0; n < batch; n++) {
    for (let o = 0; o < outChannels; o++) {
      const out = (n * outChannels + o) * plane;
      if (bias !== null) result.fill(bias[o]!, out, out + plane);
      const firstChannel = Math.floor(o / groupOut) * groupChannels;
      for (let c = 0; c < groupChannels; c++) {
        const source = (n * channels + firstChannel + c) * height * width;
        for (let i = 0; i < kernelHeight; i++) {
          const [rowFrom, rowTo] = rowRanges[i]!;
          for (let j = 0; j < kernelWidth; j++) {
            const [columnFrom, columnTo] = columnRanges[j]!;
            const weight = w[((o * groupChannels + c) * kernelHeight + i) * kernelWidth + j]!;
            for (let row = rowFrom; row < rowTo; row++) {
              let from = source + (row * strideRow + i * dilations[0] - begin[0]) * width;
              from += columnFrom * strideColumn + j * dilations[1] - begin[1];
              const to = out + row * outWidth;
              for (let column = columnFrom; column < columnTo; column++, from += strideColumn) {
                result[to + column]! += weight * x[from]!;
              }
            }
          }
        }
      }
    }
  }
  return result;
}

const CONV: Operator = {
  op: 'Conv',
  sinceOpset: 7,
  infer: (application) => {
    const x = application.input(0);
    const w = application.input(1);
    const bias = application.optional(2);
    const type = commonType(application, bias === null ? [x, w] : [x, w, bias]);
    requireNumeric(application, type, false);
    const plan = planConvolution(application, x.shape, w.shape);
    requireBias(application, bias, plan.outChannels);
    return [{ type, shape: plan.shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const w = application.tensor(1);
    const bias = application.optional(2) === null ? null : numbersOf(application.tensor(2));
    const plan = planConvolution(application, x.shape, w.shape);
    return [tensorFromNumbers(x.type, plan.shape, convolve(plan, float64sOf(x), float64sOf(w), bias))];
  },
};

/** @throws ONNX_SHAPE_MISMATCH where a bias is not [outChannels]. */
export function requireBias(application: Application, bias: Facts | null, outChannels: number): void {
  if (bias !== null && (bias.shape.length !== 1 || bias.shape[0] !== outChannels)) {
    throw application.mismatch(`has a bias that is not [${outChannels}]`);
  }
}

/** int32 convolution of 8-bit tensors minus their zero points (of the weight: per tensor or per output channel). */
const CONV_INTEGER: Operator = {
  op: 'ConvInteger',
  sinceOpset: 10,
  infer: (application) => {
    const x = application.input(0);
    const w = application.input(1);
    for (const operand of [x, w]) {
      if (operand.type !== 'int8' && operand.type !== 'uint8') {
        throw application.invalid(`has an operand of ${operand.type}; expected int8 or uint8`);
      }
    }
    application.requireTypes([2], [x.type]);
    application.requireTypes([3], [w.type]);
    return [{ type: 'int32', shape: planConvolution(application, x.shape, w.shape).shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const w = application.tensor(1);
    const zeroPoint = (index: number): Tensor | null =>
      application.optional(index) === null ? null : application.tensor(index);
    const plan = planConvolution(application, x.shape, w.shape);
    const values = convolve(plan, shifted(application, x, zeroPoint(2)), shifted(application, w, zeroPoint(3)), null);
    return [tensorFromNumbers('int32', plan.shape, values)];
  },
};

/** The elements minus a zero point: a scalar, or one for each index of axis 0. */
export function shifted(application: Application, x: Tensor, zeroPoint: Tensor | null): Float64Array {
  const values = new Float64Array(numbersOf(x));
  if (zeroPoint === null) return values;
  const zeros = numbersOf(zeroPoint);
  if (zeros.length !== 1 && zeros.length !== x.shape[0]) {
    throw application.mismatch(`has ${zeros.length} zero points for ${x.shape[0]} channels`);
  }
  const inner = zeros.length === 1 ? values.length : sizeOf(x.shape.slice(1));
  for (let i = 0; i < values.length; i++) values[i]! -= zeros[Math.floor(i / inner)]!;
  return values;
}

export const CONVOLUTION: readonly Operator[] = [CONV, CONV_INTEGER];
