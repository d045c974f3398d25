import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generator } from '../../graph/onnx/testing/random.js';
import { deployFloat, type FloatChain } from '../../verifier-contracts/harness/float/deploy-float.js';
import { allows, allowsExactly, ONE, SIGN, type SumCase } from './sum.js';
import { contractAllows } from './testing/contract-sums.js';
import { bitsOfNumber, honestResult, randomClaim } from './testing/random-sums.js';

const CASES = 4000;
const seed = Date.now() >>> 0;
let chain: FloatChain;

beforeAll(async () => {
  chain = await deployFloat();
}, 300_000);
afterAll(() => chain?.stop());

const sumOf = (x: number[], w: number[], more: Partial<Omit<SumCase, 'x' | 'w'>> = {}): SumCase => ({
  x: Uint32Array.from(x, bitsOfNumber),
  w: Uint32Array.from(w, bitsOfNumber),
  roundings: x.length,
  divisor: 1,
  single: false,
  ...more,
});

describe(`sums of float32 products, seed ${seed}`, () => {
  it('the contract and its mirror agree; what the definition allows, both allow', async () => {
    const next = generator(seed);
    const claims = Array.from({ length: CASES }, () => randomClaim(next));
    const contract = await contractAllows(chain.harness, claims);
    const mirror = claims.map(({ sum, y }) => allows(sum, y));
    const definition = claims.map(({ sum, y }) => allowsExactly(sum, y));
    claims.forEach(({ sum, y }, i) => {
      const shown = JSON.stringify({ i, x: [...sum.x], w: [...sum.w], y, sum });
      expect(contract[i], shown).toBe(mirror[i]);
      if (definition[i]) expect(mirror[i], shown).toBe(true);
    });
    // Both verdicts are common, and wherever nothing is cut off at the very bound the two say the same.
    const right = mirror.filter(Boolean).length;
    expect(right).toBeGreaterThan(CASES / 5);
    expect(right).toBeLessThan((4 * CASES) / 5);
    expect(mirror.filter((verdict, i) => verdict !== definition[i]).length).toBeLessThan(CASES / 200);
  });

  it('an honest machine is never refused: any tree, fused or not, flushing or not', () => {
    const next = generator(seed + 1);
    for (let i = 0; i < CASES; i++) {
      const { sum } = randomClaim(next);
      const machine = { flushes: next() < 0.5, readsZero: next() < 0.5, fuses: next() < 0.5 };
      const y = bitsOfNumber(honestResult(next, sum, machine));
      const shown = JSON.stringify({ ...sum, machine, y, x: [...sum.x], w: [...sum.w] });
      expect(allowsExactly(sum, y), shown).toBe(true);
      expect(allows(sum, y), shown).toBe(true);
    }
  });

  it.each<[string, SumCase, number, boolean]>([
    ['the rounded sum', sumOf([1, 2], [3, 4]), 11, true],
    ['one more than two roundings give', sumOf([1, 2], [3, 4]), 11.00001, false],
    ['nothing left of a cancellation', sumOf([1e30, -1e30, 1], [1, 1, 1]), 0, true],
    ['a cancellation beyond its bound', sumOf([1e30, -1e30, 1], [1, 1, 1]), 1e24, false],
    ['products far apart', sumOf([1e30, 1e-30], [1e8, 1e-15]), Math.fround(1e38), true],
    ['underflow to zero', sumOf([1e-30], [1e-30]), 0, true],
    ['a subnormal read as zero times a large weight', sumOf([1e-39], [1e30]), 0, true],
    ['a normal number read as zero', sumOf([1e-30], [1e5]), 0, false],
    ['infinity without overflow', sumOf([1e30], [1e8]), Infinity, false],
    ['infinity by overflow', sumOf([1e30], [1e9]), Infinity, true],
    ['infinity by overflow of a part', sumOf([3e38, 3e38, -3e38], [1, 1, 1]), Infinity, true],
    ['NaN by overflow of parts', sumOf([3e38, 3e38, -3e38, -3e38], [1, 1, 1, 1]), NaN, true],
    ['NaN of finite numbers', sumOf([1], [1]), NaN, false],
    ['the largest number, within a rounding of overflow', sumOf([3.4028234663852886e38], [1]), Infinity, true],
    ['two roundings below the largest number', sumOf([3.4028230607370965e38], [1]), Infinity, false],
    ['an infinite operand', sumOf([Infinity, 1], [1, 1]), -Infinity, true],
    ['a finite result of an infinite operand', sumOf([Infinity, 1], [1, 1]), 1, false],
    ['a finite result of NaN', sumOf([NaN, 1], [1, 1]), 1, false],
    ['a NaN skipped with its zero weight', sumOf([NaN, 1], [0, 1]), 1, true],
    ['minus zero', sumOf([0], [1]), -0, true],
    ['an exact addition', sumOf([1, 2 ** -25], [1, 1], { single: true, roundings: 1 }), 1, true],
    ['an addition two units off', sumOf([1, 1], [1, 1], { single: true, roundings: 1 }), 2 + 2 ** -21, false],
    ['a difference that is exact', sumOf([1e30, 1e30], [1, -1], { single: true, roundings: 1 }), 0, true],
    ['a difference that is not', sumOf([1e30, 1e30], [1, -1], { single: true, roundings: 1 }), 1e-30, false],
    ['a mean', sumOf([1, 2, 4], [1, 1, 1], { divisor: 3, roundings: 4 }), 7 / 3, true],
    ['a sum for a mean', sumOf([1, 2, 4], [1, 1, 1], { divisor: 3, roundings: 4 }), 7, false],
  ])('%s', async (_, sum, y, expected) => {
    const bits = bitsOfNumber(y);
    expect(allowsExactly(sum, bits)).toBe(expected);
    expect(allows(sum, bits)).toBe(expected);
    expect(await contractAllows(chain.harness, [{ sum, y: bits }])).toEqual([expected]);
  });

  it('a claim one float beyond the bound is refused, at the bound it is not', async () => {
    // 64 products of 1: bound 64 / (2^24 - 64) * 64 = 2.44e-4 + flushing; floats around 64 are 7.6e-6 apart.
    const sum = sumOf(new Array<number>(64).fill(1), new Array<number>(64).fill(1));
    const claims = Array.from({ length: 40 }, (_, i) => ({ sum, y: bitsOfNumber(64) + i }));
    const verdicts = claims.map(({ y }) => allowsExactly(sum, y));
    expect(verdicts.indexOf(false)).toBe(33);
    expect(verdicts.slice(33).includes(true)).toBe(false);
    expect(claims.map(({ y }) => allows(sum, y))).toEqual(verdicts);
    expect(await contractAllows(chain.harness, claims)).toEqual(verdicts);
  });

  it('signs of the factors and of the result count', async () => {
    for (const [a, b, y] of [
      [ONE, ONE, ONE + SIGN],
      [ONE + SIGN, ONE, ONE],
      [ONE, ONE + SIGN, ONE],
      [ONE + SIGN, ONE + SIGN, ONE + SIGN],
    ] as const) {
      const sum = { x: Uint32Array.of(a), w: Uint32Array.of(b), roundings: 1, divisor: 1, single: false };
      const flipped = y >= SIGN ? y - SIGN : y + SIGN;
      expect([allows(sum, y), allows(sum, flipped)]).toEqual([false, true]);
      expect(
        await contractAllows(chain.harness, [
          { sum, y },
          { sum, y: flipped },
        ]),
      ).toEqual([false, true]);
    }
  });
});
