/** What tests of several contracts expect, and how they spoil a signature. */
import { expect } from 'vitest';
import type { Hex } from '../../receipts/types.js';

/** A refusal by a contract's own error. */
export const reverts = (error: string, ...args: (string | number | bigint)[]): unknown =>
  expect.objectContaining({ code: 'CHAIN_REVERTED', meta: { error, args: args.map(String) } });

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The other signature of the same point: s mirrored, v flipped. */
export function mirrored(signature: Hex): Hex {
  const s = ORDER - BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.endsWith('1b') ? '1c' : '1b';
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}` as Hex;
}
