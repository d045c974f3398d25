import { Wallet } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { domainSeparator, hashOrder, hashReceipt, receiptStructHash } from './eip712.js';
import { recoverOrderSigner, recoverReceiptSigner, signOrder, signReceipt } from './signature.js';
import { eip712Cases, exampleDomain, exampleReceipt } from './vectors/read-vectors.js';
import type { Receipt } from './types.js';

describe('EIP-712 vectors', () => {
  it.each(eip712Cases.map((c) => [c.receipt.lane, c] as const))('%s: hashes and signatures', async (_lane, c) => {
    expect(domainSeparator(c.domain)).toBe(c.domainSeparator);
    expect(hashOrder(c.order, c.domain)).toBe(c.orderDigest);
    expect(receiptStructHash(c.receipt)).toBe(c.receiptStructHash);
    expect(hashReceipt(c.receipt, c.domain)).toBe(c.receiptDigest);
    expect(await signOrder(c.order, c.domain, new Wallet(c.requesterKey))).toBe(c.orderSignature);
    expect(await signReceipt(c.receipt, c.domain, new Wallet(c.executorKey))).toBe(c.receiptSignature);
    expect(recoverOrderSigner(c.order, c.orderSignature, c.domain)).toBe(c.order.requester);
    expect(recoverReceiptSigner(c.receipt, c.receiptSignature, c.domain)).toBe(c.receipt.executor);
  });
});

describe('binding', () => {
  const changed: { [F in keyof Receipt]: Receipt[F] } = {
    ...exampleReceipt,
    orderHash: `0x${'01'.repeat(32)}`,
    modelDigest: `0x${'02'.repeat(32)}`,
    inputRoot: `0x${'03'.repeat(32)}`,
    outputRoot: `0x${'04'.repeat(32)}`,
    traceRoot: `0x${'05'.repeat(32)}`,
    opCount: exampleReceipt.opCount + 1,
    items: exampleReceipt.items + 1,
    amount: exampleReceipt.amount + 1n,
    lane: 'optimistic',
    policyHash: `0x${'06'.repeat(32)}`,
    executor: `0x${'07'.repeat(20)}`,
    issuedAt: exampleReceipt.issuedAt + 1,
  };
  it.each(Object.keys(exampleReceipt) as (keyof Receipt)[])('the receipt hash covers %s', (field) => {
    expect(changed[field]).not.toBe(exampleReceipt[field]);
    const other = { ...exampleReceipt, [field]: changed[field] };
    expect(receiptStructHash(other)).not.toBe(receiptStructHash(exampleReceipt));
  });

  it('the digest covers chain and contract, the struct hash neither', () => {
    const elsewhere = { ...exampleDomain, chainId: exampleDomain.chainId + 1n };
    const another = { ...exampleDomain, verifyingContract: `0x${'99'.repeat(20)}` as const };
    const digests = [exampleDomain, elsewhere, another].map((domain) => hashReceipt(exampleReceipt, domain));
    expect(new Set(digests).size).toBe(3);
  });
});

describe('fields out of range are named', () => {
  const bad: [keyof Receipt, unknown][] = [
    ['orderHash', '0x12'],
    ['orderHash', `0x${'AB'.repeat(32)}`],
    ['outputRoot', undefined],
    ['executor', `0x${'07'.repeat(32)}`],
    ['opCount', 2 ** 32],
    ['items', -1],
    ['items', 1.5],
    ['amount', 2n ** 256n],
    ['amount', '5'],
    ['lane', 'sample'],
    ['lane', 'toString'],
    ['issuedAt', 2 ** 53],
  ];
  it.each(bad)('%s = %s', (field, value) => {
    const receipt = { ...exampleReceipt, [field]: value } as Receipt;
    expect(() => receiptStructHash(receipt)).toThrow(
      expect.objectContaining({ code: 'RECEIPT_FIELD_INVALID', meta: expect.objectContaining({ field }) }),
    );
  });

  it('accepts every value in range (random)', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 2 ** 32 - 1 }),
        fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
        fc.nat({ max: Number.MAX_SAFE_INTEGER }),
        (opCount, amount, issuedAt) =>
          /^0x[0-9a-f]{64}$/.test(receiptStructHash({ ...exampleReceipt, opCount, amount, issuedAt })),
      ),
      { numRuns: 200 },
    );
  });
});
