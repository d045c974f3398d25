/**
 * Step `pay`: the money goes where the chain's verdict says. Dead leaves are slashed at once; the others when their outputs
 * can no longer be demanded, which the contract itself says. Anybody may settle an order: what has ended is done, whoever
 * did it.
 */
import type { Hex } from '../../receipts/types.js';
import type { BoundOrder, OrderState } from '../../verifier-contracts/escrow-client.js';
import { failPoint } from '../fail-points.js';
import { orderFromJson, type OrderJson } from '../store/order-json.js';
import { fenced, type Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadBatch, type StoredBatch } from './load-batch.js';
import { performOnce, refusalOf } from './perform.js';
import { commitStands, reorganised } from './reorganised.js';
import { MOST_IN_CALL } from './seal-openings.js';
import { writeChainState } from './write-chain-state.js';

export const TERMINAL: readonly OrderState[] = ['paid', 'slashed', 'refunded'];

/** An order of the batch whose money is still in it. */
interface Unpaid extends BoundOrder {
  readonly orderHash: Hex;
  readonly dead: boolean;
}

export async function payBatch(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { chain, database, pollMs, confirmations } = context;
  const batch = await loadBatch(database, claim.subject);
  if (!(await commitStands(context, batch))) return reorganised(context, batch);
  const orders = await boundOrders(context, batch);
  const states = await statesOf(context, orders);
  const unpaid = orders.filter((_, i) => !TERMINAL.includes(states[i]!));
  if (unpaid.length > 0) {
    const dead = unpaid.filter((order) => order.dead);
    return payGroup(context, claim, batch, dead.length > 0 ? dead : unpaid);
  }
  const block = (await chain.blockNumber()) - confirmations + 1;
  const confirmed = await statesOf(context, orders, block);
  if (confirmed.some((state) => !TERMINAL.includes(state))) return { kind: 'wait', forMs: pollMs };
  failPoint('pay.before-state-stored');
  return {
    kind: 'advance',
    next: 'done',
    write: async (tx) => {
      const seen = orders.map(({ orderHash }, i) => ({ orderHash, state: confirmed[i]! }));
      await writeChainState(tx, seen, block);
      await tx.execute(`UPDATE assay.work SET step = 'done' WHERE subject = ANY($1::text[])`, [
        seen.map(({ orderHash }) => orderHash),
      ]);
    },
  };
}

/** Those of our orders that the batch binds; the rest is on its way elsewhere. */
async function boundOrders({ database }: StageContext, batch: StoredBatch): Promise<Unpaid[]> {
  const rows = await database.query<{ order_hash: Hex; order_json: OrderJson; chain_status: string | null }>(
    `SELECT o.order_hash, o.order_json, r.chain_status FROM assay.orders o
       JOIN assay.receipts r USING (order_hash) JOIN assay.work w ON w.subject = o.order_hash
      WHERE r.batch_hash = $1 AND w.step = 'batched' ORDER BY r.batch_index`,
    [batch.batchHash],
  );
  const header = batch.header!;
  return rows.map(({ order_hash: orderHash, order_json, chain_status }) => {
    const index = batch.receipts.findIndex(({ receipt }) => receipt.orderHash === orderHash);
    const { receipt } = batch.receipts[index]!;
    return { orderHash, order: orderFromJson(order_json), receipt, header, index, dead: chain_status === 'invalid' };
  });
}

async function statesOf({ chain }: StageContext, orders: readonly Unpaid[], block?: number): Promise<OrderState[]> {
  const views = await Promise.all(orders.map(({ orderHash }) => chain.orderOf(orderHash, block)));
  return views.map(({ state }) => state);
}

/**
 * One transaction, for as many orders as it may hold. The contract refuses the whole call for one order that it cannot
 * settle yet, and names it: that one is left out, and the others are tried.
 */
async function payGroup(
  context: StageContext,
  claim: Claim,
  { batchHash }: StoredBatch,
  unpaid: readonly Unpaid[],
): Promise<StepEnd> {
  const { chain, pollMs } = context;
  const again: StepEnd = { kind: 'wait', forMs: pollMs };
  const waitsFor: number[] = [];
  for (let payable = unpaid; payable.length > 0;) {
    const group = payable.slice(0, MOST_IN_CALL);
    try {
      await performOnce(context, 'pay', paymentName(batchHash, group), chain.settleCall(group), 'pay');
      return again;
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal?.name === 'NothingSettled') return again;
      if (refusal?.name !== 'DeliveryOpen' && refusal?.name !== 'NotFinal') throw error;
      if (refusal.name === 'DeliveryOpen') waitsFor.push(Number(refusal.args[1]));
      payable = payable.filter(({ orderHash }) => orderHash !== refusal.args[0]);
    }
  }
  if (waitsFor.length === 0) return again;
  await fenced(context.database, claim, (tx) =>
    tx.execute('UPDATE assay.batches SET unpaid_until = $2 WHERE batch_hash = $1', [batchHash, Math.min(...waitsFor)]),
  );
  return { kind: 'wait', forMs: 'when the chain says' };
}

/** The payment that begins with this order of the batch; what is in it no longer counts once it is signed. */
const paymentName = (batchHash: Hex, group: readonly Unpaid[]): string => `${batchHash}-${group[0]!.index}`;
