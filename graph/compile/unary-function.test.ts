import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { erf } from './lower/unary.js';
import { applyUnary, clip, compose, gain, gainOf, general, IDENTITY } from './unary-function.js';

test('composition is application in a row, and clips stay clips', () => {
  const limit = fc.double({ min: -5, max: 5, noNaN: true });
  const fn = fc.oneof(
    fc.double({ min: 0.1, max: 4, noNaN: true }).map(gain),
    fc.tuple(limit, limit).map(([a, b]) => clip(Math.min(a, b), Math.max(a, b), 'Clip')),
    fc.constant(general('Tanh', Math.tanh)),
  );
  fc.assert(
    fc.property(fc.array(fn, { minLength: 1, maxLength: 4 }), limit, (fns, x) => {
      const composed = fns.reduce((inner, outer) => compose(inner, outer));
      const expected = fns.reduce((value, f) => applyUnary(f, value), x);
      expect(Math.abs(applyUnary(composed, x) - expected)).toBeLessThan(1e-9);
      if (fns.every((f) => f.kind === 'clip')) expect(composed.kind).toBe('clip');
    }),
  );
});

test('a gain is metadata unless it is negative or zero', () => {
  expect(gainOf(gain(3))).toBe(3);
  expect(gainOf(compose(gain(3), gain(2)))).toBe(6);
  expect(gainOf(gain(-3))).toBeNull();
  expect(gainOf(gain(0))).toBeNull();
  expect(gainOf(clip(0, Infinity, 'Relu'))).toBeNull();
  expect(gainOf(IDENTITY)).toBe(1);
});

describe('erf', () => {
  // NIST Digital Library of Mathematical Functions, table 7.1 of Abramowitz and Stegun.
  test.each([
    [0, 0],
    [0.5, 0.5204998778130465],
    [1, 0.8427007929497149],
    [2, 0.9953222650189527],
    [3, 0.9999779095030014],
    [4, 0.9999999845827421],
  ])('erf(%d)', (x, y) => {
    expect(erf(x)).toBeCloseTo(y, 14);
    expect(erf(-x)).toBeCloseTo(-y, 14);
  });
});
