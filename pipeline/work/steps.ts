/** The steps of an order and of a batch. Names of the queues, and values of `assay.work.step`. */

/** Steps that somebody has to work on. */
export const ACTIVE_STEPS = ['run', 'route', 'sign', 'prove', 'verify', 'post', 'audit', 'settle'] as const;
export type ActiveStep = (typeof ACTIVE_STEPS)[number];

/** Steps that may sign transactions: only the holder of the poster's lock works on them. */
export const CHAIN_STEPS: readonly ActiveStep[] = ['post', 'audit', 'settle'];

/** Steps of the zk lane: only a process with a prover works on them. */
export const PROOF_STEPS: readonly ActiveStep[] = ['prove', 'verify'];

/** An order in `sealing` waits for a batch, one in `batched` for that batch's end. */
export type Step = ActiveStep | 'sealing' | 'batched' | 'done';

export function isActive(step: string): step is ActiveStep {
  return (ACTIVE_STEPS as readonly string[]).includes(step);
}
