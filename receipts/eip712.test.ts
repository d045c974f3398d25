import { Wallet } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  domainSeparator,
  hashAcceptance,
  hashCancellation,
  hashNodeRegistration,
  hashOpening,
  hashOrder,
  hashReceipt,
  receiptStructHash,
} from './eip712.js';
import {
  recoverAcceptanceSigner,
  recoverCancellationSigner,
  recoverOpeningSigner,
  recoverOrderSigner,
  recoverReceiptSigner,
  recoverRegistrationSigner,
  signAcceptance,
  signCancellation,
  signNodeRegistration,
  signOpening,
  signOrder,
  signReceipt,
  verifyAcceptance,
} from './signature.js';
import { eip712Cases, exampleDomain, exampleOrder, exampleReceipt } from './vectors/read-vectors.js';
import type { JobOrder, Receipt } from './types.js';

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

  it.each(eip712Cases.map((c) => [c.receipt.lane, c] as const))(
    '%s: acceptance, cancellation, registration',
    async (_lane, c) => {
      const { order, domain, registration } = c;
      const [requester, executor] = [new Wallet(c.requesterKey), new Wallet(c.executorKey)];
      expect(hashAcceptance(c.orderDigest, domain)).toBe(c.acceptanceDigest);
      expect(hashCancellation(c.orderDigest, domain)).toBe(c.cancellationDigest);
      expect(hashNodeRegistration(registration, domain)).toBe(c.registrationDigest);
      expect(await signAcceptance(order, domain, executor)).toBe(c.acceptance);
      expect(await signCancellation(order, domain, requester)).toBe(c.cancellation);
      expect(await signNodeRegistration(registration, domain, executor)).toBe(c.registrationSignature);
      expect(recoverAcceptanceSigner(order, c.acceptance, domain)).toBe(order.executor);
      expect(recoverCancellationSigner(order, c.cancellation, domain)).toBe(order.requester);
      expect(recoverRegistrationSigner(registration, c.registrationSignature, domain)).toBe(registration.signer);
      expect(verifyAcceptance(order, c.acceptance, domain)).toEqual({ verdict: 'valid' });
    },
  );

  it.each(eip712Cases.map((c) => [c.receipt.lane, c] as const))('%s: openings', async (_lane, c) => {
    expect(hashOpening(c.opening, c.domain)).toBe(c.openingDigest);
    expect(await signOpening(c.opening, c.domain, new Wallet(c.executorKey))).toBe(c.openingSignature);
    expect(recoverOpeningSigner(c.opening, c.openingSignature, c.domain)).toBe(c.receipt.executor);
    for (const field of ['orderHash', 'batchHash', 'nodeId', 'contentHash'] as const) {
      const other = { ...c.opening, [field]: `0x${'01'.repeat(32)}` as const };
      expect(hashOpening(other, c.domain)).not.toBe(c.openingDigest);
    }
    expect(hashOpening({ ...c.opening, index: c.opening.index === 0 ? 1 : 0 }, c.domain)).not.toBe(c.openingDigest);
  });

  it('one consent is never another: order, acceptance and cancellation of one order have three digests', () => {
    const [c] = eip712Cases;
    expect(new Set([c!.orderDigest, c!.acceptanceDigest, c!.cancellationDigest]).size).toBe(3);
    for (const signature of [c!.orderSignature, c!.cancellation, c!.receiptSignature]) {
      expect(verifyAcceptance(c!.order, signature, c!.domain).verdict).toBe('invalid');
    }
    expect(verifyAcceptance({ ...c!.order, price: 1n }, c!.acceptance, c!.domain).verdict).toBe('invalid');
    expect(verifyAcceptance(c!.order, c!.acceptance, { ...c!.domain, chainId: 5n }).verdict).toBe('invalid');
    expect(verifyAcceptance(c!.order, '0x1234', c!.domain).verdict).toBe('invalid');
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

  const reordered: { [F in keyof JobOrder]: JobOrder[F] } = {
    requester: `0x${'08'.repeat(20)}`,
    executor: `0x${'07'.repeat(20)}`,
    modelDigest: `0x${'02'.repeat(32)}`,
    inputRoot: `0x${'03'.repeat(32)}`,
    items: exampleOrder.items + 1,
    lane: 'optimistic',
    policyHash: `0x${'06'.repeat(32)}`,
    price: exampleOrder.price + 1n,
    surcharge: exampleOrder.surcharge + 1n,
    outputBytes: exampleOrder.outputBytes + 1,
    deliverBy: exampleOrder.deliverBy + 1,
    validUntil: exampleOrder.validUntil + 1,
    nonce: exampleOrder.nonce + 1n,
  };
  it.each(Object.keys(exampleOrder) as (keyof JobOrder)[])('the order hash covers %s', (field) => {
    expect(reordered[field]).not.toBe(exampleOrder[field]);
    const other = { ...exampleOrder, [field]: reordered[field] };
    expect(hashOrder(other, exampleDomain)).not.toBe(hashOrder(exampleOrder, exampleDomain));
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
