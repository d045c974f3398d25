/**
 * Step `settle`: the auditors sign the verdict, it is posted, and the status of every receipt is read back from the
 * chain. What the contracts say is what the order's outcome becomes; our own finding never stands in for it. The money
 * follows in the step `pay`.
 *
 * A reorganisation since the audit sends the batch back to it: the commit may be gone, or the seed another one.
 */
import { AssayError } from '../../common/errors.js';
import { failPoint } from '../fail-points.js';
import type { CourtPort } from '../ports.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadBatch, type StoredBatch } from './load-batch.js';
import { performOnce, refusalOf } from './perform.js';
import { readStatuses } from './read-statuses.js';
import { signedVerdict } from './signed-verdict.js';
import { windowClosed } from './window-closed.js';
import { writeOutcomes } from './write-outcomes.js';

export async function settleBatch(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { chain, database, pollMs } = context;
  const batch = await loadBatch(database, claim.subject);
  const { header, batchHash, seed } = batch;
  if (header === null) throw new AssayError('INTERNAL', `Batch ${batchHash} is to be settled but was not committed.`);
  const court = await chain.courtOf(header.policyHash);
  if (!(await stillAsAudited(context, court, batch))) return { kind: 'advance', next: 'audit' };

  if (seed !== null && (await court.verdictOf(batchHash)) === null && !(await windowClosed(chain, court, header))) {
    const { verdict, signatures } = await signedVerdict(context, claim, batch, court.terms, seed);
    const call = court.reportAuditCall(header, verdict, signatures);
    try {
      if ((await performOnce(context, 'verdict', batchHash, call)) === null) return { kind: 'wait', forMs: pollMs };
    } catch (error) {
      // Somebody else reported the same verdict, or the window has closed: the statuses tell which.
      const name = refusalOf(error)?.name;
      if (name !== 'AuditKnown' && name !== 'AuditClosed') throw error;
    }
  }
  failPoint('settle.after-verdict-posted');

  const statuses = await readStatuses(context, batch);
  if (statuses === null) return { kind: 'wait', forMs: pollMs };
  failPoint('settle.before-status-stored');
  return { kind: 'advance', next: 'pay', write: (tx) => writeOutcomes(tx, context, batch, statuses) };
}

/** The commit stands where the audit saw it, and the seed is the one that the audit drew by, to the end. */
async function stillAsAudited(
  { chain, database }: StageContext,
  court: CourtPort,
  batch: StoredBatch,
): Promise<boolean> {
  const { batchHash, commitTx, commitBlockHash, header, seed } = batch;
  const mined = await chain.minedAs(commitTx!);
  if (mined === null || mined.blockHash !== commitBlockHash) return false;
  if ((await court.seedOf(batchHash)) !== seed) return false;
  const open = await database.query('SELECT 1 FROM assay.draws WHERE batch_hash = $1 AND finding IS NULL LIMIT 1', [
    batchHash,
  ]);
  // The audit leaves something open only where the window has closed.
  return open.length === 0 || windowClosed(chain, court, header!);
}
