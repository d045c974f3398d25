import { inputRoot } from '../../graph/index.js';
import type { Bundle } from '../../graph/index.js';
import type { Hex, JobOrder, Receipt, ReceiptDomain } from '../../receipts/index.js';
import type { ExecutionResult } from '../node.js';

export const DOMAIN: ReceiptDomain = { chainId: 31337n, verifyingContract: `0x${'c0'.repeat(20)}` };

/** An order for a bundle and an input; two orders differ in their nonce. */
export function orderFor(bundle: Bundle, inputs: readonly Int32Array[], items: number, nonce: bigint): JobOrder {
  return {
    requester: `0x${'0a'.repeat(20)}`,
    executor: `0x${'0e'.repeat(20)}`,
    modelDigest: bundle.digest as Hex,
    inputRoot: inputRoot(bundle.graph, inputs, items) as Hex,
    items,
    lane: 'sampled',
    policyHash: `0x${'0b'.repeat(32)}`,
    price: 1000n,
    surcharge: 0n,
    outputBytes: 65_536,
    deliverBy: 2_000_000_000,
    validUntil: 2_000_000_000,
    nonce,
  };
}

export function receiptFor(order: JobOrder, result: ExecutionResult, executor: Hex): Receipt {
  const { orderHash, modelDigest, inputRoot: input, outputRoot, traceRoot, opCount, items } = result;
  const { lane, policyHash, price } = order;
  const roots = { orderHash, modelDigest, inputRoot: input, outputRoot, traceRoot, opCount };
  return { ...roots, items, amount: price, lane, policyHash, executor, issuedAt: 1_900_000_000 };
}
