/** What a failed attempt means for its order or batch. */
import type { AssayError, ErrorCode } from '../../common/errors.js';
import type { Queryable } from '../database/database.js';
import type { Claim } from '../work/claim.js';
import type { OnFailure } from '../work/runner.js';
import type { ActiveStep } from '../work/steps.js';

/** Attempts of `accept` and `run` that fail by the executor, or of `prove` by the prover, before the order is given up. */
const MOST_ATTEMPTS = 6;
const THEIR_FAULT: Partial<Record<ActiveStep, readonly ErrorCode[]>> = {
  accept: ['EXECUTOR_FAILED', 'NODE_TIMEOUT'],
  run: ['EXECUTOR_FAILED', 'NODE_TIMEOUT'],
  prove: ['PROVER_FAILED', 'NODE_TIMEOUT'],
};

/**
 * Trying again helps against outages and against a single executor's or prover's failure. It does not help against an order that
 * is wrong in itself. An opening or a batch is never given up: what it holds is signed, and the contract decides about it.
 * An order that has been opened has money locked on chain; it goes back by `expire`, and that step is never given up.
 */
export async function onStageFailure(
  database: Queryable,
  claim: Claim,
  error: AssayError,
  now: number,
): ReturnType<OnFailure> {
  if (claim.kind !== 'order' || claim.step === 'expire') return 'retry';
  const wrongInItself = error.kind === 'usage' || error.kind === 'invalid';
  if (!wrongInItself && !(await failedOften(database, claim, error.code))) return 'retry';
  const [opened] = await database.query(`SELECT 1 FROM assay.orders WHERE order_hash = $1 AND chain_state <> 'none'`, [
    claim.subject,
  ]);
  return {
    next: opened === undefined ? 'done' : 'expire',
    write: async (tx) => {
      // A proof that does not hold, or cannot even be read: nobody is to be handed it.
      if (claim.step === 'verify') await tx.execute('DELETE FROM assay.proofs WHERE order_hash = $1', [claim.subject]);
      await tx.execute(`UPDATE assay.orders SET outcome = 'failed', error = $2, ended_at = $3 WHERE order_hash = $1`, [
        claim.subject,
        JSON.stringify(error),
        now,
      ]);
    },
  };
}

/** Outages in between do not count. */
async function failedOften(database: Queryable, { subject, step }: Claim, code: ErrorCode): Promise<boolean> {
  const codes = THEIR_FAULT[step] ?? [];
  if (!codes.includes(code)) return false;
  const earlier = await database.query(
    `SELECT 1 FROM assay.attempts WHERE subject = $1 AND step = $2 AND outcome = 'failed' AND error->>'code' = ANY($3::text[])`,
    [subject, step, codes],
  );
  return earlier.length + 1 >= MOST_ATTEMPTS;
}
