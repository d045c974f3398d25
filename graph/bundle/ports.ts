/** Between real tensors of the ONNX model and the integers of its graph. */
import { AssayError } from '../../common/errors.js';
import { sizeOf, type ElementType, type Tensor } from '../tensor.js';
import { portItemSize } from './make-bundle.js';
import type { Bundle, Port } from './types.js';

/** x rounded to the nearest integer, ties to the even one. */
export function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  const fraction = x - floor;
  if (fraction !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

function inputError(port: Port, message: string, meta: Record<string, unknown> = {}): AssayError {
  return new AssayError('INPUT_INVALID', `input '${port.name}': ${message}`, { meta: { tensor: port.name, ...meta } });
}

/** Number of items in a tensor given for a port. @throws AssayError INPUT_INVALID for a wrong type or shape. */
function itemsOf(port: Port, tensor: Tensor): number {
  if (tensor.type !== port.type)
    throw inputError(port, `type ${tensor.type}, expected ${port.type}`, { expected: port.type, found: tensor.type });
  const { shape } = tensor;
  const free = port.batched ? 1 : 0;
  const fits =
    shape.length === port.shape.length &&
    shape.every((side, axis) => (axis < free ? Number.isInteger(side) && side >= 1 : side === port.shape[axis]));
  if (!fits) {
    const expected = port.shape.map((side, axis) => (axis < free ? 'N' : String(side))).join(', ');
    throw inputError(port, `shape [${shape.join(', ')}], expected [${expected}]${free ? ' with N >= 1' : ''}`, {
      expected: port.shape,
      found: shape,
    });
  }
  if (tensor.data.length !== sizeOf(shape))
    throw inputError(port, `${tensor.data.length} elements for the shape [${shape.join(', ')}]`);
  return port.batched ? shape[0]! : 1;
}

const UNREADABLE: readonly ElementType[] = ['float16', 'bfloat16', 'string'];

/**
 * Real tensors, by port name, as the integers of the graph's inputs:
 * clamp(round half even(x / scale) - zero point, lo, hi).
 * More than one item may be given along the batch axis where every port of the model is batched.
 * @throws AssayError INPUT_INVALID for missing, surplus or mismatched tensors, unequal numbers of items, NaN and infinities.
 */
export function encodeInputs(
  bundle: Bundle,
  tensors: ReadonlyMap<string, Tensor>,
): { values: Int32Array[]; items: number } {
  for (const name of tensors.keys())
    if (!bundle.inputs.some((port) => port.name === name))
      throw new AssayError(
        'INPUT_INVALID',
        `the model has no input '${name}'; its inputs are ${bundle.inputs.map((port) => `'${port.name}'`).join(', ')}`,
        { meta: { tensor: name } },
      );
  let items: number | null = null;
  const values = bundle.inputs.map((port, i) => {
    const tensor = tensors.get(port.name);
    if (tensor === undefined) throw inputError(port, 'missing');
    if (UNREADABLE.includes(port.type))
      throw inputError(port, `element type ${port.type} cannot be encoded; compile the model with a float32 input`);
    const found = itemsOf(port, tensor);
    if (items !== null && found !== items) throw inputError(port, `${found} items, but another input has ${items}`);
    items = found;
    const { range, scale, zeroPoint } = bundle.graph.tensors[bundle.graph.inputs[i]!]!;
    return Int32Array.from(tensor.data as ArrayLike<number | bigint>, (element, position) => {
      const x = Number(element);
      if (!Number.isFinite(x))
        throw inputError(port, `element ${position} is ${x}, expected a finite number`, { element: position });
      return Math.min(Math.max(roundHalfEven(x / scale) - zeroPoint, range.lo), range.hi);
    });
  });
  const count = items ?? 1;
  const fixed = [...bundle.inputs, ...bundle.outputs].find((port) => !port.batched);
  if (count > 1 && fixed !== undefined)
    throw new AssayError(
      'INPUT_INVALID',
      `${count} items in one call, but port '${fixed.name}' of the model has no batch axis`,
      { mend: 'Run the items one by one.', meta: { tensor: fixed.name } },
    );
  return { values, items: count };
}

/** Largest and smallest value of each integer element type. */
const INTEGER_LIMITS: Partial<Record<ElementType, readonly [number, number]>> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-(2 ** 15), 2 ** 15 - 1],
  uint16: [0, 2 ** 16 - 1],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
};

/** Real numbers in the port's element type. Integers are rounded half to even and saturated, as QuantizeLinear does. */
function toElements(port: Port, reals: Float64Array): Tensor['data'] {
  const limits = INTEGER_LIMITS[port.type];
  const whole = limits && reals.map((x) => Math.min(Math.max(roundHalfEven(x), limits[0]), limits[1]));
  switch (port.type) {
    case 'float32':
      return Float32Array.from(reals);
    case 'float64':
      return reals;
    case 'int8':
      return Int8Array.from(whole!);
    case 'uint8':
      return Uint8Array.from(whole!);
    case 'int16':
      return Int16Array.from(whole!);
    case 'uint16':
      return Uint16Array.from(whole!);
    case 'int32':
      return Int32Array.from(whole!);
    case 'uint32':
      return Uint32Array.from(whole!);
    case 'int64':
      return BigInt64Array.from(Array.from(reals, (x) => BigInt(roundHalfEven(x))));
    case 'uint64':
      return BigUint64Array.from(Array.from(reals, (x) => BigInt(Math.max(roundHalfEven(x), 0))));
    case 'bool':
      return Uint8Array.from(reals, (x) => (x === 0 ? 0 : 1));
    case 'float16':
    case 'bfloat16':
    case 'string':
      throw new AssayError('GRAPH_INVALID', `output '${port.name}': element type ${port.type} cannot be decoded`, {
        mend: 'Compile the model with a float32 output.',
      });
  }
}

/**
 * Integers of the graph's outputs as real tensors by port name: scale * (integer + zero point).
 * @param values one array per graph output, `items` items each.
 * @throws AssayError INPUT_INVALID for a wrong number or length of arrays.
 */
export function decodeOutputs(bundle: Bundle, values: readonly Int32Array[], items: number): Map<string, Tensor> {
  if (values.length !== bundle.outputs.length)
    throw new AssayError(
      'INPUT_INVALID',
      `the model has ${bundle.outputs.length} outputs, ${values.length} arrays were given`,
    );
  return new Map(
    bundle.outputs.map((port, i) => {
      const { scale, zeroPoint } = bundle.graph.tensors[bundle.graph.outputs[i]!]!;
      const expected = items * portItemSize(port);
      if (values[i]!.length !== expected || (items !== 1 && !port.batched))
        throw new AssayError(
          'INPUT_INVALID',
          `output '${port.name}': ${values[i]!.length} integers, expected ${expected} for ${items} items of [${port.shape.join(', ')}]`,
        );
      const data = toElements(
        port,
        Float64Array.from(values[i]!, (v) => scale * (v + zeroPoint)),
      );
      const shape = port.batched ? [items, ...port.shape.slice(1)] : [...port.shape];
      return [port.name, { type: port.type, shape, data }];
    }),
  );
}
