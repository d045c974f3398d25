import { AssayError } from '../../common/errors.js';
import type { OpenFault, OrderState } from '../../verifier-contracts/escrow-client.js';
import type { StoredOrder } from './load-order.js';

/** What keeps an order from being opened for good, and its mend. */
const FAULTS: Partial<Record<OpenFault, readonly [what: string, mend: string]>> = {
  known: ['it was opened before', 'Read its state on chain; for another run, sign an order with another nonce.'],
  expired: [
    'it was valid until a time that has passed',
    'Sign a new order with a later `validUntil`, and deposit what it costs before that.',
  ],
  'deliver-too-soon': [
    "its `deliverBy` is nearer than the policy's least time to deliver",
    'Sign a new order with a later `deliverBy`; a quote says from when on.',
  ],
  policy: ['its policy takes no new orders', 'Ask for a quote, and sign a new order under the policy that it names.'],
  lane: [
    'its policy has nobody to judge that lane',
    'Ask for a quote, and sign a new order for the lane that it names.',
  ],
  size: ['it has no items, or more than 65,536 bytes of output', 'Split it into several orders.'],
  amount: ['its price, surcharge or lock do not fit 128 bits', 'Sign a new order with a lower price.'],
  node: [
    'its executor is not registered, or retired or suspended on chain',
    'Sign a new order for another executor; a quote names one.',
  ],
  'requester-signature': ['its requester has not signed it', 'Sign the order with the account that it names.'],
  'executor-signature': ['its executor has not accepted it', 'Sign a new order for another executor.'],
};

/** @param state where the order stands on chain already */
export function openFault(
  { orderHash }: Pick<StoredOrder, 'orderHash'>,
  fault: OpenFault,
  state?: OrderState,
): AssayError {
  const [what, mend] = FAULTS[fault] ?? [`the contract says ${fault}`, 'Sign a new order.'];
  const where = state === undefined ? '' : ` (it is ${state})`;
  return new AssayError('ORDER_UNOPENABLE', `Order ${orderHash} cannot be opened: ${what}${where}.`, {
    mend,
    meta: { orderHash, fault },
  });
}
