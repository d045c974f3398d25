import { describe, expect, test } from 'vitest';
import { chooseRange, saturationShare } from './choose-range.js';
import { TensorStatistics } from './statistics.js';
import { normal, random } from './testing/models.js';

const of = (values: readonly number[]): TensorStatistics => {
  const statistics = new TensorStatistics();
  statistics.add(values);
  return statistics;
};
const anywhere = { boundLo: -Infinity, boundHi: Infinity };

describe('the kind of range', () => {
  test('nonnegative functions are unsigned', () => {
    expect(
      chooseRange(of([0, 1, 2, 255 / 64]), { bits: 8, method: 'max', boundLo: 0, boundHi: Infinity }),
    ).toMatchObject({
      lo: 0,
      hi: 255,
      scale: 1 / 64,
    });
  });
  test('values of both signs are signed', () => {
    expect(chooseRange(of([-127 / 16, 1, 7]), { bits: 8, method: 'max', ...anywhere })).toMatchObject({
      lo: -128,
      hi: 127,
      scale: 1 / 16,
    });
  });
  test('a lopsided range is shifted, and still holds 0', () => {
    const { lo, hi, scale } = chooseRange(of([-0.5, 0, 2, 9.7]), { bits: 8, method: 'max', ...anywhere });
    expect(hi - lo).toBe(255);
    expect(lo).toBe(Math.round(-0.5 / scale));
    expect(scale).toBeCloseTo(10.2 / 255, 10);
  });
  test('negative values alone are stored below 0', () => {
    expect(chooseRange(of([-10.2, -1]), { bits: 8, method: 'max', boundLo: -Infinity, boundHi: 0 })).toMatchObject({
      lo: -255,
      hi: 0,
    });
  });
  test('a bound of the function beats what was seen', () => {
    expect(chooseRange(of([0, 5.9]), { bits: 8, method: 'max', boundLo: 0, boundHi: 1 }).scale).toBe(1 / 255);
  });
  test('fewer bits', () => {
    expect(chooseRange(of([-7, 7]), { bits: 4, method: 'max', ...anywhere })).toMatchObject({
      lo: -8,
      hi: 7,
      scale: 1,
    });
  });
  test('all zero', () => {
    expect(chooseRange(of([0, 0]), { bits: 8, method: 'auto', ...anywhere })).toMatchObject({
      scale: 1,
      saturationShare: 0,
      calibration: 'all zero',
    });
  });
});

describe('the method', () => {
  const next = random(1);
  const outliers = [...Array.from({ length: 20_000 }, () => normal(next)), 400];

  test('max keeps the outlier, mse and percentile cut it off', () => {
    const scales = (['max', 'percentile', 'mse', 'auto'] as const).map((method) =>
      chooseRange(of(outliers), { bits: 8, method, ...anywhere }),
    );
    expect(scales[0]!.saturationShare).toBe(0);
    expect(scales[1]!.scale).toBeLessThan(scales[0]!.scale / 50);
    expect(scales[3]!.scale).toBeLessThanOrEqual(scales[0]!.scale);
    expect(scales.map(({ calibration }) => calibration)).toEqual([
      'max',
      'percentile 99.9',
      'mse',
      expect.stringMatching(/^auto: /),
    ]);
  });

  test('auto keeps the full range where clipping gains nothing', () => {
    const uniform = Array.from({ length: 5000 }, (_, i) => i / 2500 - 1);
    expect(chooseRange(of(uniform), { bits: 8, method: 'auto', ...anywhere }).calibration).toBe('auto: max');
  });
});

test('saturation counts what rounds to an integer outside the range', () => {
  expect(saturationShare(of([0, 1, 2, 3]).bins(), 1, 0, 2)).toBe(0.25);
});
