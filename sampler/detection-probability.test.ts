import { id } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { detectionProbability, detectionProbabilityExact } from './detection-probability.js';
import { drawJobs, drawnCount } from './draw-jobs.js';

describe('detectionProbability', () => {
  it('known values', () => {
    expect(detectionProbability(0.05, 1)).toBeCloseTo(0.05, 15);
    expect(detectionProbability(0.05, 60)).toBeCloseTo(0.95393, 6);
    expect(detectionProbability(1e-18, 1000)).toBeCloseTo(1e-15, 28);
    expect([
      detectionProbability(0, 9),
      detectionProbability(1, 1),
      detectionProbability(0.5, 0),
      detectionProbability(1, 0),
    ]).toEqual([0, 1, 0, 0]);
    expect(detectionProbabilityExact(10, 1, 2)).toBeCloseTo(0.2, 15);
    expect(detectionProbabilityExact(10, 9, 2)).toBe(1);
    expect([
      detectionProbabilityExact(10, 0, 10),
      detectionProbabilityExact(10, 5, 0),
      detectionProbabilityExact(0, 0, 0),
    ]).toEqual([0, 0, 0]);
  });

  it('drawing without replacement never detects less (random)', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 256 }), fc.nat(256), fc.nat(256), (N, a, b) => {
        const wrong = a % (N + 1);
        const drawn = b % (N + 1);
        expect(detectionProbabilityExact(N, wrong, drawn)).toBeGreaterThanOrEqual(
          detectionProbability(drawn / N, wrong) - 1e-12,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('is what the draw does: 1,000 fixed seeds, 3 wrong of 64 at 10 %, within four standard deviations', () => {
    const indexes = Array.from({ length: 64 }, (_, i) => i);
    const wrong = [5, 6, 63];
    const rounds = 1000;
    let caught = 0;
    for (let s = 0; s < rounds; s++) {
      if (drawJobs(id(`round ${s}`) as Hex, indexes, 100_000).some((index) => wrong.includes(index))) caught++;
    }
    const q = detectionProbabilityExact(64, wrong.length, drawnCount(64, 100_000));
    expect(Math.abs(caught / rounds - q)).toBeLessThan(4 * Math.sqrt((q * (1 - q)) / rounds));
  });

  it('refuses what is no probability or count', () => {
    const refused = expect.objectContaining({ code: 'DRAW_INVALID' });
    for (const p of [-0.1, 1.1, Number.NaN]) expect(() => detectionProbability(p, 1)).toThrow(refused);
    for (const n of [-1, 0.5]) expect(() => detectionProbability(0.5, n)).toThrow(refused);
    expect(() => detectionProbabilityExact(5, 6, 1)).toThrow(refused);
    expect(() => detectionProbabilityExact(5, 1, -1)).toThrow(refused);
  });
});
