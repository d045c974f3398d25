import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkerProfit, copyFoundOut, leastCanaryRatePpm, leastFee, type CheckerPay } from './checkers.js';
import { compare, rational, ZERO } from './rational.js';

const refused = expect.objectContaining({ code: 'ECONOMICS_INVALID' });
const amount = fc.bigInt({ min: 0n, max: 10n ** 20n });
const anyPay = fc.record({
  fee: amount,
  checkCost: amount,
  bounty: amount,
  deposit: amount,
  positionsCatch: fc.integer({ min: 0, max: 1000 }).map((n) => rational(BigInt(n), 1000n)),
});

describe('the pay of checkers', () => {
  it('without canaries and positions copying is always the better one', () => {
    const pay: CheckerPay = {
      fee: 100n,
      checkCost: 80n,
      bounty: 10_000n,
      deposit: 1_000n,
      canaryRate: ZERO,
      positionsCatch: ZERO,
    };
    expect(checkerProfit(pay)).toEqual({ computing: rational(20n), copying: rational(100n) });
    // One canary in a hundred: 100 - 80 + 100 against 99 - 10.
    expect(checkerProfit({ ...pay, canaryRate: rational(1n, 100n) })).toEqual({
      computing: rational(120n),
      copying: rational(89n),
    });
    // Above 80 / 11,100.
    expect(leastCanaryRatePpm(pay)).toBe(7_208);
    // Positions that find every copy need no canary.
    expect(leastCanaryRatePpm({ ...pay, positionsCatch: rational(9n, 10n) })).toBe(0);
    expect(leastFee({ ...pay, canaryRate: rational(1n, 200n) })).toEqual({ withoutFinding: 80n, withCanaries: 30n });
  });

  it('least rate of canaries: enough, and a millionth less is not (random)', () => {
    fc.assert(
      fc.property(anyPay, (pay) => {
        const good = (ppm: number): boolean => {
          const { computing, copying } = checkerProfit({ ...pay, canaryRate: rational(BigInt(ppm), 1_000_000n) });
          return compare(computing, copying) > 0 && compare(computing, ZERO) >= 0;
        };
        const least = leastCanaryRatePpm(pay);
        if (least === null) expect(good(1_000_000)).toBe(false);
        else expect([good(least), least > 0 && good(least - 1)]).toEqual([true, false]);
      }),
      { numRuns: 500 },
    );
  });

  it('refuses amounts and shares that are none', () => {
    const pay = { fee: 1n, checkCost: 1n, bounty: 1n, deposit: 1n, canaryRate: ZERO, positionsCatch: ZERO };
    expect(() => copyFoundOut({ ...pay, fee: -1n })).toThrow(refused);
    expect(() => copyFoundOut({ ...pay, canaryRate: rational(3n, 2n) })).toThrow(/^canaryRate: expected a share/);
    expect(() => leastFee({ ...pay, bounty: -1n })).toThrow(/^bounty/);
  });
});
