import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detectionProbability } from '../detection-probability.js';
import { batchDetection, countBand, detectionOverBatches, rateForCertainty, spreadLies } from './detection.js';
import { rational, toNumber } from './rational.js';

const refused = expect.objectContaining({ code: 'ECONOMICS_INVALID' });

function choose(n: number, k: number): bigint {
  if (k < 0 || k > n) return 0n;
  let result = 1n;
  for (let i = 0; i < k; i++) result = (result * BigInt(n - i)) / BigInt(i + 1);
  return result;
}

/** The slow reference: the sum over how many lies are drawn, in whole numbers; c in hundredths. */
function reference(receipts: number, lies: number, drawn: number, c: number): number {
  let found = 0n;
  for (let x = 0; x <= drawn; x++) {
    const ways = choose(lies, x) * choose(receipts - lies, drawn - x);
    found += ways * (100n ** BigInt(drawn) - BigInt(100 - c) ** BigInt(x) * 100n ** BigInt(drawn - x));
  }
  return toNumber(rational(found, choose(receipts, drawn) * 100n ** BigInt(drawn)));
}

describe('batchDetection', () => {
  it('equals the sum over all ways to draw (random)', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.nat(60), fc.nat(60), fc.nat(100), (receipts, a, b, c) => {
        const [lies, drawn] = [a % (receipts + 1), b % (receipts + 1)];
        const expected = reference(receipts, lies, drawn, c);
        expect(batchDetection({ receipts, lies, drawn }, c / 100)).toBeCloseTo(expected, 12);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps the digits of a small chance', () => {
    const found = batchDetection({ receipts: 1_000_000, lies: 1, drawn: 1 }, 1e-9);
    expect(found / 1e-15).toBeCloseTo(1, 9);
  });

  it('is at least what independent draws find (random)', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.nat(200), fc.nat(200), fc.nat(100), (receipts, a, b, c) => {
        const [lies, drawn] = [a % (receipts + 1), b % (receipts + 1)];
        const independent = detectionProbability(((drawn / receipts) * c) / 100, lies);
        expect(batchDetection({ receipts, lies, drawn }, c / 100)).toBeGreaterThanOrEqual(independent - 1e-12);
      }),
    );
  });

  it('many lies: published counts for 99 %', () => {
    for (const [q, n] of [
      [0.01, 459],
      [0.02, 228],
      [0.05, 90],
    ] as const) {
      const singles = (count: number) => spreadLies(count, count, 100, 100 * q);
      expect(detectionOverBatches(singles(n))).toBeGreaterThanOrEqual(0.99);
      expect(detectionOverBatches(singles(n - 1))).toBeLessThan(0.99);
    }
  });
});

describe('spreading lies', () => {
  it('evenly is the best a cheat can do: no other division is found less (all divisions of 6 over 3 batches)', () => {
    const even = detectionOverBatches(spreadLies(6, 3, 16, 2), 0.7);
    for (let a = 0; a <= 6; a++) {
      for (let b = 0; a + b <= 6; b++) {
        const batches = [a, b, 6 - a - b].map((lies) => ({ receipts: 16, lies, drawn: 2 }));
        expect(detectionOverBatches(batches, 0.7)).toBeGreaterThanOrEqual(even - 1e-15);
      }
    }
    expect(spreadLies(5, 3, 16, 2).map(({ lies }) => lies)).toEqual([2, 2, 1]);
  });
});

describe('rateForCertainty', () => {
  it('is the least rate, in millionths, at which so many lies escape rarely enough', () => {
    for (const [lies, escape, c] of [
      [25, 1e-4, 1],
      [1, 0.5, 1],
      [180, 1e-4, 0.9],
      [3, 1e-2, 1],
    ] as const) {
      const ppm = rateForCertainty(lies, escape, c)!;
      const escapes = (rate: number) => 1 - detectionProbability((c * rate) / 1e6, lies);
      expect(escapes(ppm)).toBeLessThanOrEqual(escape * (1 + 1e-9));
      expect(escapes(ppm - 1)).toBeGreaterThan(escape * (1 - 1e-9));
    }
    expect(rateForCertainty(25, 1e-4)).toBe(308_170);
    expect(rateForCertainty(1, 1e-4, 0.9)).toBeNull();
  });
});

describe('countBand', () => {
  it('is the binomial law where all chances are equal, and certain where they are', () => {
    // 10 fair coins: P(X <= 1) = 11/1024 < 0.025 <= P(X <= 2).
    expect(countBand(Array<number>(10).fill(0.5))).toEqual({ mean: 5, sd: Math.sqrt(2.5), low: 2, high: 8 });
    expect(countBand([1, 0, 1])).toMatchObject({ mean: 2, sd: 0, low: 2, high: 2 });
    expect(countBand([])).toMatchObject({ mean: 0, low: 0, high: 0 });
  });
});

it('refuses what is no count or chance', () => {
  const batch = { receipts: 10, lies: 1, drawn: 1 };
  expect(() => batchDetection({ ...batch, lies: 11 })).toThrow(/^lies: expected a whole number from 0 to 10, found 11/);
  expect(() => batchDetection({ ...batch, drawn: 0.5 })).toThrow(refused);
  expect(() => batchDetection(batch, 1.1)).toThrow(/^conviction: expected a chance/);
  expect(() => spreadLies(7, 2, 3, 1)).toThrow(refused);
  expect(() => rateForCertainty(0, 0.1)).toThrow(refused);
  expect(() => countBand([0.5], 1)).toThrow(/^confidence/);
});
