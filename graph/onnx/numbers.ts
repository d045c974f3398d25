/**
 * Tensor elements as JavaScript numbers and back.
 *
 * Every element type but int64 and uint64 is a subset of float64, so operators compute in float64 and round
 * once on the way back: to nearest even for the float types, modulo 2^n for the integer types.
 */
import type { ElementType, Tensor } from '../tensor.js';
import { newArray } from './tensor-proto.js';

export type NumberArray =
  Float64Array | Float32Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;

export function isFloat(type: ElementType): boolean {
  return type === 'float32' || type === 'float64' || type === 'float16' || type === 'bfloat16';
}

export function is64BitInteger(type: ElementType): boolean {
  return type === 'int64' || type === 'uint64';
}

/** Smallest and largest value of the integer types of at most 32 bits. */
export const INTEGER_LIMITS: Readonly<Partial<Record<ElementType, readonly [number, number]>>> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32768, 32767],
  uint16: [0, 65535],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
};

/** The elements as numbers; the tensor's own array where that holds numbers already. Not for int64, uint64, string. */
export function numbersOf(tensor: Tensor): NumberArray {
  if (tensor.type === 'float16') return decodeBits(tensor.data as Uint16Array, halfToNumber);
  if (tensor.type === 'bfloat16') return decodeBits(tensor.data as Uint16Array, bfloat16ToNumber);
  return tensor.data as NumberArray;
}

/** The elements as float64, always a copy or a float64 tensor's own array. int64 beyond 2^53 loses low bits. */
export function float64sOf(tensor: Tensor): Float64Array {
  if (tensor.type === 'float64') return tensor.data as Float64Array;
  if (is64BitInteger(tensor.type)) return Float64Array.from(tensor.data as BigInt64Array, Number);
  return new Float64Array(numbersOf(tensor));
}

/** The elements of an integer tensor (shapes, axes, indices) as an array of numbers. */
export function integersOf(tensor: Tensor): number[] {
  return Array.from(tensor.data as ArrayLike<number | bigint>, Number);
}

/** A tensor of any type but string from float64 values, each rounded once. */
export function tensorFromNumbers(
  type: ElementType,
  shape: readonly number[],
  values: Float64Array | NumberArray,
): Tensor {
  if (type === 'float64')
    return { type, shape, data: values instanceof Float64Array ? values : new Float64Array(values) };
  const data = newArray(type, values.length);
  if (type === 'float16' || type === 'bfloat16') {
    const encode = type === 'float16' ? numberToHalf : numberToBfloat16;
    for (let i = 0; i < values.length; i++) (data as Uint16Array)[i] = encode(values[i]!);
  } else if (is64BitInteger(type)) {
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      // No integer is meant by NaN and the infinities; ONNX leaves it undefined.
      (data as BigInt64Array)[i] = Number.isFinite(value) ? BigInt(Math.trunc(value)) : 0n;
    }
  } else {
    (data as Float32Array).set(values);
  }
  return { type, shape, data };
}

/** Rounds to the nearest integer, ties to the even one: the rounding of ONNX. */
export function roundHalfEven(value: number): number {
  if (value < 0) return -roundHalfEven(-value); // keeps the sign of zero
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest < 0.5) return floor;
  if (rest > 0.5) return floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

function decodeBits(bits: Uint16Array, decode: (bits: number) => number): Float32Array {
  const values = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) values[i] = decode(bits[i]!);
  return values;
}

/** IEEE 754 binary16, from its bits. */
export function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The bits of the nearest binary16, ties to even; overflow gives infinity. */
export function numberToHalf(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude >= 65520) return sign | 0x7c00; // halfway between 65504 and 2^16, and all above
  if (magnitude < 2 ** -14) return sign | roundHalfEven(magnitude * 2 ** 24); // 1024 carries into the exponent rightly
  const exponent = Math.max(-14, exponentOf(magnitude));
  const fraction = roundHalfEven(magnitude * 2 ** (10 - exponent)); // 1024..2048
  return sign | (((exponent + 14) << 10) + fraction);
}

/** The upper half of a float32, from its bits. */
export function bfloat16ToNumber(bits: number): number {
  WORD[0] = bits << 16;
  return SINGLE[0]!;
}

/** The bits of the nearest bfloat16, ties to even; overflow gives infinity. */
export function numberToBfloat16(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0;
  SINGLE[0] = value;
  const bits = WORD[0]!;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

const SINGLE = new Float32Array(1);
const WORD = new Uint32Array(SINGLE.buffer);
const DOUBLE = new Float64Array(1);
const DOUBLE_WORDS = new Uint32Array(DOUBLE.buffer);

/** floor(log2(magnitude)) of a normal positive float64, exactly. */
function exponentOf(magnitude: number): number {
  DOUBLE[0] = magnitude;
  return ((DOUBLE_WORDS[1]! >>> 20) & 2047) - 1023;
}
