/** Operators that make constants, read shapes, or change the element type. */
import { sizeOf } from '../../tensor.js';
import type { ElementType, Tensor } from '../../tensor.js';
import { elementTypeOf, nameOfDataType } from '../element-types.js';
import { float64sOf, is64BitInteger, isFloat, numbersOf, tensorFromNumbers } from '../numbers.js';
import { MAX_ELEMENTS, newArray } from '../tensor-proto.js';
import { commonType } from './elementwise.js';
import type { Application, Facts, Operator } from './operator.js';

function int64s(values: readonly number[]): Tensor {
  return { type: 'int64', shape: [values.length], data: BigInt64Array.from(values, BigInt) };
}

/** The one attribute that carries the value. */
function constantValue(application: Application): Tensor {
  const { attributes } = application.node;
  const value = attributes.get('value');
  if (value !== undefined) {
    if (typeof value !== 'object' || !('data' in value)) throw application.invalid('has a value that is no tensor');
    return value;
  }
  const floats = application.numbers('value_floats');
  if (floats !== null) return { type: 'float32', shape: [floats.length], data: Float32Array.from(floats) };
  const float = application.optionalNumber('value_float');
  if (float !== null) return { type: 'float32', shape: [], data: Float32Array.of(float) };
  const ints = application.numbers('value_ints');
  if (ints !== null) return int64s(ints);
  const int = application.optionalNumber('value_int');
  if (int !== null) return { ...int64s([int]), shape: [] };
  const string = attributes.get('value_string');
  if (typeof string === 'string') return { type: 'string', shape: [], data: [string] };
  const strings = attributes.get('value_strings');
  if (Array.isArray(strings)) return { type: 'string', shape: [strings.length], data: strings as string[] };
  throw application.unsupported('it holds no dense value', 'Replace its sparse value by a dense tensor.');
}

const CONSTANT: Operator = {
  op: 'Constant',
  sinceOpset: 7,
  infer: (application) => {
    const { type, shape } = constantValue(application);
    return [{ type, shape }];
  },
  evaluate: (application) => [constantValue(application)],
};

function filledFacts(application: Application): Facts & { value: Tensor | null } {
  const shape = application.integers(0);
  if (shape.some((side) => side < 0) || sizeOf(shape) > MAX_ELEMENTS) {
    throw application.mismatch(`asks for the shape [${shape.join(', ')}]`);
  }
  const value = application.node.attributes.get('value') ?? null;
  if (value !== null && (typeof value !== 'object' || !('data' in value) || value.data.length !== 1)) {
    throw application.invalid('has a value that is no tensor of one element');
  }
  return { type: value === null ? 'float32' : (value as Tensor).type, shape, value: value as Tensor | null };
}

const CONSTANT_OF_SHAPE: Operator = {
  op: 'ConstantOfShape',
  sinceOpset: 9,
  infer: (application) => [filledFacts(application)],
  evaluate: (application) => {
    const { type, shape, value } = filledFacts(application);
    const data = newArray(type, sizeOf(shape)) as Uint8Array;
    if (value !== null) data.fill((value.data as Uint8Array)[0]!);
    return [{ type, shape, data }];
  },
};

/** start and end since opset 15: negative ones count from the end, both are clamped. */
function shapeSlice(application: Application): readonly number[] {
  const { shape } = application.input(0);
  const clamp = (value: number): number =>
    Math.max(0, Math.min(shape.length, value < 0 ? value + shape.length : value));
  return shape.slice(clamp(application.number('start', 0)), clamp(application.number('end', shape.length)));
}

const SHAPE_OF: Operator = {
  op: 'Shape',
  sinceOpset: 7,
  shapeOnly: true,
  infer: (application) => [{ type: 'int64', shape: [shapeSlice(application).length] }],
  evaluate: (application) => [int64s(shapeSlice(application))],
};

const SIZE: Operator = {
  op: 'Size',
  sinceOpset: 7,
  shapeOnly: true,
  infer: () => [{ type: 'int64', shape: [] }],
  evaluate: (application) => [{ ...int64s([sizeOf(application.input(0).shape)]), shape: [] }],
};

