/** Step `route`: the lane, by policy, with its reasons on record. */
import { failPoint } from '../fail-points.js';
import { routeJob } from '../routing.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadOrder } from './load-order.js';
import { routingQuestion } from './routing-question.js';

export async function routeOrder(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { order, createdAt } = await loadOrder(context.database, claim.subject);
  const bundle = await context.bundles.get(order.modelDigest);
  // As of the time at which it was taken in: what came since, a restart even, does not undo that.
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
