/**
 * Linear quantisation: real = scale (integer - zero point).
 *
 * Sums of products are exact integers. Where the standard leaves the arithmetic of scales open, it is that of
 * onnxruntime's CPU kernels: scales and quotients in float32, ties to even, then saturation.
 */
import { sizeOf } from '../../tensor.js';
import type { ElementType, Tensor } from '../../tensor.js';
import { elementTypeOf, nameOfDataType } from '../element-types.js';
import { INTEGER_LIMITS, isFloat, numbersOf, roundHalfEven, tensorFromNumbers } from '../numbers.js';
import { convolve, planConvolution, requireBias, shifted } from './convolution.js';
import { multiplyMatrices, planMatMul, withoutZeroPoint } from './linear.js';
import type { Application, Facts, Operator } from './operator.js';

const QUANTIZED: ReadonlySet<ElementType> = new Set(['int8', 'uint8', 'int16', 'uint16']);
const FLOATS: readonly ElementType[] = ['float32', 'float16', 'bfloat16', 'float64'];
const EIGHT_BITS: ReadonlySet<ElementType> = new Set(['int8', 'uint8']);

function optionalTensor(application: Application, index: number): Tensor | null {
  return application.optional(index) === null ? null : application.tensor(index);
}

/** For each element of x the index of its scale: one for all, or one along `axis`. */
interface Granularity {
  readonly inner: number;
  readonly count: number;
}

function granularity(
  application: Application,
  x: readonly number[],
  scale: Facts,
  zeroPoint: Facts | null,
): Granularity {
  if (application.number('block_size', 0) !== 0) {
    throw application.unsupported('it quantises in blocks (block_size)', 'Quantise the model per tensor or per axis.');
  }
  if (zeroPoint !== null && sizeOf(zeroPoint.shape) !== sizeOf(scale.shape)) {
    throw application.mismatch('has a zero point of another shape than its scale');
  }
  if (scale.shape.length > 1) throw application.mismatch('has a scale that is neither a scalar nor a vector');
  if (sizeOf(scale.shape) === 1) return { inner: sizeOf(x), count: 1 };
  const axis = application.axis(application.number('axis', 1), x.length);
  if (scale.shape[0] !== x[axis])
    throw application.mismatch(`has ${scale.shape[0]} scales for side ${x[axis]} of axis ${axis}`);
  return { inner: sizeOf(x.slice(axis + 1)), count: x[axis]! };
}

function requireQuantized(application: Application, type: ElementType, allowed: ReadonlySet<ElementType>): void {
  if (!allowed.has(type)) {
    throw application.unsupported(`it quantises to ${type}`, `Quantise the model to ${[...allowed].join(', ')}.`);
  }
}

function saturate(value: number, type: ElementType): number {
  const [low, high] = INTEGER_LIMITS[type]!;
  return Math.max(low, Math.min(high, value));
}

/** The output type: the zero point's, or output_dtype (since opset 21), or uint8. */
function quantizedType(application: Application): ElementType {
  const zeroPoint = application.optional(2);
  if (zeroPoint !== null) return zeroPoint.type;
  const dtype = application.number('output_dtype', 0);
  if (dtype === 0) return 'uint8';
  const type = elementTypeOf(dtype);
  if (type === null)
    throw application.unsupported(`it quantises to ${nameOfDataType(dtype)}`, 'Quantise the model to int8 or uint8.');
  return type;
}

