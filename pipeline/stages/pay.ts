/**
 * Step `pay`: the money goes where the chain's verdict says. Dead leaves are slashed at once; the others when their outputs
 * can no longer be demanded, which the contract itself says. Anybody may settle an order: what has ended is done, whoever
 * did it.
 */
import { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import type { BoundOrder, OrderState } from '../../verifier-contracts/escrow-client.js';
import type { Queryable } from '../database/database.js';
import { failPoint } from '../fail-points.js';
import { orderFromJson, type OrderJson } from '../store/order-json.js';
import { fenced, type Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadBatch, type StoredBatch } from './load-batch.js';
import { isOnItsWay, performOnce, refusalOf } from './perform.js';
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
    const end = await payOrders(context, claim, batch, unpaid);
    if (end.kind === 'wait' && end.error !== undefined) await endConfirmed(context, claim, orders);
    return end;
  }
  const block = (await chain.blockNumber()) - confirmations + 1;
  const confirmed = await statesOf(context, orders, block);
  if (confirmed.some((state) => !TERMINAL.includes(state))) return { kind: 'wait', forMs: pollMs };
  failPoint('pay.before-state-stored');
  return {
    kind: 'advance',
    next: 'done',
    write: (tx) => writeEnded(tx, orders, confirmed, block),
  };
}

/** While one order cannot be paid: those that are do not wait for it. */
async function endConfirmed(context: StageContext, claim: Claim, orders: readonly Unpaid[]): Promise<void> {
  const block = (await context.chain.blockNumber()) - context.confirmations + 1;
  const states = await statesOf(context, orders, block);
  const ends = (_: unknown, i: number): boolean => TERMINAL.includes(states[i]!);
  await fenced(context.database, claim, (tx) => writeEnded(tx, orders.filter(ends), states.filter(ends), block));
}

async function writeEnded(
  tx: Queryable,
  orders: readonly Unpaid[],
  states: readonly OrderState[],
  block: number,
): Promise<void> {
  const seen = orders.map(({ orderHash }, i) => ({ orderHash, state: states[i]! }));
  await writeChainState(tx, seen, block);
  await tx.execute(`UPDATE assay.work SET step = 'done' WHERE subject = ANY($1::text[])`, [
    seen.map(({ orderHash }) => orderHash),
  ]);
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

/** Orders to be paid by one transaction. */
interface Group {
  readonly orders: readonly Unpaid[];
  /** How often it has been halved. */
  readonly halvings: number;
}

/**
 * One transaction, for as many orders as it may hold, those of dead leaves first. The contract refuses the whole call for
 * one order that it cannot settle yet, and names it: that one is left out, and the others are tried. Where a call fails
 * for any other reason (too dear, an order that makes it revert), its halves are tried, down to the single order that is
 * to blame: the others are paid without it.
 */
async function payOrders(
  context: StageContext,
  claim: Claim,
  { batchHash }: StoredBatch,
  unpaid: readonly Unpaid[],
): Promise<StepEnd> {
  const { chain, pollMs } = context;
  const again: StepEnd = { kind: 'wait', forMs: pollMs };
  const waitsFor: number[] = [];
  let stuck: AssayError | null = null;
  const queue = groupsOf(unpaid);
  for (let group = queue.shift(); group !== undefined; group = queue.shift()) {
    const { orders, halvings } = group;
    const name = paymentName(batchHash, group);
    try {
      await performOnce(context, 'pay', name, chain.settleCall(orders), 'pay');
      return again;
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal?.name === 'NothingSettled') return again;
      if (refusal?.name === 'DeliveryOpen' || refusal?.name === 'NotFinal') {
        if (refusal.name === 'DeliveryOpen') waitsFor.push(Number(refusal.args[1]));
        const others = orders.filter(({ orderHash }) => orderHash !== refusal.args[0]);
        if (others.length > 0) queue.unshift({ orders: others, halvings });
        continue;
      }
      // One that is signed keeps its nonce: it will be mined before anything else.
      if (!isOfTheCall(error) || (await isOnItsWay(context, 'pay', name))) throw error;
      // An outage: every other call would fail too.
      await chain.blockNumber();
      const half = Math.ceil(orders.length / 2);
      const halves = [orders.slice(0, half), orders.slice(half)];
      if (orders.length === 1) stuck = error;
      else queue.unshift(...halves.map((part) => ({ orders: part, halvings: halvings + 1 })));
    }
  }
  if (stuck !== null) return { ...again, error: stuck };
  if (waitsFor.length === 0) return again;
  await fenced(context.database, claim, (tx) =>
    tx.execute('UPDATE assay.batches SET unpaid_until = $2 WHERE batch_hash = $1', [batchHash, Math.min(...waitsFor)]),
  );
  return { kind: 'wait', forMs: 'when the chain says' };
}

function groupsOf(unpaid: readonly Unpaid[]): Group[] {
  const kinds = [unpaid.filter(({ dead }) => dead), unpaid.filter(({ dead }) => !dead)];
  return kinds.flatMap((orders) =>
    Array.from({ length: Math.ceil(orders.length / MOST_IN_CALL) }, (_, i) => ({
      orders: orders.slice(i * MOST_IN_CALL, (i + 1) * MOST_IN_CALL),
      halvings: 0,
    })),
  );
}

/** Not of the database, or of the right to post. */
const isOfTheCall = (error: unknown): error is AssayError =>
  error instanceof AssayError && (error.code === 'CHAIN_REVERTED' || error.code === 'CHAIN_UNAVAILABLE');

/**
 * The payment that begins with this order of the batch; what is in it no longer counts once it is signed. A half of it is
 * another payment, though it may begin with the same order.
 */
const paymentName = (batchHash: Hex, { orders, halvings }: Group): string =>
  `${batchHash}${halvings === 0 ? '' : `.${halvings}`}-${orders[0]!.index}`;
