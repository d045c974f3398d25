/** Power laws: fitted to points that follow one exactly, and refused where points say nothing. */
import { expect, test } from 'vitest';
import { metric, type Result } from './report.js';
import { fitPowerLaw, fitsText } from './scaling.js';

test('points on a power law give its exponent and factor', () => {
  const law = fitPowerLaw([1, 10, 500, 7000].map((x) => [x, 3 * x ** 0.75] as const))!;
  expect(law.exponent).toBeCloseTo(0.75, 10);
  expect(law.factor).toBeCloseTo(3, 8);
  expect(law).toMatchObject({ r2: expect.closeTo(1, 10) as number, n: 4 });
});

test('few points, or all at one size, give none', () => {
  expect(fitPowerLaw([1, 2, 3].map((x) => [x, x] as const))).toBeNull();
  expect(fitPowerLaw([1, 2, 3, 4].map((y) => [5, y] as const))).toBeNull();
  // 0 has no logarithm.
  expect(fitPowerLaw([0, 1, 2, 3].map((x) => [x, x] as const))).toBeNull();
});

test('forecasts stand beside what was measured on one thread', () => {
  const metrics = {
    predictedMs: metric([1200], 'ms'),
    proveCpuMs: metric([900, 1000, 1100], 'ms'),
    predictedMemoryBytes: metric([2e8], 'bytes'),
    peakRssBytes: metric([1e8], 'bytes'),
  };
  const row: Result = { suite: 'prover', model: 'm', params: 1, macs: 1, batch: 1, threads: 1, peer: null, metrics };
  expect(fitsText([row])).toEqual([
    'forecast of m, batch 1: 1.2 s predicted, 1 s measured (20 %); memory 200 MB predicted, 100 MB measured (100 %)',
  ]);
  expect(fitsText([{ ...row, threads: 2 }])).toEqual([]);
});
