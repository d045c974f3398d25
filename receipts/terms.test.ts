import { describe, expect, it } from 'vitest';
import { hashOrder } from './eip712.js';
import { checkTerms, termsHash } from './terms.js';
import type { JobOrder, Receipt } from './types.js';
import { eip712Cases, exampleDomain, exampleOrder, exampleReceipt } from './vectors/read-vectors.js';

describe('checkTerms', () => {
  it('accepts a receipt that delivers what was ordered, at most at the price', () => {
    expect(checkTerms(exampleReceipt, exampleOrder, exampleDomain)).toEqual({ verdict: 'valid' });
    const dear = { ...exampleReceipt, amount: exampleOrder.price };
    expect(checkTerms(dear, exampleOrder, exampleDomain)).toEqual({ verdict: 'valid' });
  });

  const other: Partial<Receipt> = {
    orderHash: `0x${'01'.repeat(32)}`,
    modelDigest: `0x${'02'.repeat(32)}`,
    inputRoot: `0x${'03'.repeat(32)}`,
    items: exampleReceipt.items + 1,
    lane: 'optimistic',
    policyHash: `0x${'06'.repeat(32)}`,
    amount: exampleOrder.price + 1n,
    executor: `0x${'07'.repeat(20)}`,
  };
  it.each(Object.keys(other) as (keyof Receipt)[])('refuses another %s', (field) => {
    const verdict = checkTerms({ ...exampleReceipt, [field]: other[field] }, exampleOrder, exampleDomain);
    expect(verdict).toMatchObject({ verdict: 'invalid', reason: expect.stringContaining(field) });
  });

  it('leaves to the chain whether a receipt that calls itself late was in time', () => {
    const { deliverBy } = exampleOrder;
    const at = (issuedAt: number) => checkTerms({ ...exampleReceipt, issuedAt }, exampleOrder, exampleDomain).verdict;
    expect([deliverBy, deliverBy + 1].map(at)).toEqual(['valid', 'undetermined']);
    const wrongToo = { ...exampleReceipt, issuedAt: deliverBy + 1, amount: exampleOrder.price + 1n };
    expect(checkTerms(wrongToo, exampleOrder, exampleDomain).verdict).toBe('invalid');
  });

  it('refuses an order for another chain', () => {
    const order: JobOrder = exampleOrder;
    const elsewhere = { ...exampleDomain, chainId: 5n };
    expect(hashOrder(order, elsewhere)).not.toBe(exampleReceipt.orderHash);
    expect(checkTerms(exampleReceipt, order, elsewhere).verdict).toBe('invalid');
  });
});

describe('termsHash', () => {
  it.each(eip712Cases.map((c) => [c.receipt.lane, c] as const))('%s: of order and receipt alike', (_lane, c) => {
    expect(termsHash(c.order)).toBe(c.termsHash);
    expect(termsHash(c.receipt)).toBe(c.termsHash);
  });

  it.each<[string, Partial<Receipt>]>([
    ['modelDigest', { modelDigest: `0x${'02'.repeat(32)}` }],
    ['inputRoot', { inputRoot: `0x${'03'.repeat(32)}` }],
    ['items', { items: exampleReceipt.items + 1 }],
    ['lane', { lane: 'optimistic' }],
    ['policyHash', { policyHash: `0x${'06'.repeat(32)}` }],
    ['executor', { executor: `0x${'07'.repeat(20)}` }],
  ])('covers %s', (_field, change) => {
    expect(termsHash({ ...exampleReceipt, ...change })).not.toBe(termsHash(exampleReceipt));
  });
});