function rangeCount(application: Application): { type: ElementType; count: number } {
  const inputs = application.inputs();
  if (inputs.length !== 3) throw application.invalid(`has ${inputs.length} inputs; expected start, limit and delta`);
  const type = commonType(application, inputs);
  const [start, limit, delta] = [0, 1, 2].map((index) => float64sOf(application.constant(index))[0]!) as [
    number,
    number,
    number,
  ];
  if (delta === 0) throw application.invalid('has a delta of 0');
  const count = Math.max(0, Math.ceil((limit - start) / delta));
  if (!(count <= MAX_ELEMENTS)) throw application.mismatch(`counts ${count} elements`);
  return { type, count };
}

const RANGE: Operator = {
  op: 'Range',
  sinceOpset: 11,
  infer: (application) => {
    const { type, count } = rangeCount(application);
    return [{ type, shape: [count] }];
  },
  evaluate: (application) => {
    const { type, count } = rangeCount(application);
    const start = float64sOf(application.tensor(0))[0]!;
    const delta = float64sOf(application.tensor(2))[0]!;
    return [
      tensorFromNumbers(
        type,
        [count],
        Float64Array.from({ length: count }, (_, index) => start + index * delta),
      ),
    ];
  },
};

/**
 * Floats to integers truncate towards zero, integers wrap modulo 2^n, anything but 0 is true. What ONNX leaves
 * undefined (a float beyond the integer type) wraps too; NaN and infinity become 0.
 */
export function castTensor(x: Tensor, type: ElementType): Tensor {
  if (x.type === type) return x;
  const { shape } = x;
  if (type === 'bool') {
    const source = x.data as ArrayLike<number | bigint>;
    const values = isFloat(x.type) ? numbersOf(x) : source;
    return {
      type,
      shape,
      data: Uint8Array.from({ length: source.length }, (_, i) => (Number(values[i]) === 0 ? 0 : 1)),
    };
  }
  if (is64BitInteger(x.type) && !isFloat(type)) {
    const source = x.data as BigInt64Array;
    if (is64BitInteger(type)) {
      const data = newArray(type, source.length) as BigInt64Array;
      for (let i = 0; i < data.length; i++) data[i] = source[i]!;
      return { type, shape, data };
    }
    // The low 32 bits decide every narrower type.
    return tensorFromNumbers(
      type,
      shape,
      Float64Array.from(source, (value) => Number(BigInt.asIntN(32, value))),
    );
  }
  return tensorFromNumbers(type, shape, float64sOf(x));
}

function castType(application: Application): ElementType {
  const to = application.optionalNumber('to');
  if (to === null) throw application.invalid('lacks the type to cast to');
  const type = elementTypeOf(to);
  const from = application.input(0).type;
  if (type === null || type === 'string' || from === 'string') {
    throw application.unsupported(
      `it casts ${from} to ${nameOfDataType(to)}`,
      'Casts between bool, integers of 8 to 64 bits, float16, bfloat16, float32 and float64 are computed.',
    );
  }
  return type;
}

const CAST: Operator = {
  op: 'Cast',
  sinceOpset: 7,
  infer: (application) => [{ type: castType(application), shape: application.input(0).shape }],
  evaluate: (application) => [castTensor(application.tensor(0), castType(application))],
};

const CAST_LIKE: Operator = {
  op: 'CastLike',
  sinceOpset: 15,
  infer: (application) => {
    const from = application.input(0);
    const to = application.input(1).type;
    if (from.type === 'string' || to === 'string') {
      throw application.unsupported(`it casts ${from.type} to ${to}`, 'Cast between number types only.');
    }
    return [{ type: to, shape: from.shape }];
  },
  evaluate: (application) => [castTensor(application.tensor(0), application.input(1).type)],
};

export const CONSTANTS: readonly Operator[] = [CONSTANT, CONSTANT_OF_SHAPE, SHAPE_OF, SIZE, RANGE, CAST, CAST_LIKE];
