/** What an order would be under this deployment's terms: its lane, and the fields that the requester is to sign. */
import { AssayError } from '../common/errors.js';
import type { Hex, JobOrder, Lane } from '../receipts/types.js';
import { lockOf, outputBytesOf, surchargeOf } from './order-terms.js';
import { routeJob, type RoutingDecision } from './routing.js';
import type { StageContext } from './stages/context.js';
import { routingQuestion } from './stages/routing-question.js';

export type QuoteRequest = Pick<JobOrder, 'modelDigest' | 'items' | 'price' | 'deliverBy'> & {
  readonly lane: Lane | 'auto';
};

export interface Offer {
  /** The one with the fewest orders in hand. */
  readonly executor: Hex;
  readonly policyHash: Hex;
  readonly surcharge: bigint;
  /** The least that the order may state. */
  readonly outputBytes: number;
  /** By the contract's clock; for an order that is opened at once. */
  readonly earliestDeliverBy: number;
  /** What the executor stakes on the order. */
  readonly lock: bigint;
}

export interface Quote extends RoutingDecision {
  readonly offer: Offer;
}

/** @throws AssayError BUNDLE_MISSING, LANE_CLOSED, EXECUTOR_NONE */
export async function quoteOrder(context: StageContext, request: QuoteRequest): Promise<Quote> {
  const { chain, bundles } = context;
  const bundle = await bundles.get(request.modelDigest);
  const now = await chain.clock();
  const decision = routeJob(await routingQuestion(context, bundle, request, now));
  return {
    ...decision,
    offer: {
      executor: await leastBusy(context),
      policyHash: chain.policyHash,
      surcharge: await surchargeOf(context, decision.lane),
      outputBytes: outputBytesOf(bundle.graph, request.items),
      earliestDeliverBy: now + chain.policy.minDeliver,
      lock: lockOf(chain.policy, request.price),
    },
  };
}

async function leastBusy({ database, executors }: StageContext): Promise<Hex> {
  const nodes = await database.query<{ address: Hex; busy: number }>(
    `SELECT n.address, (SELECT COUNT(*) FROM assay.orders o WHERE o.executor = n.address AND o.outcome IS NULL)::int AS busy
       FROM assay.nodes n WHERE n.suspended_at IS NULL AND n.address = ANY($1::text[])`,
    [executors.map(({ address }) => address)],
  );
  const [first, ...others] = nodes;
  if (first === undefined) {
    throw new AssayError(
      'EXECUTOR_NONE',
      `No executor can be offered: ${executors.length} are connected, and none of them is free of suspension.`,
    );
  }
  return others.reduce((best, node) => (node.busy < best.busy ? node : best), first).address;
}
