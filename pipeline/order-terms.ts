/**
 * The terms under which orders are taken here, as a quote offers them and as `submit` checks them. What only the chain
 * can say (balances, nodes, the freeze) is asked later, in the step `accept`.
 */
import { elementWidth, sizeOf, type Bundle, type IntegerGraph } from '../graph/index.js';
import type { Hex, JobOrder, Lane } from '../receipts/types.js';
import { NOBODY, type Policy } from '../verifier-contracts/policy.js';
import type { StageContext } from './stages/context.js';
import { isSuspended } from './stages/executor-of.js';

/** What the contract allows; outputs of paid orders must be able to be demanded on chain. */
const MOST_OUTPUT_BYTES = 65_536;

/** Bytes of a model's outputs for so many items, as their commitment encodes them. */
export function outputBytesOf(graph: IntegerGraph, items: number): number {
  return graph.outputs.reduce((sum, id) => {
    const { shape, range } = graph.tensors[id]!;
    return sum + items * sizeOf(shape) * elementWidth(range);
  }, 0);
}

/** Who judges a lane under a policy; null where it is closed. */
export function judgeOf({ verifier, game, court }: Policy, lane: Lane): Hex | null {
  const judge = { zk: verifier, optimistic: game, sampled: court }[lane];
  return judge === NOBODY ? null : judge;
}

/** What an order pays towards audits: its share of one, rounded up; nothing where there is no draw. */
export async function surchargeOf({ chain }: Pick<StageContext, 'chain'>, lane: Lane): Promise<bigint> {
  if (lane !== 'sampled') return 0n;
  const { terms } = await chain.courtOf(chain.policyHash);
  return (chain.policy.auditFee * BigInt(terms.drawRatePpm) + 999_999n) / 1_000_000n;
}

/** What the executor's account must have free for an order of that price. */
export function lockOf({ minLock, lockFactorBps }: Policy, price: bigint): bigint {
  const lock = (price * BigInt(lockFactorBps)) / 10_000n;
  return lock > minLock ? lock : minLock;
}

/** @param now by the contract's clock. @returns the field that does not fit, with what was expected; null where all do. */
export async function termsFault(
  context: Pick<StageContext, 'chain' | 'database'>,
  { graph }: Bundle,
  order: JobOrder,
  now: number,
): Promise<string | null> {
  const { chain, database } = context;
  if (order.policyHash !== chain.policyHash)
    return `policyHash: expected ${chain.policyHash}, under which ${chain.domain.verifyingContract} takes orders; found ${order.policyHash}`;
  const [node] = await database.query('SELECT 1 FROM assay.nodes WHERE address = $1 AND executes', [order.executor]);
  if (node === undefined) return `executor: ${order.executor} works for somebody else`;
  if (await isSuspended(database, order.executor)) return `executor: ${order.executor} is suspended`;
  const earliest = now + chain.policy.minDeliver;
  if (order.deliverBy < earliest)
    return `deliverBy: ${order.deliverBy} has passed or is too near; by the chain's clock it is ${now}, and the least is ${earliest}`;
  if (order.validUntil < now) return `validUntil: ${order.validUntil} has passed; by the chain's clock it is ${now}`;
  const bytes = outputBytesOf(graph, order.items);
  if (bytes > MOST_OUTPUT_BYTES)
    return `items: their output takes ${bytes} bytes, and one order at most ${MOST_OUTPUT_BYTES}`;
  if (order.outputBytes < bytes) return `outputBytes: expected at least ${bytes}, found ${order.outputBytes}`;
  if (judgeOf(chain.policy, order.lane) === null) return null;
  const surcharge = await surchargeOf(context, order.lane);
  return order.surcharge < surcharge ? `surcharge: expected at least ${surcharge}, found ${order.surcharge}` : null;
}
