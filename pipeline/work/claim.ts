/**
 * Fencing. A worker claims one attempt of one step; every change that the step makes is committed together with a look
 * at the fence. Whoever comes late, a twin or a worker given up for dead, changes nothing.
 */
import type { Database, Queryable } from '../database/database.js';
import { failPoint } from '../fail-points.js';
import type { Hint } from '../queue/step-queue.js';
import { isActive, WHEN_THE_CHAIN_SAYS, type ActiveStep, type Kind, type Step } from './steps.js';

export interface Claim {
  readonly subject: string;
  readonly kind: Kind;
  readonly step: ActiveStep;
  readonly attempt: number;
  readonly retries: number;
  readonly instance: string;
}

/** The attempt is no longer this worker's: somebody else has taken the step up. Nothing was changed. */
export class Fenced extends Error {
  constructor(claim: Claim) {
    super(`attempt ${claim.attempt} of ${claim.step} on ${claim.subject} has been taken over`);
  }
}

/** @returns null where the hint is stale, not due yet, or another worker has the attempt. */
export async function claimStep(database: Database, hint: Hint, instance: string, now: number): Promise<Claim | null> {
  if (!isActive(hint.step)) return null;
  const rows = await database.query<{ kind: Kind; retries: number }>(
    `WITH claimed AS (
       UPDATE assay.work SET claimed_by = $4, claimed_at = $5
        WHERE subject = $1 AND step = $2 AND attempt = $3 AND claimed_by IS NULL AND due_at <= $5
       RETURNING subject, attempt, step, kind, retries
     ), noted AS (
       INSERT INTO assay.attempts (subject, attempt, step, instance, started_at)
       SELECT subject, attempt, step, $4, $5 FROM claimed
       ON CONFLICT (subject, attempt) DO UPDATE SET instance = $4, executor = NULL, ended_at = NULL, outcome = NULL
     )
     SELECT kind, retries FROM claimed`,
    [hint.subject, hint.step, hint.attempt, instance, now],
  );
  const row = rows[0];
  if (row === undefined) return null;
  failPoint('step.after-claim');
  return {
    subject: hint.subject,
    step: hint.step,
    attempt: hint.attempt,
    instance,
    kind: row.kind,
    retries: row.retries,
  };
}

/**
 * A transaction inside a step that stays in that step.
 * @throws Fenced
 */
export function fenced<T>(database: Database, claim: Claim, work: (tx: Queryable) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    const held = await tx.query(
      'SELECT 1 FROM assay.work WHERE subject = $1 AND step = $2 AND attempt = $3 AND claimed_by = $4 FOR UPDATE',
      [claim.subject, claim.step, claim.attempt, claim.instance],
    );
    if (held.length === 0) throw new Fenced(claim);
    return work(tx);
  });
}

/**
 * Ends the attempt and makes `next` due, in the transaction of the step's own changes; `expire` when the chain says so.
 * @throws Fenced
 */
export async function advance(tx: Queryable, claim: Claim, next: Step, now: number): Promise<void> {
  const dueAt = next === 'expire' ? WHEN_THE_CHAIN_SAYS : now;
  await release(tx, claim, { outcome: 'done', next, retries: 0, dueAt, error: null }, now);
  if (isActive(next) && dueAt === now) await enqueue(tx, claim.subject, next, claim.attempt + 1);
}

/**
 * Ends the attempt without result and makes the same step due again. However often a step looks and waits, it is one row
 * of `assay.attempts`: waiting hands the row on to the attempt that looks next.
 * @throws Fenced
 */
export async function again(
  tx: Queryable,
  claim: Claim,
  how: {
    readonly outcome: 'waiting' | 'failed';
    readonly retries: number;
    readonly dueAt: number;
    readonly error: unknown;
  },
  now: number,
): Promise<void> {
  // No outbox row: the sweeper gives the hint when the step is due.
  await release(tx, claim, { ...how, next: claim.step }, now);
}

async function release(
  tx: Queryable,
  claim: Claim,
  how: {
    readonly outcome: string;
    readonly next: Step;
    readonly retries: number;
    readonly dueAt: number;
    readonly error: unknown;
  },
  now: number,
): Promise<void> {
  const error = how.error === null ? null : JSON.stringify(how.error);
  const hintedAt = how.outcome === 'done' ? now : 0;
  const changed = await tx.execute(
    `WITH moved AS (
       UPDATE assay.work
          SET step = $5, attempt = attempt + 1, retries = $6, due_at = $7, hinted_at = $8, claimed_by = NULL, last_error = $9
        WHERE subject = $1 AND step = $2 AND attempt = $3 AND claimed_by = $4
       RETURNING subject
     )
     UPDATE assay.attempts SET ended_at = $10, outcome = $11, error = $9, attempt = attempt + $12
      WHERE subject = (SELECT subject FROM moved) AND attempt = $3`,
    [
      claim.subject,
      claim.step,
      claim.attempt,
      claim.instance,
      how.next,
      how.retries,
      how.dueAt,
      hintedAt,
      error,
      now,
      how.outcome,
      how.outcome === 'waiting' ? 1 : 0,
    ],
  );
  if (changed !== 1) throw new Fenced(claim);
}

/** Asks for a hint, in the transaction that makes the step due. */
export async function enqueue(tx: Queryable, subject: string, step: ActiveStep, attempt: number): Promise<void> {
  await tx.execute('INSERT INTO assay.outbox (subject, step, attempt) VALUES ($1, $2, $3)', [subject, step, attempt]);
}

/**
 * Moves orders or batches on which nobody is at work to a step that is due now; to `expire` when the chain says so. In
 * the transaction of the changes that lead there.
 */
export async function moveTo(
  tx: Queryable,
  subjects: readonly string[],
  step: 'accept' | 'run' | 'audit' | 'post' | 'pay' | 'expire',
  now: number,
): Promise<void> {
  const dueAt = step === 'expire' ? WHEN_THE_CHAIN_SAYS : now;
  await tx.execute(
    `WITH moved AS (
       UPDATE assay.work SET step = $2, attempt = attempt + 1, retries = 0, due_at = $3, hinted_at = $4, claimed_by = NULL
        WHERE subject = ANY($1::text[]) RETURNING subject, attempt
     )
     INSERT INTO assay.outbox (subject, step, attempt) SELECT subject, $2, attempt FROM moved WHERE $3 <= $4`,
    [subjects, step, dueAt, now],
  );
}
