/** May an executor take this order on? Once it has signed, its lock is at stake for the order's time and terms. */
import { AssayError } from '../common/errors.js';
import { hashOrder, verifyOrderSignature } from '../receipts/index.js';
import type { Hex, JobOrder, Lane, ReceiptDomain } from '../receipts/index.js';

/** What an executor takes orders under. */
export interface ExecutorTerms {
  readonly lanes: readonly Lane[];
  readonly policies: readonly Hex[];
  /** The settlement contract's clock, which `order.deliverBy` is by. */
  readonly clock: () => Promise<number>;
}

/** @throws AssayError ORDER_MISMATCH, ORDER_REFUSED; what the terms' clock throws */
export async function checkAcceptable(
  order: JobOrder,
  signature: Hex,
  under: { readonly executor: Hex; readonly domain: ReceiptDomain; readonly terms: ExecutorTerms | undefined },
): Promise<void> {
  const { executor, domain, terms } = under;
  const orderHash = hashOrder(order, domain);
  if (order.executor !== executor) {
    const message = `order ${orderHash} names executor ${order.executor}, this node is ${executor}`;
    throw new AssayError('ORDER_MISMATCH', message, { meta: { expected: executor, found: order.executor } });
  }
  const refused = (why: string): AssayError =>
    new AssayError('ORDER_REFUSED', `executor ${executor} does not take order ${orderHash}: ${why}`, {
      meta: { orderHash, executor },
    });
  if (terms === undefined) throw refused('it was started without terms to take orders under');
  if (!terms.lanes.includes(order.lane))
    throw refused(`it works in the lanes ${terms.lanes.join(', ')}, not ${order.lane}`);
  if (!terms.policies.includes(order.policyHash)) throw refused(`it does not work under policy ${order.policyHash}`);
  const signed = await verifyOrderSignature(order, signature, domain);
  if (signed.verdict !== 'valid') throw refused(`signature of the requester: ${signed.reason}`);
  const now = await terms.clock();
  if (now > order.deliverBy) throw refused(`it was due by ${order.deliverBy}, and it is ${now}`);
}
