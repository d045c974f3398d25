/** TensorProto to Tensor and back: raw bytes and all typed repeated fields. */
import { AssayError } from '../../common/errors.js';
import { sizeOf } from '../tensor.js';
import type { ElementType, Tensor, TensorArrays } from '../tensor.js';
import { dataTypeOf, requireElementType } from './element-types.js';
import { fromBigInt, toBigInt } from './schema.js';
import type { TensorProto } from './schema.js';

const ELEMENT_BYTES: Readonly<Record<Exclude<ElementType, 'string'>, number>> = {
  float32: 4,
  float64: 8,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  bool: 1,
  float16: 2,
  bfloat16: 2,
};

/** No tensor of more elements is read or made: a shape beyond it is an error of the file or of its maker. */
export const MAX_ELEMENTS = 2 ** 28;

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** A zeroed array (empty strings for `string`) of `size` elements of a type. */
export function newArray<T extends ElementType>(type: T, size: number): TensorArrays[T] {
  return makeArray(type, size) as TensorArrays[T];
}

function makeArray(type: ElementType, size: number): TensorArrays[ElementType] {
  switch (type) {
    case 'float32':
      return new Float32Array(size);
    case 'float64':
      return new Float64Array(size);
    case 'int8':
      return new Int8Array(size);
    case 'uint8':
    case 'bool':
      return new Uint8Array(size);
    case 'int16':
      return new Int16Array(size);
    case 'uint16':
    case 'float16':
    case 'bfloat16':
      return new Uint16Array(size);
    case 'int32':
      return new Int32Array(size);
    case 'uint32':
      return new Uint32Array(size);
    case 'int64':
      return new BigInt64Array(size);
    case 'uint64':
      return new BigUint64Array(size);
    case 'string':
      return new Array<string>(size).fill('');
  }
}

/**
 * @param where names the file and the tensor, for messages.
 * @throws ONNX_TYPE_UNSUPPORTED, ONNX_EXTERNAL_DATA, ONNX_INVALID (data does not fill the shape).
 */
export function decodeTensor(proto: TensorProto, where: string): Tensor {
  const type = requireElementType(proto.dataType ?? 0, where);
  if (proto.dataLocation === 1 || (proto.externalData ?? []).length > 0) {
    const location = proto.externalData?.find((entry) => entry.key === 'location')?.value;
    throw new AssayError(
      'ONNX_EXTERNAL_DATA',
      `${where} keeps its data outside the file${location === undefined ? '' : ` (in ${JSON.stringify(location)})`}.`,
    );
  }
  if ((proto.segment ?? null) !== null)
    throw invalid(where, 'is stored in segments, which onnx.proto reserves and nobody writes');
  const shape = (proto.dims ?? []).map((dim) => Number(toBigInt(dim)));
  for (const side of shape) {
    if (side < 0) throw invalid(where, `has the negative dimension ${side} in its shape [${shape.join(', ')}]`);
  }
  const size = sizeOf(shape);
  if (!(size <= MAX_ELEMENTS)) {
    throw invalid(where, `has ${size} elements by its shape [${shape.join(', ')}]; at most ${MAX_ELEMENTS} are read`);
  }
  const expectSize = (found: number, unit: string): void => {
    if (found !== size) {
      throw invalid(where, `has shape [${shape.join(', ')}], which asks for ${size} elements; found ${found} ${unit}`);
    }
  };

  if (type === 'string') {
    const strings = proto.stringData ?? [];
    expectSize(strings.length, 'strings');
    return { type, shape, data: strings.map((bytes) => decodeUtf8(bytes, where)) };
  }
  const raw = proto.rawData;
  if (raw !== undefined && raw.length > 0) {
    const width = ELEMENT_BYTES[type];
    if (raw.length !== size * width) {
      throw invalid(
        where,
        `has shape [${shape.join(', ')}] of ${type}, which asks for ${size * width} bytes; found ${raw.length}`,
      );
    }
    return { type, shape, data: checkedBool(type, littleEndian(type, raw, size), where) };
  }
  const data = newArray(type, size);
  switch (type) {
    case 'float32':
      expectSize(proto.floatData?.length ?? 0, 'values');
      (data as Float32Array).set(proto.floatData ?? []);
      break;
    case 'float64':
      expectSize(proto.doubleData?.length ?? 0, 'values');
      (data as Float64Array).set(proto.doubleData ?? []);
      break;
    case 'int64': {
      const values = proto.int64Data ?? [];
      expectSize(values.length, 'values');
      values.forEach((value, index) => ((data as BigInt64Array)[index] = toBigInt(value)));
      break;
    }
    case 'uint32':
    case 'uint64': {
      const values = proto.uint64Data ?? [];
      expectSize(values.length, 'values');
      values.forEach((value, index) => {
        const exact = toBigInt(value);
        if (type === 'uint64') (data as BigUint64Array)[index] = exact;
        else (data as Uint32Array)[index] = Number(exact);
        if (type === 'uint32' && exact > 0xffff_ffffn) throw invalid(where, `holds ${exact}, which is no uint32`);
      });
      break;
    }
    default: {
      // All narrow types, and the bits of float16 and bfloat16, travel as int32.
      const values = proto.int32Data ?? [];
      expectSize(values.length, 'values');
      const narrow = data as Int32Array;
      values.forEach((value, index) => {
        narrow[index] = value;
        if (narrow[index] !== value) throw invalid(where, `holds ${value}, which is no ${type}`);
      });
    }
  }
  return { type, shape, data: checkedBool(type, data, where) };
}

/** Deterministic: raw bytes, little endian (strings as string_data). */
export function encodeTensor(name: string, tensor: Tensor): TensorProto {
  const proto: TensorProto = {
    dims: tensor.shape.map((side) => fromBigInt(BigInt(side))),
    dataType: dataTypeOf(tensor.type),
    name,
  };
  if (tensor.type === 'string') {
    const encoder = new TextEncoder();
    proto.stringData = (tensor.data as string[]).map((text) => encoder.encode(text));
  } else {
    const { buffer, byteOffset, byteLength } = tensor.data as Uint8Array;
    proto.rawData = new Uint8Array(buffer, byteOffset, byteLength);
  }
  return proto;
}

function littleEndian(type: Exclude<ElementType, 'string'>, raw: Uint8Array, size: number): TensorArrays[ElementType] {
  // Copied, because the file's bytes start at any offset and typed arrays want aligned ones. Every platform
  // that Node 20 runs on in practice is little endian.
  const data = newArray(type, size) as Uint8Array;
  new Uint8Array(data.buffer).set(raw);
  return data;
}

function checkedBool(type: ElementType, data: TensorArrays[ElementType], where: string): TensorArrays[ElementType] {
  if (type === 'bool') {
    for (const value of data as Uint8Array) {
      if (value > 1) throw invalid(where, `is bool and holds the byte ${value}; expected 0 or 1`);
    }
  }
  return data;
}

/** @throws ONNX_INVALID where the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array, where: string): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new AssayError('ONNX_INVALID', `${where} holds a string that is not UTF-8.`, { cause });
  }
}

function invalid(where: string, what: string): AssayError {
  return new AssayError('ONNX_INVALID', `${where} ${what}.`);
}
