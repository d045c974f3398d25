import { hashOrder } from './eip712.js';
import type { JobOrder, Receipt, ReceiptDomain, Verdict } from './types.js';

/**
 * Does the receipt deliver what the order asked for? The order's hash alone is not enough: an executor may sign an
 * honest receipt for a cheaper model or another input and name this order in it.
 * @throws AssayError RECEIPT_FIELD_INVALID
 */
export function checkTerms(receipt: Receipt, order: JobOrder, domain: ReceiptDomain): Verdict {
  const orderHash = hashOrder(order, domain);
  if (receipt.orderHash !== orderHash) {
    return { verdict: 'invalid', reason: `orderHash: expected ${orderHash}, found ${receipt.orderHash}` };
  }
  for (const field of ['modelDigest', 'inputRoot', 'items', 'lane', 'policyHash'] as const) {
    if (receipt[field] !== order[field]) {
      return { verdict: 'invalid', reason: `${field}: ordered ${order[field]}, receipt says ${receipt[field]}` };
    }
  }
  if (receipt.amount > order.price) {
    return { verdict: 'invalid', reason: `amount: at most ${order.price} ordered, receipt says ${receipt.amount}` };
  }
  if (receipt.issuedAt > order.deliverBy) {
    return { verdict: 'invalid', reason: `issuedAt: due by ${order.deliverBy}, receipt says ${receipt.issuedAt}` };
  }
  return { verdict: 'valid' };
}
