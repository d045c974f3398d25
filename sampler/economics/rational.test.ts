import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  above,
  add,
  ceil,
  compare,
  divide,
  floor,
  fromNumber,
  multiply,
  parseRational,
  rational,
  subtract,
  toNumber,
} from './rational.js';

const fraction = fc
  .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.bigInt({ min: 1n, max: 10n ** 30n }))
  .map(([a, b]) => rational(a, b));
const refused = expect.objectContaining({ code: 'ECONOMICS_INVALID' });

describe('rational', () => {
  it('obeys the laws of a field, and rounds to the right side (random)', () => {
    fc.assert(
      fc.property(fraction, fraction, fraction, (a, b, c) => {
        expect(add(multiply(a, c), multiply(b, c))).toEqual(multiply(add(a, b), c));
        expect(subtract(add(a, b), b)).toEqual(a);
        if (b.numerator !== 0n) expect(multiply(divide(a, b), b)).toEqual(a);
        const [low, high] = [floor(a), ceil(a)];
        expect(compare(rational(low), a)).toBeLessThanOrEqual(0);
        expect(compare(a, rational(low + 1n))).toBeLessThan(0);
        expect(compare(rational(high), a)).toBeGreaterThanOrEqual(0);
        expect(compare(rational(above(a)), a)).toBeGreaterThan(0);
        expect(above(a) - low).toBe(1n);
      }),
    );
  });

  it('doubles go in and out unchanged (random)', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e200, max: 1e200 }), (value) => {
        fc.pre(value === 0 || Math.abs(value) > 1e-280);
        expect(toNumber(fromNumber(value)) + 0).toBe(value + 0);
      }),
    );
  });

  it('reads decimals, percentages and fractions exactly', () => {
    expect(parseRational('p', '0.05')).toEqual(rational(1n, 20n));
    expect(parseRational('p', '5 %')).toEqual(rational(1n, 20n));
    expect(parseRational('p', '1/20')).toEqual(rational(1n, 20n));
    expect(parseRational('p', '12.50')).toEqual(rational(25n, 2n));
    expect(toNumber(rational(1n, 3n))).toBe(1 / 3);
    expect(toNumber(rational(-(2n ** 1100n), 2n ** 1099n))).toBe(-2);
  });

  it('names what it cannot read', () => {
    for (const text of ['', '-1', '1e3', '0,5', '1/0', '.5', 'NaN', '0x10'])
      expect(() => parseRational('rate', text)).toThrow(/^rate: expected a number such as 0\.05/);
    expect(() => rational(1n, 0n)).toThrow(refused);
    expect(() => divide(rational(1n), rational(0n))).toThrow(refused);
    for (const value of [Number.NaN, Infinity]) expect(() => fromNumber(value)).toThrow(refused);
  });
});
