import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sizeOf, stridesOf } from '../tensor.js';
import { axisAfterReshape } from './shape-wires.js';

test('an axis found after a reshape runs over the same elements', () => {
  const side = fc.integer({ min: 1, max: 4 });
  fc.assert(
    fc.property(fc.array(side, { minLength: 1, maxLength: 4 }), fc.nat(3), fc.nat(3), (shape, cut, at) => {
      const axis = at % shape.length;
      const join = cut % shape.length;
      const to = [sizeOf(shape.slice(0, join)), ...shape.slice(join)];
      const found = axisAfterReshape(shape, to, axis);
      if (found === null) return;
      const index = (s: readonly number[], a: number, position: number): number =>
        Math.floor(position / stridesOf(s)[a]!) % s[a]!;
      for (let position = 0; position < sizeOf(shape); position++)
        expect(index(to, found, position)).toBe(index(shape, axis, position));
    }),
  );
});

test.each([
  [[3, 1, 5], [3, 5], 0, 0],
  [[4], [4, 1, 1], 0, 0],
  [[4, 2, 2], [16], 0, null],
  [[2, 3], [1, 2, 3], 1, 2],
] as const)('%j to %j: axis %d becomes %j', (from, to, axis, expected) => {
  expect(axisAfterReshape(from, to, axis)).toBe(expected);
});
