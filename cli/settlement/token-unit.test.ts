import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { amountText, parseAmount, type TokenUnit } from './token-unit.js';

const unit = (decimals: number): TokenUnit => ({ symbol: 'TOK', decimals });

describe('amounts as people write them', () => {
  test('what is written is read again, for every number of decimals', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: (1n << 128n) - 1n }),
        fc.integer({ min: 0, max: 30 }),
        (amount, decimals) => {
          const text = amountText(amount, unit(decimals));
          expect(text.endsWith(' TOK')).toBe(true);
          // The slow way: digits before and behind the point, side by side.
          const [whole, part = ''] = text.slice(0, -4).split('.');
          expect(BigInt(whole! + part.padEnd(decimals, '0'))).toBe(amount);
          expect(parseAmount(text.slice(0, -4), unit(decimals))).toBe(amount);
        },
      ),
    );
  });

  test.each([
    ['0', /more than 0/],
    ['0.00', /more than 0/],
    ['-1', /decimal number/],
    ['1e3', /decimal number/],
    ['.5', /decimal number/],
    ['1.', /decimal number/],
    [' 1', /decimal number/],
    ['', /decimal number/],
    ['1.234', /2 digits behind the point/],
  ])('%j is refused', (text, message) => {
    expect(() => parseAmount(text, unit(2))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) as string }),
    );
  });
});
