import type { Bundle } from '../../graph/index.js';
import type { JobOrder, Lane } from '../../receipts/types.js';
import type { RoutingQuestion } from '../routing.js';

/** What the routing policy wants to know about an order. The price stands for the value at risk. */
export function routingQuestion(
  bundle: Bundle,
  order: Pick<JobOrder, 'items' | 'price' | 'deliverBy'> & { readonly lane: Lane | 'auto' },
  open: readonly Lane[],
  nowMs: number,
): RoutingQuestion {
  return {
    macs: bundle.report.macs,
    parameters: bundle.report.parameters,
    arithmetic: 'exact',
    items: order.items,
    valueAtRisk: order.price,
    finalWithinMs: Math.max(0, order.deliverBy * 1_000 - nowMs),
    requested: order.lane,
    open,
  };
}
