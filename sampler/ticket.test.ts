import { concat, id, keccak256, toBeHex } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { ticket } from './ticket.js';

describe('ticket', () => {
  it('is keccak(keccak(label) | seed | 32-byte words) (random)', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.nat({ max: 2 ** 32 - 1 }), fc.nat(), (label, s, index, a) => {
        const seed = id(`${s}`) as Hex;
        const address = id(`${a}`).slice(0, 42) as Hex;
        const slow = keccak256(concat([id(label), seed, toBeHex(index, 32), toBeHex(address, 32)]));
        expect(ticket(label, seed, index, address)).toBe(slow);
      }),
      { numRuns: 200 },
    );
  });
});
