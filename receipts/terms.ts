import { AbiCoder, keccak256 } from 'ethers';
import { checkHex, checkUint, hashOrder, laneNumber } from './eip712.js';
import type { Hex, JobOrder, Receipt, ReceiptDomain, Verdict } from './types.js';

/** What a receipt must have in common with its order. */
export type Terms = Pick<
  JobOrder & Receipt,
  'modelDigest' | 'inputRoot' | 'items' | 'lane' | 'policyHash' | 'executor'
>;

/** Hash of the terms, by which the contract compares receipt and order. @throws AssayError RECEIPT_FIELD_INVALID */
export function termsHash(terms: Terms): Hex {
  return keccak256(
    AbiCoder.defaultAbiCoder().encode(
      ['bytes32', 'bytes32', 'uint256', 'uint256', 'bytes32', 'address'],
      [
        checkHex('terms', 'modelDigest', terms.modelDigest, 32),
        checkHex('terms', 'inputRoot', terms.inputRoot, 32),
        checkUint('terms', 'items', terms.items, 32),
        laneNumber('terms', terms.lane),
        checkHex('terms', 'policyHash', terms.policyHash, 32),
        checkHex('terms', 'executor', terms.executor, 20),
      ],
    ),
  ) as Hex;
}

/**
 * Does the receipt deliver what the order asked for? The order's hash alone is not enough: an executor may sign an
 * honest receipt for a cheaper model or another input and name this order in it, and a stranger may sign one for an
 * order that was never his. Whether it was in time the chain decides, by its clock and when it binds the receipt; where
 * `issuedAt` lies behind `deliverBy` the receipt alone leaves that open.
 * @throws AssayError RECEIPT_FIELD_INVALID
 */
export function checkTerms(receipt: Receipt, order: JobOrder, domain: ReceiptDomain): Verdict {
  const orderHash = hashOrder(order, domain);
  if (receipt.orderHash !== orderHash) {
    return { verdict: 'invalid', reason: `orderHash: expected ${orderHash}, found ${receipt.orderHash}` };
  }
  for (const field of ['executor', 'modelDigest', 'inputRoot', 'items', 'lane', 'policyHash'] as const) {
    if (receipt[field] !== order[field]) {
      return { verdict: 'invalid', reason: `${field}: ordered ${order[field]}, receipt says ${receipt[field]}` };
    }
  }
  if (receipt.amount > order.price) {
    return { verdict: 'invalid', reason: `amount: at most ${order.price} ordered, receipt says ${receipt.amount}` };
  }
  if (receipt.issuedAt > order.deliverBy) {
    return {
      verdict: 'undetermined',
      reason: `issuedAt: due by ${order.deliverBy}, receipt says ${receipt.issuedAt}; only the chain knows whether it bound in time`,
    };
  }
  return { verdict: 'valid' };
}
