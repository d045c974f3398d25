/**
 * Step `expire`: an order that was opened and has ended without a receipt on chain gets its money back, and the requester
 * the no-show fee, once the chain's clock has passed its `deliverBy`. The outcome is known long before.
 */
import type { Hex } from '../../receipts/types.js';
import type { OrderState } from '../../verifier-contracts/escrow-client.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import { adopt, findElsewhere } from './adopt.js';
import type { StageContext } from './context.js';
import { loadOrder } from './load-order.js';
import { isDeepEnough, performOnce, refusalOf } from './perform.js';
import { writeChainState } from './write-chain-state.js';
import { receiptFromJson, type ReceiptJson } from '../store/order-json.js';

/** Nothing can be done about an order in a batch that cannot be read: others see to it, in hours rather than blocks. */
const UNREADABLE_POLLS = 120;

export async function expireOrder(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, chain, pollMs } = context;
  const { order, orderHash } = await loadOrder(database, claim.subject);
  const head = await chain.blockNumber();
  const { state } = await chain.orderOf(orderHash);
  if (state === 'bound') return followed(context, orderHash);
  if (state !== 'open') return ended(context, orderHash, state, head);
  // Also after a reorganisation, or where this process was told of a time that the chain's newest block is behind.
  if ((await chain.clock()) <= order.deliverBy) return { kind: 'wait', forMs: 'when the chain says' };
  try {
    const mined = await performOnce(context, 'expire', orderHash, chain.expireCall(order), 'expire');
    if (mined === null || !(await isDeepEnough(context, mined))) return { kind: 'wait', forMs: pollMs };
    return ended(context, orderHash, (await chain.orderOf(orderHash)).state, mined.blockNumber);
  } catch (error) {
    // Ended, or bound, in the meantime: the next look tells which.
    if (refusalOf(error)?.name === 'OrderStateIs') return { kind: 'wait', forMs: pollMs };
    throw error;
  }
}

/** An order that was followed by its state alone has no outcome yet: the money says it. */
const OUTCOMES: Partial<Record<OrderState, 'accepted' | 'rejected'>> = { paid: 'accepted', slashed: 'rejected' };

const ended = ({ clock }: StageContext, orderHash: Hex, state: OrderState, block: number): StepEnd => ({
  kind: 'advance',
  next: 'done',
  write: async (tx) => {
    await writeChainState(tx, [{ orderHash, state }], block);
    const outcome = OUTCOMES[state] ?? 'failed';
    await tx.execute('UPDATE assay.orders SET outcome = $2, ended_at = $3 WHERE order_hash = $1 AND outcome IS NULL', [
      orderHash,
      outcome,
      clock(),
    ]);
  },
});

/** Somebody has committed the receipt after all, the executor itself perhaps. */
async function followed(context: StageContext, orderHash: Hex): Promise<StepEnd> {
  const { database, chain, clock, pollMs } = context;
  const [row] = await database.query<{ receipt_hash: Hex; receipt_json: ReceiptJson }>(
    'SELECT receipt_hash, receipt_json FROM assay.receipts WHERE order_hash = $1',
    [orderHash],
  );
  const receipts =
    row === undefined ? [] : [{ receiptHash: row.receipt_hash, receipt: receiptFromJson(row.receipt_json) }];
  const { copies, unreadable } = await findElsewhere(context, receipts);
  const [stuck] = unreadable;
  if (stuck !== undefined) return { kind: 'wait', forMs: UNREADABLE_POLLS * pollMs, error: stuck.error };
  const head = await chain.blockNumber();
  // Not a receipt that we know: whoever has it sees to it.
  if (copies.length === 0) return ended(context, orderHash, 'bound', head);
  return { kind: 'advance', next: 'batched', write: (tx) => adopt(tx, copies, clock()) };
}
