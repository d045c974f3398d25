import { makeError, Wallet, type Provider } from 'ethers';
import { beforeAll, describe, expect, it } from 'vitest';
import { recoverReceiptSigner, signReceipt, verifyOrderSignature, verifyReceiptSignature } from './signature.js';
import type { Hex, Receipt } from './types.js';
import { eip712Cases, exampleDomain, exampleReceipt } from './vectors/read-vectors.js';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const signature = eip712Cases[0]!.receiptSignature;

/** The other signature of the same point: s mirrored, v flipped. */
function mirrored(given: Hex): Hex {
  const s = ORDER - BigInt(`0x${given.slice(66, 130)}`);
  return `${given.slice(0, 66)}${s.toString(16).padStart(64, '0')}${given.endsWith('1b') ? '1c' : '1b'}` as Hex;
}

describe('recoverReceiptSigner', () => {
  it('recovers the executor, and somebody else for another receipt, chain or contract', () => {
    expect(recoverReceiptSigner(exampleReceipt, signature, exampleDomain)).toBe(exampleReceipt.executor);
    const others: Hex[] = [
      recoverReceiptSigner({ ...exampleReceipt, items: 9 }, signature, exampleDomain),
      recoverReceiptSigner(exampleReceipt, signature, { ...exampleDomain, chainId: 1n }),
      recoverReceiptSigner(exampleReceipt, signature, { ...exampleDomain, verifyingContract: `0x${'22'.repeat(20)}` }),
    ];
    expect(others).not.toContain(exampleReceipt.executor);
  });

  it.each<[string, string, string]>([
    ['the mirrored s', mirrored(signature), 'lower half'],
    ['64 bytes (EIP-2098)', signature.slice(0, -2), '65 bytes'],
    ['66 bytes', `${signature}00`, '65 bytes'],
    ['v = 0', `${signature.slice(0, -2)}00`, 'v 27 or 28'],
    ['v = 29', `${signature.slice(0, -2)}1d`, 'v 27 or 28'],
    ['upper case', signature.toUpperCase().replace('0X', '0x'), '65 bytes'],
    ['no hex', 'signature', '65 bytes'],
    ['r = 0', `0x${'00'.repeat(32)}${signature.slice(66)}`, 'no point'],
  ])('refuses %s', (_name, bad, why) => {
    expect(() => recoverReceiptSigner(exampleReceipt, bad as Hex, exampleDomain)).toThrow(
      expect.objectContaining({ code: 'SIGNATURE_MALFORMED', message: expect.stringContaining(why) }),
    );
  });
});

/** What ethers makes of an error that a node gives to `eth_call`, apart from its data. */
const callFailed = {
  action: 'call',
  reason: null,
  transaction: { to: null, data: '0x' },
  invocation: null,
  revert: null,
} as const;

describe('verifyReceiptSignature', () => {
  const account: Hex = `0x${'c0'.repeat(20)}`;
  const receipt: Receipt = { ...exampleReceipt, executor: account };
  let byOwner: Hex;
  beforeAll(async () => {
    byOwner = await signReceipt(receipt, exampleDomain, new Wallet(eip712Cases[1]!.executorKey));
  });
  const provider = (answers: { getCode: () => Promise<string>; call?: () => Promise<string> }): Provider =>
    answers as unknown as Provider;
  const verify = (of: Receipt, given: Hex, at?: Provider) =>
    verifyReceiptSignature(of, given, exampleDomain, at, 50).then((v) => v.verdict);
  const magic = `0x1626ba7e${'0'.repeat(56)}`;

  it('accepts the executor by key, without asking anybody', async () => {
    expect(await verify(exampleReceipt, signature)).toBe('valid');
  });

  it('without a provider, a signature that no key explains is undetermined, never valid', async () => {
    expect(await verify(receipt, byOwner)).toBe('undetermined');
    expect(await verify(exampleReceipt, mirrored(signature))).toBe('undetermined');
  });

  it('no contract at the executor: invalid, the mirrored signature too', async () => {
    const eoa = provider({ getCode: () => Promise.resolve('0x') });
    expect(await verify(receipt, byOwner, eoa)).toBe('invalid');
    expect(await verify(exampleReceipt, mirrored(signature), eoa)).toBe('invalid');
  });

  it('a contract decides by the exact magic value', async () => {
    const contract = (answer: string) =>
      provider({ getCode: () => Promise.resolve('0x60'), call: () => Promise.resolve(answer) });
    expect(await verify(receipt, byOwner, contract(magic))).toBe('valid');
    expect(await verify(receipt, '0x1234' as Hex, contract(magic))).toBe('valid');
    for (const wrong of ['0x', '0x1626ba7e', `0x${'0'.repeat(63)}1`, `${magic.slice(0, -1)}1`, `${magic}00`]) {
      expect(await verify(receipt, byOwner, contract(wrong)), wrong).toBe('invalid');
    }
  });

  it('a contract that reverts refuses', async () => {
    const reverting = provider({
      getCode: () => Promise.resolve('0x60'),
      call: () => Promise.reject(makeError('reverted', 'CALL_EXCEPTION', { ...callFailed, data: '0x' })),
    });
    expect(await verify(receipt, byOwner, reverting)).toBe('invalid');
  });

  it('a node that cannot answer the call is an outage, though ethers calls it an exception of the call', async () => {
    const answering = (error: { code: number; message: string }) =>
      provider({
        getCode: () => Promise.resolve('0x60'),
        call: () =>
          Promise.reject(
            makeError('missing revert data', 'CALL_EXCEPTION', { ...callFailed, data: null, info: { error } }),
          ),
      });
    expect(await verify(receipt, byOwner, answering({ code: -32000, message: 'header not found' }))).toBe(
      'undetermined',
    );
    expect(await verify(receipt, byOwner, answering({ code: -32000, message: 'execution reverted' }))).toBe('invalid');
    expect(await verify(receipt, byOwner, answering({ code: 3, message: '' }))).toBe('invalid');
  });

  it('an outage is undetermined', async () => {
    const down = () => Promise.reject(new Error('ECONNREFUSED'));
    const never = () => new Promise<string>(() => undefined);
    expect(await verify(receipt, byOwner, provider({ getCode: down }))).toBe('undetermined');
    expect(await verify(receipt, byOwner, provider({ getCode: never }))).toBe('undetermined');
    const code = () => Promise.resolve('0x60');
    expect(await verify(receipt, byOwner, provider({ getCode: code, call: down }))).toBe('undetermined');
    expect(await verify(receipt, byOwner, provider({ getCode: code, call: never }))).toBe('undetermined');
  });

  it('orders are checked the same way', async () => {
    const c = eip712Cases[0]!;
    expect(await verifyOrderSignature(c.order, c.orderSignature, c.domain)).toEqual({ verdict: 'valid' });
    const eoa = provider({ getCode: () => Promise.resolve('0x') });
    expect((await verifyOrderSignature(c.order, signature, c.domain, eoa)).verdict).toBe('invalid');
  });
});
