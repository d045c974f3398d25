import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TensorStatistics } from './statistics.js';

test.each([
  [1e-300, 1e10],
  [5e-324, 1e308],
  [1e308, 1e-300],
])('%d and then %d are counted', (first, second) => {
  const statistics = new TensorStatistics();
  statistics.add([first]);
  statistics.add([second]);
  const bins = statistics.bins();
  expect(bins.reduce((sum, bin) => sum + bin.count, 0)).toBe(2);
  expect(bins.every((bin) => Number.isFinite(bin.value))).toBe(true);
  expect([statistics.min, statistics.max]).toEqual([Math.min(first, second), Math.max(first, second)]);
});

test('extremes and count are exact, and bins hold every element near its value', () => {
  const values = fc.array(
    fc.double({ noNaN: true, min: -1e6, max: 1e6 }).map((x) => (Math.abs(x) < 1e-300 ? 0 : x)),
    { minLength: 1, maxLength: 200 },
  );
  fc.assert(
    fc.property(fc.array(values, { minLength: 1, maxLength: 4 }), (batches) => {
      const statistics = new TensorStatistics();
      for (const batch of batches) statistics.add(batch);
      const all = batches.flat();
      expect(statistics.min).toBe(Math.min(...all));
      expect(statistics.max).toBe(Math.max(...all));
      expect(statistics.count).toBe(all.length);
      const bins = statistics.bins();
      expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
      // The bins in rising order are the sorted elements, each moved by less than two bins.
      const width = (2 * Math.max(...all.map(Math.abs))) / 4096;
      const spread = bins.flatMap(({ value, count }) => new Array<number>(count).fill(value));
      all.sort((a, b) => a - b).forEach((x, i) => expect(Math.abs(x - spread[i]!)).toBeLessThanOrEqual(2 * width));
    }),
    { numRuns: 200 },
  );
});

test('zeros alone are one bin at 0', () => {
  const statistics = new TensorStatistics();
  statistics.add([0, 0, -0]);
  expect(statistics.bins()).toEqual([{ value: 0, count: 3 }]);
});
