import { AssayError } from '../../common/errors.js';
import type { Bundle } from '../../graph/index.js';
import type { JobOrder, Lane } from '../../receipts/types.js';
import type { ProofProspect, RoutingQuestion } from '../routing.js';
import type { StageContext } from './context.js';
import { within } from './within.js';

/**
 * What the routing policy wants to know about an order. The price stands for the value at risk.
 * @param now by the contract's clock, as the order's times are
 * @throws AssayError PROVER_FAILED, NODE_TIMEOUT where a prover was to be asked and did not answer
 */
export async function routingQuestion(
  context: Pick<StageContext, 'openLanes' | 'provers' | 'proveTimeoutMs'>,
  bundle: Bundle,
  order: Pick<JobOrder, 'items' | 'price' | 'deliverBy'> & { readonly lane: Lane | 'auto' },
  now: number,
): Promise<RoutingQuestion> {
  const wanted = context.openLanes.includes('zk') && (order.lane === 'zk' || order.lane === 'auto');
  return {
    macs: bundle.report.macs,
    parameters: bundle.report.parameters,
    arithmetic: 'exact',
    items: order.items,
    valueAtRisk: order.price,
    finalWithinMs: Math.max(0, order.deliverBy - now) * 1_000,
    requested: order.lane,
    open: context.openLanes,
    proof: wanted ? await prospect(context, bundle, order.items) : null,
  };
}

/** By the first prover: those of a deployment are alike. */
async function prospect(
  { provers, proveTimeoutMs }: Pick<StageContext, 'provers' | 'proveTimeoutMs'>,
  bundle: Bundle,
  items: number,
): Promise<ProofProspect> {
  const [prover] = provers;
  if (prover === undefined) return { kind: 'impossible', reason: 'no prover is connected' };
  if (bundle.modelKeyHash === undefined) {
    return {
      kind: 'impossible',
      reason:
        'the bundle names no key that proofs about it are checked with; `assay key` makes one, and a bundle that names it',
    };
  }
  try {
    const forecast = await within(prover.predict(bundle, items), proveTimeoutMs, `prover ${prover.name}`);
    return { kind: 'predicted', forecast, limits: { ...prover.limits, proveMs: proveTimeoutMs } };
  } catch (error) {
    if (!(error instanceof AssayError) || (error.kind !== 'usage' && error.kind !== 'invalid')) throw error;
    return { kind: 'impossible', reason: error.message };
  }
}
