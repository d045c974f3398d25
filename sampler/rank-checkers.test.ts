import { id } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { rankCheckers, type Party } from './rank-checkers.js';

const seedOf = (text: string | number): Hex => id(`seed ${text}`) as Hex;
const party = (n: number, operator = `operator ${n}`, engine = `engine ${n}`): Party => ({
  address: `0x${(n + 1).toString(16).padStart(40, '0')}`,
  operator,
  engine,
});
const executor = party(0);

describe('rankCheckers', () => {
  it('never draws the executor, its operator, its engine, or an earlier checker (random)', () => {
    const arbitraryParty = fc
      .tuple(fc.nat(20), fc.nat(4), fc.nat(4))
      .map(([n, o, e]) => party(n, `operator ${o}`, `engine ${e}`));
    fc.assert(
      fc.property(
        fc.uniqueArray(arbitraryParty, { selector: (p) => p.address, maxLength: 12 }),
        fc.array(arbitraryParty, { minLength: 1, maxLength: 2 }),
        fc.nat(),
        (checkers, against, s) => {
          for (const drawn of rankCheckers(seedOf(s), 3, checkers, against)) {
            for (const other of against) {
              expect(drawn.address).not.toBe(other.address);
              expect(drawn.operator).not.toBe(other.operator);
              expect(drawn.engine).not.toBe(other.engine);
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('ranks every independent one once, and nobody where none is', () => {
    const checkers = [1, 2, 3, 4].map((n) => party(n));
    const ranked = rankCheckers(seedOf(1), 5, [...checkers, executor], [executor]);
    expect(ranked.length).toBe(4);
    expect(new Set(ranked)).toEqual(new Set(checkers));
    expect(rankCheckers(seedOf(1), 5, [], [executor])).toEqual([]);
  });

  it('the order of the list, and who else joins, does not change who comes first among those who stay', () => {
    const few = [1, 2, 3].map((n) => party(n));
    const many = [6, 3, 5, 1, 4, 2].map((n) => party(n));
    const order = rankCheckers(seedOf(9), 0, few, [executor]).map(({ address }) => address);
    const kept = rankCheckers(seedOf(9), 0, many, [executor])
      .map(({ address }) => address)
      .filter((a) => order.includes(a));
    expect(kept).toEqual(order);
  });

  it('is uniform over the independent ones, and independent of the job draw: chi-square, 4,000 fixed seeds', () => {
    const checkers = [1, 2, 3, 4, 5].map((n) => party(n));
    const counts = new Map(checkers.map(({ address }) => [address, 0]));
    const rounds = 4_000;
    for (let s = 0; s < rounds; s++) {
      const [{ address }] = rankCheckers(seedOf(s >> 2), s & 3, checkers, [executor]) as [Party];
      counts.set(address, counts.get(address)! + 1);
    }
    const expected = rounds / 5;
    const chi = [...counts.values()].reduce((sum, c) => sum + (c - expected) ** 2 / expected, 0);
    // 0.999 quantile with 4 degrees of freedom.
    expect(chi).toBeLessThan(18.5);
  });
});
