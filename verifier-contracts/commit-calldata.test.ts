import { AbiCoder, Interface, randomBytes, toBeHex } from 'ethers';
import { describe, expect, it } from 'vitest';
import { RECEIPT_TYPES } from '../receipts/eip712.js';
import { receiptRollupAbi } from './bindings/ReceiptRollup.js';
import { readCommit, type CommitCalldata } from './commit-calldata.js';

const abi = new Interface(receiptRollupAbi);
const COMMIT = { receipts: 2, signatures: 3 };
const COMMIT_PROVED = { receipts: 1, signatures: 2, evidence: 4 };
const UNKNOWN = { code: 'CHAIN_BATCH_UNKNOWN' };
const SALT = toBeHex(7, 32);

const word = (value: bigint | number): string => toBeHex(BigInt.asUintN(256, BigInt(value)), 32).slice(2);
const hexOf = (bytes: number): `0x${string}` => `0x${Buffer.from(randomBytes(bytes)).toString('hex')}`;
const receipt = (): CommitCalldata['receipts'][number] =>
  Object.fromEntries(
    RECEIPT_TYPES['Receipt']!.map(({ name, type }) => {
      if (type === 'bytes32') return [name, hexOf(32)];
      if (type === 'address') return [name, hexOf(20)];
      return [name, BigInt(hexOf(Number(type.slice('uint'.length)) / 8))];
    }),
  );
const encoded = (count: number) => {
  const receipts = Array.from({ length: count }, receipt);
  const signatures = Array.from(
    { length: count },
    (_, i) => (i % 3 === 2 ? '0x' : hexOf(1 + (i % 65))) as `0x${string}`,
  );
  const data = abi.encodeFunctionData('commit', [3, SALT, receipts, signatures, SALT]) as `0x${string}`;
  return { receipts, signatures, data };
};

/** A commit of `count` receipts of zeros, with these heads and tails as `bytes[]`. */
function handmade(count: number, signatures: string, length = count): `0x${string}` {
  const receipts = '00'.repeat(384 * count);
  return `0x00000000${[word(3), word(0), word(160), word(192 + 384 * count), word(0), word(count)].join('')}${receipts}${word(length)}${signatures}`;
}

describe('reads what the encoder writes', () => {
  it.each([1, 2, 5, 255, 256])('a commit of %d', (count) => {
    const { receipts, signatures, data } = encoded(count);
    expect(readCommit(data, COMMIT)).toEqual({ receipts, signatures });
  });

  it('a commit with a proof', () => {
    const { receipts, signatures } = encoded(3);
    const evidence = hexOf(100_001);
    const data = abi.encodeFunctionData('commitProved', [SALT, receipts, signatures, SALT, evidence]) as `0x${string}`;
    expect(readCommit(data, COMMIT_PROVED)).toEqual({ receipts, signatures, evidence });
  });
});

describe('reads what Solidity reads', () => {
  it('without the padding behind the last bytes, which an ordinary decoder wants', () => {
    const { receipts, signatures, data } = encoded(2);
    // The last signature has two bytes.
    const cut = data.slice(0, -60) as `0x${string}`;
    expect(readCommit(cut, COMMIT)).toEqual({ receipts, signatures });
    expect(() => AbiCoder.defaultAbiCoder().decode(abi.getFunction('commit')!.inputs, `0x${cut.slice(10)}`)).toThrow();
    expect(() => readCommit(cut.slice(0, -2) as `0x${string}`, COMMIT)).toThrow(
      expect.objectContaining(UNKNOWN) as Error,
    );
  });

  it('tails that are shared, in any order, in front of their heads, or nowhere', () => {
    const tails = `${word(2)}abcd`;
    expect(readCommit(handmade(2, word(64) + word(64) + tails), COMMIT).signatures).toEqual(['0xabcd', '0xabcd']);
    // The word in front of the heads is their number: two bytes, the first of the heads.
    expect(readCommit(handmade(2, word(64) + word(-32) + tails), COMMIT).signatures).toEqual(['0xabcd', '0x0000']);
    for (const offset of [-(2n ** 255n), -(10n ** 9n), -900n - 31n])
      expect(readCommit(handmade(1, word(offset)), COMMIT).signatures).toEqual(['0x']);
  });
});

