import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { drawBatch } from './draw-batch.js';
import { drawnCount } from './draw-jobs.js';

const seedOf = (n: bigint): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const EXECUTORS: Hex[] = ['0x01', '0x02', '0x03', '0x04'];
const batches = fc
  .array(fc.constantFrom(...EXECUTORS), { maxLength: 60 })
  .map((executors) => executors.map((executor, index) => ({ index, executor })));
const seeds = fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }).map(seedOf);
const rates = fc.integer({ min: 1, max: 1_000_000 });

test('of every executor exactly ceil(p * n) receipts are drawn, so at least one', () => {
  fc.assert(
    fc.property(seeds, batches, rates, (seed, receipts, rate) => {
      const drawn = new Set(drawBatch(seed, receipts, rate));
      for (const executor of EXECUTORS) {
        const own = receipts.filter((receipt) => receipt.executor === executor);
        expect(own.filter(({ index }) => drawn.has(index)).length).toBe(drawnCount(own.length, rate));
      }
    }),
  );
});

test("which of an executor's receipts are drawn does not depend on other executors' receipts", () => {
  fc.assert(
    fc.property(seeds, batches, rates, (seed, receipts, rate) => {
      const own = receipts.filter(({ executor }) => executor === EXECUTORS[0]);
      const all = drawBatch(seed, receipts, rate).filter((index) => receipts[index]!.executor === EXECUTORS[0]);
      expect(all).toEqual(drawBatch(seed, own, rate));
    }),
  );
});
