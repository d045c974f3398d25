import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Tensor } from '../tensor.js';
import { dataTypeOf } from './element-types.js';
import { readTensorProto } from './read-tensor-proto.js';
import { TensorProtoType, fromBigInt } from './schema.js';
import type { TensorProto } from './schema.js';
import { encodeTensor } from './tensor-proto.js';
import { arbitraryTensor } from './testing/arbitrary-model.js';

const serialize = (proto: TensorProto): Uint8Array => TensorProtoType.encode(proto as Record<string, unknown>).finish();

/** The same tensor in the typed repeated field of its element type. */
function typedFields({ type, shape, data }: Tensor): TensorProto {
  const proto: TensorProto = { dims: shape.map((side) => fromBigInt(BigInt(side))), dataType: dataTypeOf(type) };
  const numbers = Array.from(data as ArrayLike<number | bigint | string>);
  if (type === 'float32') return { ...proto, floatData: numbers as number[] };
  if (type === 'float64') return { ...proto, doubleData: numbers as number[] };
  if (type === 'int64') return { ...proto, int64Data: numbers.map((value) => fromBigInt(BigInt(value))) };
  if (type === 'uint32' || type === 'uint64')
    return { ...proto, uint64Data: numbers.map((value) => fromBigInt(BigInt(value), true)) };
  if (type === 'string')
    return { ...proto, stringData: numbers.map((value) => new TextEncoder().encode(value as string)) };
  return { ...proto, int32Data: numbers as number[] };
}

describe('readTensorProto', () => {
  it('reads raw data and typed fields of every element type alike', () => {
    fc.assert(
      fc.property(arbitraryTensor, (tensor) => {
        expect(readTensorProto(serialize(encodeTensor('t', tensor)), 't.pb')).toEqual(tensor);
        expect(readTensorProto(serialize(typedFields(tensor)), 't.pb')).toEqual(tensor);
      }),
      { numRuns: 500 },
    );
  });

  it('refuses a size that no memory holds', () => {
    const huge = { dataType: 1, dims: [fromBigInt(2n ** 40n), fromBigInt(2n ** 40n)] };
    expect(() => readTensorProto(serialize(huge), 't.pb')).toThrow(/at most 268435456 are read/);
  });
});
