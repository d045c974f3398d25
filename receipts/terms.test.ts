import { describe, expect, it } from 'vitest';
import { hashOrder } from './eip712.js';
import { checkTerms } from './terms.js';
import type { JobOrder, Receipt } from './types.js';
import { exampleDomain, exampleOrder, exampleReceipt } from './vectors/read-vectors.js';

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
    issuedAt: exampleOrder.deliverBy + 1,
  };
  it.each(Object.keys(other) as (keyof Receipt)[])('refuses another %s', (field) => {
    const verdict = checkTerms({ ...exampleReceipt, [field]: other[field] }, exampleOrder, exampleDomain);
    expect(verdict).toMatchObject({ verdict: 'invalid', reason: expect.stringContaining(field) });
  });

  it('refuses an order for another chain', () => {
    const order: JobOrder = exampleOrder;
    const elsewhere = { ...exampleDomain, chainId: 5n };
    expect(hashOrder(order, elsewhere)).not.toBe(exampleReceipt.orderHash);
    expect(checkTerms(exampleReceipt, order, elsewhere).verdict).toBe('invalid');
  });
});
