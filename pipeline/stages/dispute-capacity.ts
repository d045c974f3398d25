/**
 * How many receipts of the optimistic lane one executor may have open: as many as it could answer for if all were disputed
 * at once. Otherwise whoever floods it with demands wins claims that are right.
 *
 * Symbols: A the answer time, G the gas that the chain takes in one unit of its clock, a the largest answer of the model in
 * gas, by the policy's table; 8 demands of one claim cost the asker no surcharge. An order is taken on while
 *   (open + 1) 8 a <= 5 % A G,
 * where every open receipt is held to be as large as the new one.
 */
import { AssayError } from '../../common/errors.js';
import { CHUNK_ELEMENTS, elementWidth, sizeOf, slotsOf, type IntegerGraph } from '../../graph/index.js';
import type { JobOrder } from '../../receipts/types.js';
import type { StageContext } from './context.js';

/** Demands of one claim without a surcharge. */
const FREE_DEMANDS = 8;
/** Of the chain, while all of them are answered. */
const SHARE = 0.05;
/** Children that one answer reveals, and bytes of each. */
const [MOST_CHILDREN, HASH_BYTES] = [512, 32];

/** Bytes of the longest answer that a dispute about the model can ask for. */
export function largestAnswerBytes(graph: IntegerGraph, items: number): number {
  const slots = slotsOf(graph);
  const lists = slots.map((id) => Math.ceil((items * sizeOf(graph.tensors[id]!.shape)) / CHUNK_ELEMENTS));
  const hashes = HASH_BYTES * Math.min(MOST_CHILDREN, Math.max(slots.length, ...lists));
  const chunks = slots.map((id) => CHUNK_ELEMENTS * elementWidth(graph.tensors[id]!.range));
  return Math.max(hashes, ...chunks);
}

/**
 * Would the executor have more open than it could answer for?
 * @throws AssayError LANE_CLOSED where not even one receipt could be answered for
 */
export async function isDisputeCapacityFull(
  { chain, database, bundles }: Pick<StageContext, 'chain' | 'database' | 'bundles'>,
  { executor, modelDigest, items }: JobOrder,
): Promise<boolean> {
  const { answerTime, gasAnswer, gasAnswerByte } = chain.policy;
  const { graph } = await bundles.get(modelDigest);
  const answerGas = gasAnswer + gasAnswerByte * largestAnswerBytes(graph, items);
  const room = SHARE * answerTime * (await chain.gasPerTick());
  const most = Math.floor(room / (FREE_DEMANDS * answerGas));
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
