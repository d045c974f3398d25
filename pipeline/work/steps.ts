/** The steps of an order, an opening and a batch. Names of the queues, and values of `assay.work.step`. */
import type { Lane } from '../../receipts/types.js';

/** Steps that somebody has to work on. */
export const ACTIVE_STEPS = [
  'accept',
  'open',
  'run',
  'sign',
  'prove',
  'verify',
  'join',
  'wrap',
  'post',
  'audit',
  'settle',
  'challenge',
  'pay',
  'expire',
] as const;
export type ActiveStep = (typeof ACTIVE_STEPS)[number];

/** Steps that may sign transactions: only the holder of the poster's lock works on them. */
export const CHAIN_STEPS: readonly ActiveStep[] = ['open', 'post', 'audit', 'settle', 'pay', 'expire'];

/** What comes after a batch's commit, by its lane. */
export const AFTER_COMMIT = { zk: 'pay', optimistic: 'challenge', sampled: 'audit' } as const satisfies Record<
  Lane,
  ActiveStep
>;

/** Steps of the zk lane: only a process with a prover works on them. */
export const PROOF_STEPS: readonly ActiveStep[] = ['prove', 'verify'];

/** Steps of recursive batches: only a process with a prover of batches works on them. */
export const BATCH_PROOF_STEPS: readonly ActiveStep[] = ['join', 'wrap'];

/**
 * An order in `opening` waits for one, an order in `sealing` for a batch, one in `batched` for that batch's end.
 */
export const PASSIVE_STEPS = ['opening', 'sealing', 'batched', 'done'] as const;
export type Step = ActiveStep | (typeof PASSIVE_STEPS)[number];

/** What a step is done on. */
export type Kind = 'order' | 'opening' | 'batch';

/** When a step is due that waits for the chain's clock: the sweeper makes it due when its time has come. */
export const WHEN_THE_CHAIN_SAYS = 8_640_000_000_000_000;

export function isActive(step: string): step is ActiveStep {
  return (ACTIVE_STEPS as readonly string[]).includes(step);
}
