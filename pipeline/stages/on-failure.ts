/** What a failed attempt means for its order or batch. */
import type { AssayError, ErrorCode } from '../../common/errors.js';
import type { Queryable } from '../database/database.js';
import type { Claim } from '../work/claim.js';
import type { ActiveStep } from '../work/steps.js';

/** Attempts of `run` that fail by the executor, or of `prove` by the prover, before the order is given up. */
const MOST_ATTEMPTS = 6;
const THEIR_FAULT: Partial<Record<ActiveStep, readonly ErrorCode[]>> = {
  run: ['EXECUTOR_FAILED', 'NODE_TIMEOUT'],
  prove: ['PROVER_FAILED', 'NODE_TIMEOUT'],
};

/**
 * Trying again helps against outages and against a single executor's or prover's failure. It does not help against an order that
 * is wrong in itself. A batch is never given up: its receipts are signed, and the contract decides about them.
 */
export function onStageFailure(
  claim: Claim,
  error: AssayError,
  now: number,
): 'retry' | { readonly write: (tx: Queryable) => Promise<void> } {
  if (claim.kind === 'batch') return 'retry';
  const wrongInItself = error.kind === 'usage' || error.kind === 'invalid';
  const failedOften = (THEIR_FAULT[claim.step]?.includes(error.code) ?? false) && claim.retries + 1 >= MOST_ATTEMPTS;
  if (!wrongInItself && !failedOften) return 'retry';
  return {
    write: async (tx) => {
      await tx.execute(`UPDATE assay.orders SET outcome = 'failed', error = $2, ended_at = $3 WHERE order_hash = $1`, [
        claim.subject,
        JSON.stringify(error),
        now,
      ]);
    },
  };
}
