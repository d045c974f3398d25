/**
 * The order behind a receipt, from the chain alone. Escrow keeps an order's hash and what it needs of its terms; whoever
 * kills or settles a claim must say the whole order again.
 *
 *   1. OrderOpened names requester and executor, and the transaction that opened the order.
 *   2. Anywhere in what that transaction's calls were given, thirteen words that begin with these two accounts and have
 *      the order's hash are the order. A call through another contract (an account with code, a bundle of calls) hands
 *      them on as they are; first the transaction's own calldata is searched, then the calls within it, where the node can
 *      trace them.
 */
import { type Log, type Provider } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { hashOrder, ORDER_TYPES } from '../../receipts/eip712.js';
import { LANES, type Hex, type JobOrder, type Lane, type ReceiptDomain } from '../../receipts/types.js';
import { escrowInterface } from '../../verifier-contracts/escrow-client.js';

const WORD_DIGITS = 64;
const FIELDS = ORDER_TYPES['JobOrder']!;

/** What an order says, where it is read. */
export interface OrderPlace {
  readonly provider: Provider;
  readonly domain: ReceiptDomain;
  readonly escrow: Hex;
  readonly fromBlock: number;
}

/**
 * @returns null where no call that this node shows holds the order
 * @throws AssayError CHAIN_UNAVAILABLE, ORDER_UNKNOWN where it was never opened
 */
export async function readOrder(place: OrderPlace, orderHash: Hex): Promise<JobOrder | null> {
  const { provider, escrow, fromBlock } = place;
  const topics = escrowInterface.encodeFilterTopics('OrderOpened', [orderHash]);
  const log = (await provider.getLogs({ address: escrow, topics, fromBlock, toBlock: 'latest' })).at(-1);
  if (log === undefined) throw new AssayError('ORDER_UNKNOWN', `order ${orderHash} was not opened in ${escrow}`);
  const transaction = await provider.getTransaction(log.transactionHash);
  return (
    orderIn(transaction?.data ?? '0x', orderHash, log, place.domain) ??
    firstOf(await innerCalls(provider, log.transactionHash), (data) => orderIn(data, orderHash, log, place.domain))
  );
}

/** Searched for at every byte: how the words are aligned is the sender's choice. */
export function orderIn(
  data: string,
  orderHash: Hex,
  opened: Pick<Log, 'topics'>,
  domain: ReceiptDomain,
): JobOrder | null {
  const head = opened.topics[2]!.slice(2) + opened.topics[3]!.slice(2);
  for (let at = data.indexOf(head); at >= 0; at = data.indexOf(head, at + 1)) {
    const words = data.slice(at, at + FIELDS.length * WORD_DIGITS);
    const order = words.length === FIELDS.length * WORD_DIGITS ? orderOfWords(words) : null;
    if (order !== null && hashOrder(order, domain) === orderHash) return order;
  }
  return null;
}

/** Null where a word is more than its field holds. */
function orderOfWords(words: string): JobOrder | null {
  const order: Record<string, unknown> = {};
  for (const [i, { name, type }] of FIELDS.entries()) {
    const word = words.slice(i * WORD_DIGITS, (i + 1) * WORD_DIGITS);
    const bits = type === 'address' ? 160 : type === 'bytes32' ? 256 : Number(type.slice('uint'.length));
    if (BigInt(`0x${word}`) >> BigInt(bits) !== 0n) return null;
    if (!type.startsWith('uint')) order[name] = `0x${word.slice(WORD_DIGITS - bits / 4)}`;
    else order[name] = bits > 64 ? BigInt(`0x${word}`) : Number(`0x${word}`);
  }
  const lane = (Object.keys(LANES) as Lane[]).find((name) => LANES[name] === order['lane']);
  const safe = Number.isSafeInteger(order['deliverBy']) && Number.isSafeInteger(order['validUntil']);
  return lane === undefined || !safe ? null : ({ ...order, lane } as unknown as JobOrder);
}

interface TracedCall {
  readonly input?: string;
  readonly calls?: readonly TracedCall[];
}

/** None where the node cannot trace. */
async function innerCalls(provider: Provider, transactionHash: string): Promise<string[]> {
  const { send } = provider as unknown as { send?: (method: string, params: unknown[]) => Promise<unknown> };
  if (send === undefined) return [];
  try {
    const trace = await send.call(provider, 'debug_traceTransaction', [transactionHash, { tracer: 'callTracer' }]);
    const inputs: string[] = [];
    const visit = ({ input, calls = [] }: TracedCall): void => {
      if (input !== undefined) inputs.push(input);
      calls.forEach(visit);
    };
    visit(trace as TracedCall);
    return inputs;
  } catch {
    return [];
  }
}

function firstOf<T, R>(list: readonly T[], find: (one: T) => R | null): R | null {
  for (const one of list) {
    const found = find(one);
    if (found !== null) return found;
  }
  return null;
}
