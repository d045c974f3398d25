/**
 * The sweeper: whatever became of the queue and of other processes, every due step gets a hint.
 *
 *  1. A claim of an instance that no longer lives is lost: the step becomes due again under a new attempt.
 *  2. A step that has become due since its last hint, or whose hint has gone unanswered, is hinted at.
 */
import type { Database } from '../database/database.js';
import { PASSIVE_STEPS, WHEN_THE_CHAIN_SAYS } from './steps.js';

export interface SweepOptions {
  readonly instance: string;
  /** Attempts that this instance is working on, as `subject#attempt`: a claim of its own that is not among them is lost. */
  readonly atWork: readonly string[];
  /** An instance whose heartbeat is older is dead. */
  readonly deadAfterMs: number;
  /** A hint that is older and unclaimed is given again. */
  readonly hintAgainMs: number;
}

/** A claim of ours that is younger may have been made while `atWork` was being read. */
const CLAIM_GRACE_MS = 5_000;

const ACTIVE = `step NOT IN (${PASSIVE_STEPS.map((step) => `'${step}'`).join(', ')})`;

export async function heartbeat(database: Database, instance: string, now: number): Promise<void> {
  await database.execute(
    `INSERT INTO assay.instances (id, pid, started_at, heartbeat_at) VALUES ($1, $2, $3, $3)
     ON CONFLICT (id) DO UPDATE SET heartbeat_at = $3`,
    [instance, process.pid, now],
  );
}

/** @returns the number of steps that were hinted at. */
export async function sweep(database: Database, options: SweepOptions, now: number): Promise<number> {
  await heartbeat(database, options.instance, now);
  return database.transaction(async (tx) => {
    await tx.execute('DELETE FROM assay.instances WHERE heartbeat_at < $1', [now - options.deadAfterMs]);
    await tx.execute(
      `WITH lost AS (
         UPDATE assay.work SET attempt = attempt + 1, claimed_by = NULL, hinted_at = 0
          WHERE ${ACTIVE} AND claimed_by IS NOT NULL
            AND (claimed_by NOT IN (SELECT id FROM assay.instances)
                 OR (claimed_by = $1 AND claimed_at < $4 AND NOT (subject || '#' || attempt) = ANY($2::text[])))
         RETURNING subject, attempt
       )
       UPDATE assay.attempts a SET ended_at = $3, outcome = 'lost'
         FROM lost WHERE a.subject = lost.subject AND a.attempt = lost.attempt - 1`,
      [options.instance, options.atWork, now, now - CLAIM_GRACE_MS],
    );
    return tx.execute(
      `WITH due AS (
         UPDATE assay.work SET hinted_at = $1
          WHERE ${ACTIVE} AND claimed_by IS NULL AND due_at <= $1 AND (hinted_at < due_at OR hinted_at < $2)
         RETURNING subject, step, attempt
       )
       INSERT INTO assay.outbox (subject, step, attempt) SELECT subject, step, attempt FROM due`,
      [now, now - options.hintAgainMs],
    );
  });
}

/**
 * Makes due what waited for the chain's clock: orders whose `deliverBy` has passed, and batches that can no longer be
 * challenged, or whose outputs can no longer be demanded.
 * @param chainClock the contract's
 */
export async function wakeByChainClock(database: Database, chainClock: number, now: number): Promise<void> {
  await database.execute(
    `UPDATE assay.work w SET due_at = $2 FROM (
       SELECT order_hash AS subject, deliver_by AS until FROM assay.orders
       UNION ALL SELECT batch_hash, unpaid_until FROM assay.batches) t
      WHERE t.subject = w.subject AND t.until < $1 AND w.step IN ('expire', 'challenge', 'pay') AND w.claimed_by IS NULL AND w.due_at = $3`,
    [chainClock, now, WHEN_THE_CHAIN_SAYS],
  );
}

/**
 * At the start of the only process of a database: nobody else can be at work, so every claim is void, and every due step
 * gets a new attempt. Hints from before are stale then, also those that the queue believes to be in a dead worker's hands.
 */
export async function takeUpAll(database: Database, now: number): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.execute('DELETE FROM assay.instances');
    await tx.execute('DELETE FROM assay.outbox');
    await tx.execute(`UPDATE assay.attempts SET ended_at = $1, outcome = 'lost' WHERE ended_at IS NULL`, [now]);
    await tx.execute(`UPDATE assay.work SET attempt = attempt + 1, claimed_by = NULL, hinted_at = 0 WHERE ${ACTIVE}`);
  });
}
