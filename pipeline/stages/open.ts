/**
 * Step `open` of an opening: one transaction locks the money of its orders. Those that it has opened are run; those that it
 * had to skip, since an order before them took the last of a balance, say, go back to `accept`, where the chain is asked
 * why.
 */
import type { Hex } from '../../receipts/types.js';
import type { SignedOrder } from '../../verifier-contracts/escrow-client.js';
import { moveTo, type Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadOpening, type StoredOrder } from './load-order.js';
import { isDeepEnough, performOnce, refusalOf } from './perform.js';
import { writeChainState } from './write-chain-state.js';

export async function openOrders(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, chain, clock, pollMs } = context;
  const orders = await loadOpening(database, claim.subject);
  try {
    const call = chain.openCall(orders.map(signedOrder));
    const mined = await performOnce(context, 'open', claim.subject, call, 'open');
    if (mined === null || !(await isDeepEnough(context, mined))) return { kind: 'wait', forMs: pollMs };
  } catch (error) {
    // Others were faster with these orders, or it is too late for them: each is told apart below.
    if (refusalOf(error)?.name !== 'NothingOpened') throw error;
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
      await moveTo(tx, skipped, 'accept', clock());
    },
  };
}

/** Key of the intent that opened an order. */
export const openKey = (opening: Hex): string => `open-${opening}-0`;

const signedOrder = ({ order, signature, acceptance }: StoredOrder): SignedOrder => ({
  order,
  requesterSignature: signature,
  executorSignature: acceptance!,
});
