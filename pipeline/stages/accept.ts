/**
 * Step `accept`: the executor that the order names takes it on by its signature, and the chain is asked whether the order
 * would open. What passes by itself is waited for (a requester's deposit, say) until the order's `validUntil`; anything
 * else ends the order before it has cost anybody anything.
 */
import { AssayError } from '../../common/errors.js';
import { recoverAcceptanceSigner } from '../../receipts/index.js';
import type { Hex } from '../../receipts/types.js';
import type { OpenFault } from '../../verifier-contracts/escrow-client.js';
import { failPoint } from '../fail-points.js';
import { fenced, type Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { isDisputeCapacityFull } from './dispute-capacity.js';
import { executorOf } from './executor-of.js';
import { loadOrder, type StoredOrder } from './load-order.js';
import { openFault } from './open-fault.js';
import { within } from './within.js';
import { writeChainState } from './write-chain-state.js';

/** Faults that pass when somebody deposits, or when an earlier order ends. */
const PASSING: readonly OpenFault[] = ['requester-funds', 'executor-funds', 'reserve'];

export async function acceptOrder(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, chain, clock, pollMs } = context;
  const stored = await loadOrder(database, claim.subject);
  const { orderHash, order } = stored;
  if (stored.acceptance === null && order.lane === 'optimistic' && (await isDisputeCapacityFull(context, order))) {
    // Until earlier ones are final.
    if ((await chain.clock()) > order.validUntil) throw openFault({ orderHash }, 'expired');
    return { kind: 'wait', forMs: 4 * pollMs };
  }
  const executorSignature = stored.acceptance ?? (await accepted(context, claim, stored));
  const fault = await chain.openFaultOf({ order, requesterSignature: stored.signature, executorSignature });
  if (fault === 'none') {
    const alone = await chain.hasCode(order.requester);
    return {
      kind: 'advance',
      next: 'opening',
      write: async (tx) => {
        await tx.execute('UPDATE assay.orders SET accepted_at = $2, alone = alone OR $3 WHERE order_hash = $1', [
          orderHash,
          clock(),
          alone,
        ]);
      },
    };
  }
  // Four times slower than for blocks: whoever has to deposit first must hear of it.
  if (PASSING.includes(fault)) return { kind: 'wait', forMs: 4 * pollMs };
  if (fault === 'known') {
    // Opened by a transaction that was lost to us, or by somebody else.
    const head = await chain.blockNumber();
    const { state } = await chain.orderOf(orderHash);
    if (state === 'none') return { kind: 'wait', forMs: pollMs };
    if (state !== 'open') throw openFault(stored, fault, state);
    return { kind: 'advance', next: 'run', write: (tx) => writeChainState(tx, [{ orderHash, state }], head) };
  }
  throw openFault(stored, fault);
}

async function accepted(
  context: StageContext,
  claim: Claim,
  { order, orderHash, signature }: StoredOrder,
): Promise<Hex> {
  const { database, chain, executeTimeoutMs } = context;
  // Its executor may be away for as long.
  if ((await chain.clock()) > order.validUntil) throw openFault({ orderHash }, 'expired');
  const executor = await executorOf(context, orderHash, order);
  const work = executor.acceptOrder(order, signature);
  const acceptance = await within(work, executeTimeoutMs, `executor ${executor.address}`);
  const signer = recoverAcceptanceSigner(order, acceptance, chain.domain);
  if (signer !== order.executor) {
    throw new AssayError('EXECUTOR_FAILED', `Executor ${order.executor} returned an acceptance by ${signer}.`, {
      meta: { executor: order.executor, signer },
    });
  }
  failPoint('accept.before-store');
  await fenced(database, claim, (tx) =>
    tx.execute('UPDATE assay.orders SET acceptance = $2 WHERE order_hash = $1', [orderHash, acceptance]),
  );
  failPoint('accept.after-store');
  return acceptance;
}
