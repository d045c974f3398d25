import { expect, it } from 'vitest';
import { integersOf } from './integers-of.js';

const at = { engine: 'test', tensor: 'logits' };

it('takes integers as they are, minus zero as zero', () => {
  const data = Float64Array.of(0, -0, 1, -1, 2 ** 31 - 1, -(2 ** 31));
  expect(integersOf(data, 6, at)).toEqual(Int32Array.of(0, 0, 1, -1, 2 ** 31 - 1, -(2 ** 31)));
});

it.each([0.5, 2.9999998, 2 ** 31, -(2 ** 31) - 1, NaN, Infinity, -Infinity])(
  'refuses %s, naming the element',
  (bad) => {
    expect(() => integersOf(Float64Array.of(7, bad), 2, at)).toThrow(
      expect.objectContaining({ code: 'ENGINE_NOT_EXACT', meta: { ...at, index: 1, found: String(bad) } }),
    );
  },
);

it('refuses another number of elements', () => {
  expect(() => integersOf(Float32Array.of(1, 2), 3, at)).toThrow(expect.objectContaining({ code: 'ENGINE_NOT_EXACT' }));
});
