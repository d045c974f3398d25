/**
 * The order behind a receipt, from the chain alone. Escrow keeps an order's hash and what it needs of its terms; whoever
 * kills or settles a claim must say the whole order again. OrderOpened says it, whoever opened the order and how.
 */
import type { Provider, Result } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { hashOrder, ORDER_TYPES } from '../../receipts/eip712.js';
import { LANES, type Hex, type JobOrder, type Lane, type ReceiptDomain } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { settlementErrors } from '../../verifier-contracts/contract-client.js';
import { escrowInterface } from '../../verifier-contracts/escrow-client.js';

/** Where an order was opened. */
export interface OrderPlace {
  readonly provider: Provider;
  readonly domain: ReceiptDomain;
  readonly escrow: Hex;
  readonly fromBlock: number;
}

/**
 * @returns null where the node tells another order than the one of that hash
 * @throws AssayError CHAIN_UNAVAILABLE, ORDER_UNKNOWN where it was never opened
 */
export async function readOrder(
  { provider, domain, escrow, fromBlock }: OrderPlace,
  orderHash: Hex,
): Promise<JobOrder | null> {
  const topics = escrowInterface.encodeFilterTopics('OrderOpened', [orderHash]);
  const what = `the opening of order ${orderHash}`;
  const logs = await provider
    .getLogs({ address: escrow, topics, fromBlock, toBlock: 'latest' })
    .catch((error: unknown) => Promise.reject(chainError(error, settlementErrors, what)));
  const log = logs.at(-1);
  if (log === undefined) throw new AssayError('ORDER_UNKNOWN', `order ${orderHash} was not opened in ${escrow}`);
  const order = orderOf(escrowInterface.parseLog(log)!.args['order'] as Result);
  return order !== null && hashOrder(order, domain) === orderHash ? order : null;
}

/** Null where it has no lane. */
function orderOf(value: Result): JobOrder | null {
  const order: Record<string, unknown> = {};
  for (const { name, type } of ORDER_TYPES['JobOrder']!) {
    const field = value[name] as string | bigint;
    if (typeof field === 'string') order[name] = field.toLowerCase();
    // Times have 48 bits in an order that was opened.
    else order[name] = Number(type.slice('uint'.length)) > 64 ? field : Number(field);
  }
  const lane = (Object.keys(LANES) as Lane[]).find((name) => LANES[name] === order['lane']);
  return lane === undefined ? null : ({ ...order, lane } as unknown as JobOrder);
}
