/** How many receipts of the optimistic lane one executor may have open: fraud-proofs/answer/capacity.ts. */
import { AssayError } from '../../common/errors.js';
import { disputeCapacity } from '../../fraud-proofs/answer/capacity.js';
import type { JobOrder } from '../../receipts/types.js';
import type { StageContext } from './context.js';

/**
 * Would the executor have more open than it could answer for?
 * @throws AssayError LANE_CLOSED where not even one receipt could be answered for
 */
export async function isDisputeCapacityFull(
  { chain, database, bundles }: Pick<StageContext, 'chain' | 'database' | 'bundles'>,
  { executor, modelDigest, items }: JobOrder,
): Promise<boolean> {
  const { graph } = await bundles.get(modelDigest);
  const { answerGas, most } = disputeCapacity(chain.policy, graph, items, await chain.gasPerTick());
  const { answerTime } = chain.policy;
  if (most < 1)
    throw new AssayError(
      'LANE_CLOSED',
      `Lane optimistic cannot take this job: answers of ${answerGas} gas cannot be given in ${answerTime} of the chain's time.`,
      { meta: { answerGas, answerTime } },
    );
  const [row] = await database.query<{ open: number }>(
    `SELECT COUNT(*)::int AS open FROM assay.orders o JOIN assay.work w ON w.subject = o.order_hash
      WHERE o.order_json ->> 'executor' = $1 AND o.order_json ->> 'lane' = 'optimistic'
        AND o.acceptance IS NOT NULL AND w.step NOT IN ('done', 'expire')`,
    [executor],
  );
  return row!.open >= most;
}
