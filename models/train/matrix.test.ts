import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../random.js';
import { addBlock, addProduct, rowMajor, transposed } from './matrix.js';

describe('addProduct', () => {
  it('gives the bits of the plain triple loop, for every size, offset and transposition', () => {
    const side = fc.integer({ min: 1, max: 13 });
    fc.assert(
      fc.property(
        fc.record({ rows: side, inner: side, columns: side, offset: fc.nat(5), seed: fc.nat() }),
        fc.boolean(),
        fc.boolean(),
        ({ rows, inner, columns, offset, seed }, flipA, flipB) => {
          const random = new SeededRandom(seed);
          const fill = (count: number): Float64Array =>
            Float64Array.from({ length: count + offset }, () => random.normal());
          const A = flipA
            ? transposed(rowMajor(fill(rows * inner), rows, offset))
            : rowMajor(fill(rows * inner), inner, offset);
          const B = flipB
            ? transposed(rowMajor(fill(inner * columns), inner, offset))
            : rowMajor(fill(inner * columns), columns, offset);
          const start = fill(rows * columns);
          const fast = start.slice();
          const slow = start.slice();
          addProduct(A, B, rowMajor(fast, columns, offset), rows, inner, columns);
          addBlock(A, B, rowMajor(slow, columns, offset), 0, rows, inner, 0, columns);
          expect(fast).toEqual(slow);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('multiplies', () => {
    const C = new Float64Array([100, 0, 0, 0]);
    addProduct(
      rowMajor(Float64Array.of(1, 2, 3, 4, 5, 6), 3),
      rowMajor(Float64Array.of(7, 8, 9, 10, 11, 12), 2),
      rowMajor(C, 2),
      2,
      3,
      2,
    );
    expect([...C]).toEqual([158, 64, 139, 154]);
  });
});
