/**
 * Step `open` of an opening: one transaction locks the money of its orders. Those that it has opened are run; those that it
 * had to skip, since an order before them took the last of a balance, say, go back to `accept`, where the chain is asked
 * why.
 *
 * One order that spends more gas than was estimated makes the whole call fail. Where it was mined and reverted too often,
 * or cannot even be estimated, each of its orders is opened alone; one that is reverted too often alone is given up.
 */
import type { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import type { SignedOrder } from '../../verifier-contracts/escrow-client.js';
import type { Queryable } from '../database/database.js';
import { moveTo, type Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadOpening, type StoredOrder } from './load-order.js';
import { failsUnexplained, isDeepEnough, isWornOut, performOnce, refusalOf } from './perform.js';
import { writeChainState } from './write-chain-state.js';

export async function openOrders(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, chain, clock, pollMs } = context;
  const orders = await loadOpening(database, claim.subject);
  let failure: AssayError | null = null;
  try {
    const call = chain.openCall(orders.map(signedOrder));
    const mined = await performOnce(context, 'open', claim.subject, call, 'open');
    if (mined === null || !(await isDeepEnough(context, mined))) return { kind: 'wait', forMs: pollMs };
  } catch (error) {
    // Others were faster with these orders, or it is too late for them: each is told apart below.
    if (refusalOf(error)?.name !== 'NothingOpened') {
      if (!failsUnexplained(error) || (orders.length === 1 && !isWornOut(error))) throw error;
      failure = error;
    }
  }
  const head = await chain.blockNumber();
  const states = await Promise.all(orders.map(({ orderHash }) => chain.orderOf(orderHash)));
  const seen = orders.map(({ orderHash }, i) => ({ orderHash, state: states[i]!.state }));
  const skipped = seen.filter(({ state }) => state === 'none').map(({ orderHash }) => orderHash);
  const opened = seen.filter(({ state }) => state !== 'none');
  return {
    kind: 'advance',
    next: 'done',
    write: async (tx) => {
      await writeChainState(tx, opened, head);
      const toRun = opened.map(({ orderHash }) => orderHash);
      await moveTo(tx, toRun, 'run', clock());
      await tx.execute('UPDATE assay.orders SET opening = NULL WHERE order_hash = ANY($1::text[])', [skipped]);
      if (failure !== null && orders.length === 1) return giveUp(tx, skipped, failure, clock());
      await tx.execute('UPDATE assay.orders SET alone = alone OR $2 WHERE order_hash = ANY($1::text[])', [
        skipped,
        failure !== null,
      ]);
      await moveTo(tx, skipped, 'accept', clock());
    },
  };
}

async function giveUp(tx: Queryable, orders: readonly Hex[], failure: AssayError, now: number): Promise<void> {
  await tx.execute(
    `UPDATE assay.orders SET outcome = 'failed', error = $2, ended_at = $3 WHERE order_hash = ANY($1::text[])`,
    [orders, JSON.stringify(failure), now],
  );
  await tx.execute(`UPDATE assay.work SET step = 'done' WHERE subject = ANY($1::text[])`, [orders]);
}

/** Key of the intent that opened an order. */
export const openKey = (opening: Hex): string => `open-${opening}-0`;

const signedOrder = ({ order, signature, acceptance }: StoredOrder): SignedOrder => ({
  order,
  requesterSignature: signature,
  executorSignature: acceptance!,
});
