/**
 * Step `challenge` (optimistic lane): the window passes in which anybody may show a receipt of the batch to be wrong. Nothing
 * has to be sent for a receipt to become final, and disputes are other people's: watchers accuse, the executor answers
 * (`assay watch`, `assay answer`). What the contracts say in the end is the order's outcome.
 */
import { AssayError } from '../../common/errors.js';
import { failPoint } from '../fail-points.js';
import { fenced, type Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadBatch } from './load-batch.js';
import { readStatuses } from './read-statuses.js';
import { commitStands, reorganised } from './reorganised.js';
import { writeOutcomes } from './write-outcomes.js';

export async function awaitChallenges(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { chain, database, pollMs } = context;
  const batch = await loadBatch(database, claim.subject);
  const { batchHash, header } = batch;
  if (header === null)
    throw new AssayError('INTERNAL', `Batch ${batchHash} is to be open to challenges but was not committed.`);
  if (!(await commitStands(context, batch))) return reorganised(context, batch);
  const game = await chain.gameOf(header.policyHash);
  const windowEnd = game.windowEndOf(header);
  if ((await chain.clock()) <= windowEnd) {
    // A leaf that dies earlier is settled by whoever kills it; the batch's outcomes are written once.
    await fenced(database, claim, (tx) =>
      tx.execute('UPDATE assay.batches SET unpaid_until = $2 WHERE batch_hash = $1', [batchHash, windowEnd]),
    );
    return { kind: 'wait', forMs: 'when the chain says' };
  }
  const statuses = await readStatuses(context, batch);
  // Disputes go on, for as long as their levels take.
  if (statuses === null) return { kind: 'wait', forMs: pollMs };
  failPoint('challenge.before-status-stored');
  return { kind: 'advance', next: 'pay', write: (tx) => writeOutcomes(tx, context, batch, statuses) };
}