const QUANTIZE_LINEAR: Operator = {
  op: 'QuantizeLinear',
  sinceOpset: 10,
  infer: (application) => {
    const x = application.input(0);
    const type = quantizedType(application);
    requireQuantized(application, type, QUANTIZED);
    if (!isFloat(x.type) && x.type !== 'int32') throw application.invalid(`quantises ${x.type}; expected float32`);
    application.requireTypes([1], [...FLOATS, 'int32']);
    granularity(application, x.shape, application.input(1), application.optional(2));
    return [{ type, shape: x.shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const scale = application.tensor(1);
    const zeroPoint = optionalTensor(application, 2);
    const type = quantizedType(application);
    const { inner, count } = granularity(application, x.shape, scale, zeroPoint);
    const source = numbersOf(x);
    const scales = numbersOf(scale);
    const zeros = zeroPoint === null ? null : numbersOf(zeroPoint);
    const values = new Float64Array(source.length);
    for (let i = 0; i < values.length; i++) {
      const c = count === 1 ? 0 : Math.floor(i / inner) % count;
      const quotient = roundHalfEven(Math.fround(source[i]! / scales[c]!));
      values[i] = saturate(quotient + (zeros === null ? 0 : zeros[c]!), type);
    }
    return [tensorFromNumbers(type, x.shape, values)];
  },
};

const DEQUANTIZE_LINEAR: Operator = {
  op: 'DequantizeLinear',
  sinceOpset: 10,
  keepsConstants: true,
  infer: (application) => {
    const x = application.input(0);
    const zeroPoint = application.optional(2);
    if (!QUANTIZED.has(x.type) && x.type !== 'int32') {
      throw application.unsupported(`it dequantises ${x.type}`, 'Quantise the model to int8 or uint8.');
    }
    if (zeroPoint !== null && zeroPoint.type !== x.type) {
      throw application.invalid(`has a zero point of ${zeroPoint.type} for ${x.type}`);
    }
    application.requireTypes([1], FLOATS);
    granularity(application, x.shape, application.input(1), zeroPoint);
    return [{ type: dequantizedType(application), shape: x.shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const scale = application.tensor(1);
    const zeroPoint = optionalTensor(application, 2);
    const { inner, count } = granularity(application, x.shape, scale, zeroPoint);
    const source = numbersOf(x);
    const scales = numbersOf(scale);
    const zeros = zeroPoint === null ? null : numbersOf(zeroPoint);
    const values = new Float64Array(source.length);
    for (let i = 0; i < values.length; i++) {
      const c = count === 1 ? 0 : Math.floor(i / inner) % count;
      values[i] = Math.fround(source[i]! - (zeros === null ? 0 : zeros[c]!)) * scales[c]!;
    }
    return [tensorFromNumbers(dequantizedType(application), x.shape, values)];
  },
};

function dequantizedType(application: Application): ElementType {
  const dtype = application.number('output_dtype', 0);
  const type = dtype === 0 ? application.input(1).type : elementTypeOf(dtype);
  if (type === null || !isFloat(type)) throw application.invalid('dequantises to a type that is no float');
  return type;
}

/** Scale and zero point to uint8 from the data: scale = (max - min) / 255, both ends stretched to hold 0. */
const DYNAMIC_QUANTIZE_LINEAR: Operator = {
  op: 'DynamicQuantizeLinear',
  sinceOpset: 11,
  infer: (application) => {
    const x = application.input(0);
    if (x.type !== 'float32') throw application.invalid(`quantises ${x.type}; expected float32`);
    return [
      { type: 'uint8', shape: x.shape },
      { type: 'float32', shape: [] },
      { type: 'uint8', shape: [] },
    ];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const source = numbersOf(x);
    let low = 0;
    let high = 0;
    for (let i = 0; i < source.length; i++) {
      low = Math.min(low, source[i]!);
      high = Math.max(high, source[i]!);
    }
    // All zero: onnxruntime takes scale 1, the formula would divide by zero.
    const scale = low === high ? 1 : Math.fround(Math.fround(high - low) / 255);
    const zeroPoint = saturate(roundHalfEven(Math.fround(-low / scale)), 'uint8');
    const values = new Float64Array(source.length);
    for (let i = 0; i < values.length; i++) {
      values[i] = saturate(roundHalfEven(Math.fround(source[i]! / scale)) + zeroPoint, 'uint8');
    }
    return [
      tensorFromNumbers('uint8', x.shape, values),
      { type: 'float32', shape: [], data: Float32Array.of(scale) },
      { type: 'uint8', shape: [], data: Uint8Array.of(zeroPoint) },
    ];
  },
};

/**
 * Exact sums to the output's integers: round(float32(sum) * (a * b / y)) + zero point, the multiplier in float32.
 * @param multiplierOf index of the multiplier of an element.
 */
function requantize(
  sums: Float64Array,
  multipliers: ArrayLike<number>,
  multiplierOf: (index: number) => number,
  zeroPoint: number,
  type: ElementType,
): Float64Array {
  return sums.map((sum, index) => {
    const scaled = Math.fround(Math.fround(sum) * multipliers[multiplierOf(index)]!);
    return saturate(roundHalfEven(scaled) + zeroPoint, type);
  });
}

/** a * b / y for each pair of scales; b may have one for each channel. */
function multipliersOf(application: Application, a: Tensor, b: Tensor, y: Tensor): Float32Array {
  const [left, right, out] = [numbersOf(a), numbersOf(b), numbersOf(y)];
  if (left.length !== 1 || out.length !== 1) {
    throw application.unsupported('it scales its input or output per row', 'Quantise activations per tensor.');
  }
  return Float32Array.from(right, (scale) => Math.fround(left[0]! * scale) / out[0]!);
}

/** Scales are floats, and each zero point has the type of what it belongs to. */
function requireParameterTypes(application: Application): void {
  application.requireTypes([1, 4, 6], FLOATS);
  application.requireTypes([2], [application.input(0).type]);
  application.requireTypes([5], [application.input(3).type]);
}

function requireScalars(application: Application, indices: readonly number[]): void {
  for (const index of indices) {
    if (sizeOf(application.input(index).shape) !== 1) {
      throw application.unsupported(`its input ${index} is not one number`, 'Quantise activations per tensor.');
    }
  }
}

/** Inputs: x, its scale and zero point, w, its scale and zero point (per tensor or channel), y's, int32 bias. */
const Q_LINEAR_CONV: Operator = {
  op: 'QLinearConv',
  sinceOpset: 10,
  infer: (application) => {
    const x = application.input(0);
    const w = application.input(3);
    const type = application.input(7).type;
    for (const operandType of [x.type, w.type, type]) requireQuantized(application, operandType, EIGHT_BITS);
    requireParameterTypes(application);
    application.requireTypes([8], ['int32']);
    requireScalars(application, [1, 2, 6, 7]);
    const plan = planConvolution(application, x.shape, w.shape);
    const scales = sizeOf(application.input(4).shape);
    if (scales !== 1 && scales !== plan.outChannels) {
      throw application.mismatch(`has ${scales} weight scales for ${plan.outChannels} output channels`);
    }
    requireBias(application, application.optional(8), plan.outChannels);
    return [{ type, shape: plan.shape }];
  },
  evaluate: (application) => {
    const tensors = [0, 1, 2, 3, 4, 5, 6, 7].map((index) => application.tensor(index));
    const [x, xScale, xZero, w, wScale, wZero, yScale, yZero] = tensors as [
      Tensor,
      Tensor,
      Tensor,
      Tensor,
      Tensor,
      Tensor,
      Tensor,
      Tensor,
    ];
    const bias = optionalTensor(application, 8);
    const plan = planConvolution(application, x.shape, w.shape);
    const sums = convolve(
      plan,
      shifted(application, x, xZero),
      shifted(application, w, wZero),
      bias === null ? null : numbersOf(bias),
    );
    const multipliers = multipliersOf(application, xScale, wScale, yScale);
    const plane = plan.window.output[0] * plan.window.output[1];
    const channelOf = (index: number): number =>
      multipliers.length === 1 ? 0 : Math.floor(index / plane) % plan.outChannels;
    const values = requantize(sums, multipliers, channelOf, numbersOf(yZero)[0]!, yZero.type);
    return [tensorFromNumbers(yZero.type, plan.shape, values)];
  },
};

/** Inputs: a, its scale and zero point, b, its scale and zero point (per tensor or column), y's. */
const Q_LINEAR_MATMUL: Operator = {
  op: 'QLinearMatMul',
  sinceOpset: 10,
  infer: (application) => {
    const a = application.input(0);
    const b = application.input(3);
    const type = application.input(7).type;
    for (const operandType of [a.type, b.type, type]) requireQuantized(application, operandType, EIGHT_BITS);
    requireParameterTypes(application);
    requireScalars(application, [1, 2, 6, 7]);
    const plan = planMatMul(application, a.shape, b.shape);
    const scales = sizeOf(application.input(4).shape);
    if (scales !== 1 && scales !== plan.n) throw application.mismatch(`has ${scales} scales for ${plan.n} columns`);
    return [{ type, shape: plan.shape }];
  },
  evaluate: (application) => {
    const tensors = [0, 1, 2, 3, 4, 5, 6, 7].map((index) => application.tensor(index));
    const [a, aScale, aZero, b, bScale, bZero, yScale, yZero] = tensors as [
      Tensor,
      Tensor,
      Tensor,
      Tensor,
      Tensor,
      Tensor,
      Tensor,
      Tensor,
    ];
    const plan = planMatMul(application, a.shape, b.shape);
    const sums = multiplyMatrices(
      plan,
      withoutZeroPoint(application, a, aZero, 'row'),
      withoutZeroPoint(application, b, bZero, 'column'),
    );
    const multipliers = multipliersOf(application, aScale, bScale, yScale);
    const columnOf = (index: number): number => (multipliers.length === 1 ? 0 : index % plan.n);
    const values = requantize(sums, multipliers, columnOf, numbersOf(yZero)[0]!, yZero.type);
    return [tensorFromNumbers(yZero.type, plan.shape, values)];
  },
};

export const QUANTIZATION: readonly Operator[] = [
  QUANTIZE_LINEAR,
  DEQUANTIZE_LINEAR,
  DYNAMIC_QUANTIZE_LINEAR,
  Q_LINEAR_CONV,
  Q_LINEAR_MATMUL,
];
