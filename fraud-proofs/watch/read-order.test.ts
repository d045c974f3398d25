import { concat, Wallet, zeroPadValue } from 'ethers';
import { describe, expect, it } from 'vitest';
import { hashOrder } from '../../receipts/eip712.js';
import { signAcceptance, signOrder } from '../../receipts/signature.js';
import type { Hex, JobOrder, ReceiptDomain } from '../../receipts/types.js';
import { escrowInterface } from '../../verifier-contracts/escrow-client.js';
import { orderValue } from '../../receipts/eip712.js';
import { orderIn } from './read-order.js';

const domain: ReceiptDomain = { chainId: 31337n, verifyingContract: `0x${'c0'.repeat(20)}` };
const wallet = Wallet.createRandom();
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
  deliverBy: 4_000_000_000,
  validUntil: 4_000_000_000,
  nonce: 2n ** 255n,
};
const hash = hashOrder(order, domain);
const log = { topics: ['0x', hash, zeroPadValue(order.requester, 32), zeroPadValue(order.executor, 32)] };

async function opening(orders: readonly JobOrder[]): Promise<Hex> {
  const values = await Promise.all(
    orders.map(async (one) => ({
      order: orderValue(one),
      requesterSignature: await signOrder(one, domain, wallet),
      executorSignature: await signAcceptance(one, domain, wallet),
    })),
  );
  return escrowInterface.encodeFunctionData('open', [values]) as Hex;
}

describe('an order in calldata', () => {
  it('is found among others, and inside of the call of another contract, however it is aligned', async () => {
    const data = await opening([{ ...order, nonce: 1n }, order, { ...order, nonce: 2n }]);
    expect(orderIn(data, hash, log, domain)).toEqual(order);
    for (const before of [1, 4, 31, 68]) {
      const wrapped = concat([new Uint8Array(before).fill(0xee), data, '0x1234']);
      expect(orderIn(wrapped, hash, log, domain)).toEqual(order);
    }
  });

  it('is not found where it is not: another nonce, cut off, a lane that does not exist', async () => {
    expect(orderIn(await opening([{ ...order, nonce: 1n }]), hash, log, domain)).toBeNull();
    const data = await opening([order]);
    const end = data.indexOf((2n ** 255n).toString(16));
    expect(orderIn(data.slice(0, end + 10), hash, log, domain)).toBeNull();
    const lane = data.replace(`${'0'.repeat(63)}2${'33'.repeat(32)}`, `${'0'.repeat(63)}9${'33'.repeat(32)}`);
    expect(lane).not.toBe(data);
    expect(orderIn(lane, hash, log, domain)).toBeNull();
    expect(orderIn('0x', hash, log, domain)).toBeNull();
  });

  it('is passed over where its words hold more than its fields', async () => {
    const head = log.topics[2]!.slice(2) + log.topics[3]!.slice(2);
    expect(orderIn(`0x${head}${'ff'.repeat(11 * 32)}`, hash, log, domain)).toBeNull();
  });
});
