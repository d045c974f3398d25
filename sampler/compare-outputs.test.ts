import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareOutputs } from './compare-outputs.js';

describe('compareOutputs', () => {
  it('null for equal results, the first difference and the count otherwise', () => {
    const a = [Int32Array.of(1, 2, 3), Int32Array.of(), Int32Array.of(4, 5)];
    expect(
      compareOutputs(
        a,
        a.map((tensor) => tensor.slice()),
      ),
    ).toBeNull();
    const b = [Int32Array.of(1, 2, 3), Int32Array.of(), Int32Array.of(9, -5)];
    expect(compareOutputs(a, b)).toEqual({ tensor: 2, element: 0, expected: 4, found: 9, differing: 2 });
  });

  it('one unit in one element is found wherever it is (random)', () => {
    fc.assert(
      fc.property(
        fc.array(fc.int32Array({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 4 }),
        fc.nat(),
        fc.nat(),
        (tensors, t, e) => {
          const tensor = t % tensors.length;
          const element = e % tensors[tensor]!.length;
          const changed = tensors.map((values) => values.slice());
          changed[tensor]![element]! ^= 1;
          expect(compareOutputs(tensors, changed)).toMatchObject({ tensor, element, differing: 1 });
        },
      ),
      { numRuns: 200 },
    );
  });

  it('results of another form are no comparison', () => {
    const refused = expect.objectContaining({ code: 'DRAW_INVALID' });
    expect(() => compareOutputs([Int32Array.of(1)], [])).toThrow(refused);
    expect(() => compareOutputs([Int32Array.of(1)], [Int32Array.of(1, 2)])).toThrow(refused);
  });
});
