import fc from 'fast-check';
import { expect, test } from 'vitest';
import { accumulatorBounds, quantiseBias, quantiseWeights } from './quantise-weights.js';

test('weights are symmetric within bits, and within half a unit of the real ones', () => {
  const rows = fc.array(fc.array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: 4, maxLength: 4 }), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(rows, fc.integer({ min: 2, max: 8 }), fc.boolean(), (matrix, bits, perTensor) => {
      const flat = Float64Array.from(matrix.flat());
      const { weight, scales } = quantiseWeights(flat, matrix.length, 4, null, 0.1, bits, perTensor);
      const limit = 2 ** (bits - 1) - 1;
      expect(scales).toHaveLength(perTensor ? 1 : matrix.length);
      flat.forEach((w, i) => {
        const scale = scales[perTensor ? 0 : Math.floor(i / 4)]!;
        expect(Math.abs(weight[i]!)).toBeLessThanOrEqual(limit);
        expect(Math.abs(weight[i]! * scale - w)).toBeLessThanOrEqual(scale / 2 + 1e-12);
      });
    }),
  );
});

test('a bias too large for its row makes the row coarser', () => {
  const bias = Float64Array.of(1e6);
  const { scales } = quantiseWeights(Float64Array.of(1e-3, 1e-3), 1, 2, bias, 0.01, 8, false);
  expect(Math.abs(quantiseBias(bias, 0.01, scales, 'fc')[0]!)).toBeLessThanOrEqual(2 ** 21);
});

test('bounds are attained by the worst operand, and hold for every operand', () => {
  const weights = fc.array(fc.integer({ min: -127, max: 127 }), { minLength: 5, maxLength: 5 });
  const operand = fc.array(fc.integer({ min: -30, max: 200 }), { minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(weights, fc.integer({ min: -1000, max: 1000 }), operand, (w, b, x) => {
      const { ranges, magnitude } = accumulatorBounds(Int8Array.from(w), 1, 5, Int32Array.of(b), { lo: -30, hi: 200 });
      const sum = (values: readonly number[]): number => w.reduce((total, weight, k) => total + weight * values[k]!, b);
      const value = sum(x);
      expect(value >= ranges[0]!.lo && value <= ranges[0]!.hi).toBe(true);
      expect(sum(w.map((weight) => (weight > 0 ? 200 : -30)))).toBe(ranges[0]!.hi);
      expect(sum(w.map((weight) => (weight > 0 ? -30 : 200)))).toBe(ranges[0]!.lo);
      let partial = b;
      for (let k = 0; k < 5; k++) {
        partial += w[k]! * x[k]!;
        expect(Math.abs(partial)).toBeLessThanOrEqual(magnitude);
      }
    }),
  );
});
