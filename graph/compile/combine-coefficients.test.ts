import fc from 'fast-check';
import { expect, test } from 'vitest';
import { combineCoefficients } from './combine-coefficients.js';

const range = { lo: -128, hi: 127 };

test('equal scales need no multiplication, simple ratios small coefficients', () => {
  expect(
    combineCoefficients([
      { scale: 0.1, range },
      { scale: 0.1, range },
    ]),
  ).toEqual({ coefficients: [1, 1], scale: 0.1 });
  expect(
    combineCoefficients([
      { scale: 0.1, range },
      { scale: 0.15, range },
    ]).coefficients,
  ).toEqual([2, 3]);
});

test('each scale is met within 2^-13 of the largest term, or by coefficients of at most 2^13', () => {
  const scale = fc.double({ min: 1e-3, max: 1, noNaN: true });
  fc.assert(
    fc.property(fc.array(scale, { minLength: 2, maxLength: 4 }), (scales) => {
      const { coefficients, scale: unit } = combineCoefficients(scales.map((s) => ({ scale: s, range })));
      const largest = Math.max(...scales);
      coefficients.forEach((c, i) => {
        expect(c).toBeGreaterThanOrEqual(1);
        expect(c).toBeLessThanOrEqual(2 ** 13);
        expect(Math.abs(c * unit - scales[i]!) / largest).toBeLessThanOrEqual(2 ** -13 * 1.001);
      });
    }),
  );
});
