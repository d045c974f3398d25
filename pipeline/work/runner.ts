/** Runs one attempt of one step: claim, work, commit; and writes down what went wrong. It never rejects. */
import type { AssayError } from '../../common/errors.js';
import { asAssayError } from '../../common/errors.js';
import type { Database, Queryable } from '../database/database.js';
import { failPoint } from '../fail-points.js';
import type { Hint } from '../queue/step-queue.js';
import { advance, again, claimStep, Fenced, type Claim } from './claim.js';
import { WHEN_THE_CHAIN_SAYS, type ActiveStep, type Step } from './steps.js';

/** What a step ends with. */
export type StepEnd =
  /** Done: `write` and the change of step are committed together. */
  | { readonly kind: 'advance'; readonly next: Step; readonly write?: (tx: Queryable) => Promise<void> }
  /** Not ready (a block to come, a transaction to be mined): look again later. No failure; `error` says what it waits for. */
  | { readonly kind: 'wait'; readonly forMs: number; readonly error?: AssayError }
  /** Not before the chain's clock has passed the order's `deliver_by`, or the batch's `unpaid_until`. */
  | { readonly kind: 'wait'; readonly forMs: 'when the chain says'; readonly error?: undefined };

export type Stage = (claim: Claim) => Promise<StepEnd>;

/** What a failure means: try again, or give the order up (`write` records why). */
export type OnFailure = (
  claim: Claim,
  error: AssayError,
) => Promise<'retry' | { readonly next: Step; readonly write: (tx: Queryable) => Promise<void> }>;

export interface RunnerParts {
  readonly database: Database;
  readonly instance: string;
  readonly clock: () => number;
  readonly stages: Readonly<Record<ActiveStep, Stage>>;
  readonly onFailure: OnFailure;
  /** Told after each commit: hints may be waiting in the outbox, somebody may wait for this subject. */
  readonly onChange: (claim: Claim, dueInMs: number) => void;
}

const BACKOFF_FIRST_MS = 200;
const BACKOFF_MOST_MS = 30_000;

/** 0.2 s, 0.4 s, 0.8 s ... 30 s. */
export function backoffMs(retries: number): number {
  return Math.min(BACKOFF_FIRST_MS * 2 ** Math.min(retries, 20), BACKOFF_MOST_MS);
}

export class Runner {
  /** `subject#attempt` of everything in hand. */
  readonly atWork = new Set<string>();

  constructor(private readonly parts: RunnerParts) {}

  async run(hint: Hint): Promise<void> {
    const key = `${hint.subject}#${hint.attempt}`;
    // The same hint twice at once: the twin has nothing to add.
    if (this.atWork.has(key)) return;
    this.atWork.add(key);
    try {
      const claim = await claimStep(this.parts.database, hint, this.parts.instance, this.parts.clock());
      if (claim !== null) await this.attempt(claim);
    } catch {
      // The database failed. The row says that the step is due, or claimed by us without our working on it: the
      // sweeper takes it up again.
    } finally {
      this.atWork.delete(key);
    }
  }

  private async attempt(claim: Claim): Promise<void> {
    const { database, clock, stages, onChange } = this.parts;
    try {
      const end = await stages[claim.step](claim);
      if (end.kind === 'wait') {
        const now = clock();
        const dueAt = end.forMs === 'when the chain says' ? WHEN_THE_CHAIN_SAYS : now + end.forMs;
        await database.transaction((tx) =>
          again(tx, claim, { outcome: 'waiting', retries: claim.retries, dueAt, error: end.error ?? null }, now),
        );
        onChange(claim, dueAt === WHEN_THE_CHAIN_SAYS ? 0 : dueAt - now);
        return;
      }
      failPoint('step.before-commit');
      await database.transaction(async (tx) => {
        await advance(tx, claim, end.next, clock());
        await end.write?.(tx);
      });
      failPoint('step.after-commit');
      if (claim.step === 'settle') failPoint('settle.after-settled');
      onChange(claim, 0);
    } catch (error) {
      if (error instanceof Fenced) return;
      await this.failed(claim, asAssayError(error));
    }
  }

  private async failed(claim: Claim, error: AssayError): Promise<void> {
    const { database, clock, onFailure, onChange } = this.parts;
    const verdict = await onFailure(claim, error);
    try {
      if (verdict === 'retry') {
        const waitMs = backoffMs(claim.retries);
        await database.transaction((tx) =>
          again(tx, claim, { outcome: 'failed', retries: claim.retries + 1, dueAt: clock() + waitMs, error }, clock()),
        );
        onChange(claim, waitMs);
      } else {
        await database.transaction(async (tx) => {
          await advance(tx, claim, verdict.next, clock());
          await verdict.write(tx);
        });
        onChange(claim, 0);
      }
    } catch (fence) {
      if (!(fence instanceof Fenced)) throw fence;
    }
  }
}
