/**
 * Step `route`: the lane, by policy, with its reasons on record. It was decided when the order was taken in, and is not
 * decided again: another process, or this one after a restart, may have other lanes open. Only what an earlier release
 * has taken in comes here undecided.
 */
import { failPoint } from '../fail-points.js';
import { routeJob } from '../routing.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadOrder } from './load-order.js';
import { routingQuestion } from './routing-question.js';

export async function routeOrder(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { order, createdAt, laneDecision } = await loadOrder(context.database, claim.subject);
  if (laneDecision !== null) {
    failPoint('route.decided');
    return { kind: 'advance', next: 'sign' };
  }
  const bundle = await context.bundles.get(order.modelDigest);
  const decision = routeJob(await routingQuestion(context, bundle, order, createdAt));
  failPoint('route.decided');
  return {
    kind: 'advance',
    next: 'sign',
    write: async (tx) => {
      await tx.execute('UPDATE assay.orders SET lane_decision = $2 WHERE order_hash = $1', [
        claim.subject,
        JSON.stringify(decision),
      ]);
    },
  };
}
