import { describe, expect, it } from 'vitest';
import { batchHash, boundIndexes, boundLeaf, headerHash, type BatchHeader } from './batch.js';
import type { Hex } from './types.js';
import { batchCases } from './vectors/read-vectors.js';

const { domain, header, batchHash: name, index, receiptStructHash, boundLeaf: leaf } = batchCases[0]!;
const word = (byte: string): Hex => `0x${byte.repeat(32)}`;

describe('vectors', () => {
  it.each(batchCases.map((c) => [c.header.lane, c] as const))('%s: names of batch, header and leaf', (_lane, c) => {
    expect(batchHash(c.header, c.domain)).toBe(c.batchHash);
    expect(headerHash(c.header, c.domain)).toBe(c.headerHash);
    expect(boundLeaf(c.batchHash, c.index, c.receiptStructHash)).toBe(c.boundLeaf);
  });
});

describe('what a name covers', () => {
  const other: { [F in keyof BatchHeader]: BatchHeader[F] } = {
    lane: 'zk',
    count: header.count + 1,
    poster: `0x${'01'.repeat(20)}`,
    salt: word('02'),
    batchRoot: word('03'),
    policyHash: word('04'),
    unbound: header.unbound + 1n,
    committedAt: header.committedAt + 1,
    committedBlock: header.committedBlock + 1,
  };
  const OF_THE_BLOCK: readonly (keyof BatchHeader)[] = ['unbound', 'committedAt', 'committedBlock'];
  it.each(Object.keys(other) as (keyof BatchHeader)[])('%s', (field) => {
    const changed = { ...header, [field]: other[field] };
    expect(changed[field]).not.toBe(header[field]);
    expect(headerHash(changed, domain)).not.toBe(headerHash(header, domain));
    // A commit that a reorganisation moved to another block keeps its name.
    expect(batchHash(changed, domain) === name).toBe(OF_THE_BLOCK.includes(field));
  });

  it('chain and contract', () => {
    for (const elsewhere of [
      { ...domain, chainId: domain.chainId + 1n },
      { ...domain, verifyingContract: `0x${'05'.repeat(20)}` as const },
    ]) {
      expect(batchHash(header, elsewhere)).not.toBe(name);
      expect(headerHash(header, elsewhere)).not.toBe(headerHash(header, domain));
    }
  });

  it('of a bound leaf: batch, index and receipt', () => {
    const others = [
      boundLeaf(word('06'), index, receiptStructHash),
      boundLeaf(name, index + 1, receiptStructHash),
      boundLeaf(name, index, word('07')),
    ];
    expect(new Set([leaf, ...others]).size).toBe(4);
  });

  it.each<[string, unknown]>([
    ['lane', 'sample'],
    ['count', 2 ** 32],
    ['poster', '0x12'],
    ['salt', word('0A').toUpperCase()],
    ['policyHash', undefined],
    ['unbound', 2n ** 256n],
    ['committedAt', 2 ** 48],
    ['committedBlock', -1],
  ])('%s = %s is named and refused', (field, value) => {
    expect(() => headerHash({ ...header, [field]: value }, domain)).toThrow(
      expect.objectContaining({ code: 'RECEIPT_FIELD_INVALID', meta: expect.objectContaining({ field }) }),
    );
  });
});

it('bound leaves in order', () => {
  expect(boundIndexes({ count: 5, unbound: 0b1010n })).toEqual([0, 2, 4]);
  expect(boundIndexes({ count: 256, unbound: 2n ** 256n - 1n - 2n ** 255n })).toEqual([255]);
});
