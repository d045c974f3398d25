import { AssayError } from '../../common/errors.js';
import { supports } from '../../fraud-proofs/step/supports.js';
import type { Bundle } from '../../graph/index.js';
import type { JobOrder, Lane } from '../../receipts/types.js';
import type { DisputeProspect, ProofProspect, RoutingQuestion } from '../routing.js';
import type { StageContext } from './context.js';
import { within } from './within.js';

/**
 * What the routing policy wants to know about an order. The price stands for the value at risk.
 * @param now by the contract's clock, as the order's times are
 * @throws AssayError PROVER_FAILED, NODE_TIMEOUT where a prover was to be asked and did not answer
 */
export async function routingQuestion(
  context: Pick<StageContext, 'openLanes' | 'provers' | 'proveTimeoutMs' | 'chain'>,
  bundle: Bundle,
  order: Pick<JobOrder, 'items' | 'price' | 'deliverBy'> & { readonly lane: Lane | 'auto' },
  now: number,
): Promise<RoutingQuestion> {
  const isWanted = (lane: Lane): boolean =>
    context.openLanes.includes(lane) && (order.lane === lane || order.lane === 'auto');
  return {
    macs: bundle.report.macs,
    parameters: bundle.report.parameters,
    arithmetic: 'exact',
    items: order.items,
    valueAtRisk: order.price,
    finalWithinMs: Math.max(0, order.deliverBy - now) * 1_000,
    requested: order.lane,
    open: context.openLanes,
    proof: isWanted('zk') ? await proofProspect(context, bundle, order.items) : null,
    dispute: isWanted('optimistic') ? await disputeProspect(context, bundle) : null,
  };
}

/** By the game under whose policy new orders are taken. */
async function disputeProspect({ chain }: Pick<StageContext, 'chain'>, { graph }: Bundle): Promise<DisputeProspect> {
  const { window, maxContraction } = await chain.gameOf(chain.policyHash);
  const reason = supports(graph, maxContraction);
  return reason === null ? { kind: 'possible', windowMs: window * 1_000 } : { kind: 'impossible', reason };
}

/** By the first prover: those of a deployment are alike. */
async function proofProspect(
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
