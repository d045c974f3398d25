import type { Provider } from 'ethers';
import { describe, expect, it } from 'vitest';
import { hashOrder, orderValue } from '../../receipts/eip712.js';
import type { JobOrder, ReceiptDomain } from '../../receipts/types.js';
import { escrowInterface } from '../../verifier-contracts/escrow-client.js';
import { readOrder } from './read-order.js';

const domain: ReceiptDomain = { chainId: 31337n, verifyingContract: `0x${'c0'.repeat(20)}` };
const order: JobOrder = {
  requester: `0x${'0a'.repeat(20)}`,
  executor: `0x${'0e'.repeat(20)}`,
  modelDigest: `0x${'11'.repeat(32)}`,
  inputRoot: `0x${'22'.repeat(32)}`,
  items: 3,
  lane: 'optimistic',
  policyHash: `0x${'33'.repeat(32)}`,
  price: 10n ** 30n,
  surcharge: 5n,
  outputBytes: 1_024,
  deliverBy: 2 ** 48 - 1,
  validUntil: 2 ** 48 - 1,
  nonce: 2n ** 255n,
};
const hash = hashOrder(order, domain);

/** A node that has these logs of the opening; the real one is in every drill. */
const place = (told: readonly JobOrder[]) => ({
  domain,
  escrow: `0x${'e5'.repeat(20)}` as const,
  fromBlock: 0,
  provider: {
    getLogs: () =>
      Promise.resolve(
        told.map((one) => {
          const values = [hash, one.requester, one.executor, 7n, 9n, orderValue(one)];
          return escrowInterface.encodeEventLog('OrderOpened', values);
        }),
      ),
  } as unknown as Provider,
});

describe('the order of an opening', () => {
  it('is read back as it was signed', async () => {
    expect(await readOrder(place([order]), hash)).toEqual(order);
  });

  it('is none where the node tells another one, or nothing', async () => {
    expect(await readOrder(place([{ ...order, nonce: 1n }]), hash)).toBeNull();
    await expect(readOrder(place([]), hash)).rejects.toMatchObject({ code: 'ORDER_UNKNOWN' });
  });
});