describe('refuses, with a reason, before anything is copied', () => {
  it.each<[string, () => `0x${string}`, RegExp]>([
    ['nothing', () => '0x', /arguments: cut off/],
    ['arguments that are cut off', () => `0x${'00'.repeat(163)}`, /arguments: cut off/],
    ['a list behind the end', () => `0x${'00'.repeat(4)}${word(161).repeat(5)}`, /receipts: they begin behind the end/],
    ['more receipts than a batch has', () => handmade(257, ''), /receipts: expected at most 256, found 257/],
    [
      'receipts that are cut off',
      () => `${handmade(0, '').slice(0, -128)}${word(2)}${word(0)}` as `0x${string}`,
      /receipts: cut off/,
    ],
    ['more signatures', () => handmade(1, word(0).repeat(257), 257), /signatures: expected at most 256, found 257/],
    ['fewer signatures', () => handmade(2, word(32) + word(0), 1), /2 receipts, but 1 signatures/],
    ['heads that are cut off', () => handmade(2, word(0)), /signatures: cut off/],
    ['a tail behind the end', () => handmade(1, word(32)), /signature 0: it begins behind the end/],
    ['a tail far behind the end', () => handmade(1, word(2n ** 255n - 1n)), /signature 0: it begins behind the end/],
    ['a tail that is cut off', () => handmade(1, word(32) + word(33) + word(0)), /signature 0: cut off/],
    [
      'a long signature',
      () => handmade(1, word(32) + word(66) + '00'.repeat(66)),
      /signature 0: expected at most 65 bytes, found 66/,
    ],
    ['an absurd length', () => handmade(1, word(32) + word(2n ** 256n - 1n)), /signature 0: expected at most 65 bytes/],
  ])('%s', (_what, data, reason) => {
    expect(() => readCommit(data(), COMMIT)).toThrow(
      expect.objectContaining({ ...UNKNOWN, message: expect.stringMatching(reason) as string }) as Error,
    );
  });

  it('a word that is no value of its field', () => {
    const fields = RECEIPT_TYPES['Receipt']!;
    for (const [i, { name, type }] of fields.entries()) {
      const { data } = encoded(2);
      // The second receipt: selector, 5 arguments, the number of receipts, the first one.
      const at = 2 + 8 + 64 * (5 + 1 + fields.length + i);
      const dirty = `${data.slice(0, at)}ff${data.slice(at + 2)}` as `0x${string}`;
      const read = () => readCommit(dirty, COMMIT);
      if (type === 'bytes32' || type === 'uint256') expect(read).not.toThrow();
      else
        expect(read).toThrow(
          expect.objectContaining({
            message: expect.stringContaining(`receipt 1: ${name} is no ${type}`) as string,
          }) as Error,
        );
    }
  });

  it('one huge tail under 256 heads', () => {
    const huge = 500_000;
    const data = handmade(256, word(256 * 32).repeat(256) + word(huge) + '00'.repeat(huge));
    expect(() => readCommit(data, COMMIT)).toThrow(/signature 0: expected at most 65 bytes, found 500000/);
  });

  it('random damage: a reading, or a refusal of that kind, and nothing else', () => {
    for (let round = 0; round < 400; round++) {
      const bytes = Buffer.from(encoded(3).data.slice(2), 'hex');
      for (let hits = 0; hits < 1 + (round % 4); hits++)
        bytes[Math.floor(Math.random() * bytes.length)] = Math.floor(Math.random() * 256);
      const cut = bytes.subarray(0, bytes.length - (round % 2) * Math.floor(Math.random() * bytes.length));
      const data = `0x${cut.toString('hex')}` as const;
      try {
        expect(readCommit(data, COMMIT).signatures).toHaveLength(readCommit(data, COMMIT).receipts.length);
      } catch (error) {
        expect(error, data).toMatchObject(UNKNOWN);
      }
    }
  });
});
