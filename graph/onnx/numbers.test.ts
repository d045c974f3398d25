import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { castTensor } from './operators/constants.js';
import { erf, softplus } from './operators/activations.js';
import { bfloat16ToNumber, halfToNumber, numberToBfloat16, numberToHalf, roundHalfEven } from './numbers.js';

/** The neighbour search: of all representable values, the nearest to x, the even bits on a tie. */
function nearest(x: number, decode: (bits: number) => number, finite: readonly number[]): number {
  let best = finite[0]!;
  for (const bits of finite) {
    const distance = Math.abs(decode(bits) - x);
    const least = Math.abs(decode(best) - x);
    if (distance < least || (distance === least && bits % 2 === 0)) best = bits;
  }
  return best;
}

describe('float16', () => {
  const positive = Array.from({ length: 0x7c00 }, (_, bits) => bits);

  it('keeps every bit pattern but NaN payloads', () => {
    for (let bits = 0; bits < 65536; bits++) {
      const value = halfToNumber(bits);
      const kept = Number.isNaN(value) ? Number.isNaN(halfToNumber(numberToHalf(value))) : numberToHalf(value) === bits;
      if (!kept) throw new Error(`bits ${bits} (${value}) become ${numberToHalf(value)}`);
    }
  });

  it('rounds to the nearest, ties to even', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.double({ min: 0, max: 65519, noNaN: true }), fc.double({ min: 0, max: 1e-4, noNaN: true })),
        (x) => {
          expect(numberToHalf(x)).toBe(nearest(x, halfToNumber, positive));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('overflows to infinity from halfway above the largest', () => {
    expect(numberToHalf(65519.999)).toBe(0x7bff);
    expect(numberToHalf(65520)).toBe(0x7c00);
    expect(numberToHalf(-1e9)).toBe(0xfc00);
  });
});

describe('bfloat16', () => {
  it('keeps every bit pattern but NaN payloads', () => {
    for (let bits = 0; bits < 65536; bits++) {
      const value = bfloat16ToNumber(bits);
      if (!Number.isNaN(value) && numberToBfloat16(value) !== bits) {
        throw new Error(`bits ${bits} (${value}) become ${numberToBfloat16(value)}`);
      }
    }
    expect(Number.isNaN(bfloat16ToNumber(numberToBfloat16(NaN)))).toBe(true);
  });

  it('rounds ties to even', () => {
    expect(bfloat16ToNumber(numberToBfloat16(1 + 2 ** -8))).toBe(1);
    expect(bfloat16ToNumber(numberToBfloat16(1 + 3 * 2 ** -8))).toBe(1 + 2 ** -6);
  });
});

it('rounds half to even', () => {
  expect([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.4999, -2.6].map(roundHalfEven)).toEqual([0, 2, 2, -0, -2, -2, 2, -3]);
});

describe('castTensor', () => {
  it('truncates floats and wraps integers', () => {
    const floats = { type: 'float32' as const, shape: [4], data: Float32Array.of(-1.9, 1.9, 300, -129) };
    expect(castTensor(floats, 'int8').data).toEqual(Int8Array.of(-1, 1, 44, 127));
    expect(castTensor(floats, 'int64').data).toEqual(BigInt64Array.of(-1n, 1n, 300n, -129n));
    expect(castTensor(floats, 'bool').data).toEqual(Uint8Array.of(1, 1, 1, 1));
    const wide = { type: 'int64' as const, shape: [3], data: BigInt64Array.of(2n ** 40n + 5n, -1n, 0n) };
    expect(castTensor(wide, 'int32').data).toEqual(Int32Array.of(5, -1, 0));
    expect(castTensor(wide, 'uint64').data).toEqual(BigUint64Array.of(2n ** 40n + 5n, 2n ** 64n - 1n, 0n));
    expect(castTensor(wide, 'bool').data).toEqual(Uint8Array.of(1, 1, 0));
  });
});

it('erf and softplus at known points', () => {
  expect(erf(0)).toBe(0);
  expect(erf(1)).toBeCloseTo(0.8427007929497149, 14);
  expect(erf(-3.5)).toBeCloseTo(-0.9999992569016276, 14);
  expect(erf(7)).toBe(1);
  expect(softplus(1000)).toBe(1000);
  expect(softplus(0)).toBeCloseTo(Math.LN2, 15);
});
