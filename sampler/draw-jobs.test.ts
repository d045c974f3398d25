import { id } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchHash, batchRoot, drawSeed, leafHash, type Hex } from '../receipts/index.js';
import { drawJobs, drawnCount } from './draw-jobs.js';

const seedOf = (text: string | number): Hex => id(`seed ${text}`) as Hex;
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('drawJobs', () => {
  it('draws exactly ceil(p N), distinct, ascending, out of the given indexes (random)', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat({ max: 2 ** 32 - 1 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.nat(),
        (indexes, ratePpm, s) => {
          const drawn = drawJobs(seedOf(s), indexes, ratePpm);
          expect(drawn).toHaveLength(Math.ceil((indexes.length * ratePpm) / 1e6));
          expect(new Set(drawn).size).toBe(drawn.length);
          expect(drawn.every((index) => indexes.includes(index))).toBe(true);
          expect(drawn).toEqual([...drawn].sort((a, b) => a - b));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('does not depend on the order in which the indexes are given', () => {
    expect(drawJobs(seedOf(1), upTo(50).reverse(), 200_000)).toEqual(drawJobs(seedOf(1), upTo(50), 200_000));
  });

  it('counts in whole millionths: 0.1 of 30 is 3, a third of 3 is 1, anything of 1 is 1', () => {
    expect([drawnCount(30, 100_000), drawnCount(3, 333_333), drawnCount(3, 333_334), drawnCount(1, 1)]).toEqual([
      3, 1, 2, 1,
    ]);
    expect([drawnCount(0, 1_000_000), drawnCount(256, 1_000_000), drawnCount(256, 50_000)]).toEqual([0, 256, 13]);
  });

  it('is uniform: chi-square over places and over pairs, 4,000 fixed seeds', () => {
    const N = 10;
    const rounds = 4_000;
    const places = new Array<number>(N).fill(0);
    const pairs = new Map<string, number>();
    for (let s = 0; s < rounds; s++) {
      const drawn = drawJobs(seedOf(s), upTo(N), 200_000);
      for (const index of drawn) places[index]!++;
      pairs.set(drawn.join(), (pairs.get(drawn.join()) ?? 0) + 1);
    }
    const chiSquare = (counts: number[], expected: number) =>
      counts.reduce((sum, c) => sum + (c - expected) ** 2 / expected, 0);
    // Quantiles 0.999 of chi-square: 27.9 with 9 degrees of freedom, 78.7 with 44.
    expect(chiSquare(places, (rounds * 2) / N)).toBeLessThan(27.9);
    expect(pairs.size).toBe(45);
    expect(chiSquare([...pairs.values()], rounds / 45)).toBeLessThan(78.7);
  });

  it('choosing the sample after the fact is impossible: changing the commitment changes the draw', () => {
    const domain = { chainId: 31337n, verifyingContract: `0x${'11'.repeat(20)}` as Hex };
    const blockHash = id('block after the commit') as Hex;
    const drawOf = (outputs: string): string => {
      const leaves = upTo(64).map((i) => leafHash(i, 'sampled', id(i === 7 ? outputs : `receipt ${i}`) as Hex));
      const header = {
        lane: 'sampled' as const,
        count: 64,
        poster: `0x${'22'.repeat(20)}` as Hex,
        salt: id('salt') as Hex,
        policyHash: id('policy') as Hex,
        batchRoot: batchRoot(leaves),
      };
      return drawJobs(drawSeed(blockHash, batchHash(header, domain)), upTo(64), 50_000).join();
    };
    const honest = drawOf('right answer');
    expect(drawOf('right answer')).toBe(honest);
    // 20 attempts to move the draw by replacing one output: each is a new draw, none repeats the old one.
    const attempts = upTo(20).map((n) => drawOf(`wrong answer ${n}`));
    expect(attempts).not.toContain(honest);
    expect(new Set(attempts).size).toBeGreaterThan(15);
  });

  it('refuses a rate, seed or index that is none', () => {
    const refused = expect.objectContaining({ code: 'DRAW_INVALID' });
    for (const rate of [0, -1, 0.5, 1_000_001, Number.NaN])
      expect(() => drawJobs(seedOf(0), [1], rate)).toThrow(refused);
    expect(() => drawJobs('0x12' as Hex, [1], 5)).toThrow(refused);
    expect(() => drawJobs(seedOf(0), [1, 1], 5)).toThrow(refused);
    expect(() => drawJobs(seedOf(0), [-1], 5)).toThrow(refused);
    expect(() => drawJobs(seedOf(0), [2 ** 32], 5)).toThrow(refused);
  });

  it('is fixed by committed examples', () => {
    expect(drawJobs(`0x${'00'.repeat(32)}`, upTo(20), 250_000)).toMatchInlineSnapshot(`
      [
        0,
        1,
        4,
        5,
        8,
      ]
    `);
    expect(drawJobs(`0x${'ff'.repeat(32)}`, upTo(256), 20_000)).toMatchInlineSnapshot(`
      [
        32,
        140,
        158,
        168,
        191,
        243,
      ]
    `);
  });
});
