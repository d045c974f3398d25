/** Test helper: tensors of reproducible random data. */
import { INTEGER_LIMITS } from '../numbers.js';
import { newArray } from '../tensor-proto.js';
import { sizeOf } from '../../tensor.js';
import type { ElementType, Tensor } from '../../tensor.js';

/** mulberry32: numbers in [0, 1) from a seed. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Floats in [-scale, scale); 8-bit and wider integers over their whole range, int64 in [-1000, 1000]; float16 and bfloat16 any bits. */
export function randomTensor(next: () => number, type: ElementType, shape: readonly number[], scale = 2): Tensor {
  const data = newArray(type, sizeOf(shape));
  for (let i = 0; i < data.length; i++) {
    const limits = INTEGER_LIMITS[type];
    if (type === 'int64') (data as BigInt64Array)[i] = BigInt(Math.floor(next() * 2001) - 1000);
    else if (type === 'uint64') (data as BigUint64Array)[i] = BigInt(Math.floor(next() * 2 ** 32)) << 31n;
    else if (type === 'string') (data as string[])[i] = String(next());
    else if (type === 'float16' || type === 'bfloat16') (data as Uint16Array)[i] = next() * 65536;
    else if (type === 'bool') (data as Uint8Array)[i] = next() < 0.5 ? 0 : 1;
    else if (limits === undefined) (data as Float32Array)[i] = (next() * 2 - 1) * scale;
    else (data as Int32Array)[i] = limits[0] + Math.floor(next() * (limits[1] - limits[0] + 1));
  }
  return { type, shape, data };
}

export function int64s(values: readonly number[]): Tensor {
  return { type: 'int64', shape: [values.length], data: BigInt64Array.from(values, BigInt) };
}
