/**
 * Step `settle`: the auditors sign the verdict, it is posted, and the status of every receipt is read back from the
 * chain. What the contract says is what the order's outcome becomes; our own finding never stands in for it.
 *
 * A reorganisation since the audit sends the batch back to it: the commit may be gone, or the seed another one.
 */
import { keccak256, toUtf8Bytes } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { batchRoot, boundIndexes, leafHash, merklePaths, type ReceiptStatus } from '../../receipts/index.js';
import type { Hex } from '../../receipts/types.js';
import { bitmapOf, type AuditVerdict } from '../../verifier-contracts/audit-verdict.js';
import { failPoint } from '../fail-points.js';
import { fenced, type Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadBatch, type StoredBatch } from './load-batch.js';
import { performForBatch } from './perform.js';
import { windowClosed } from './window-closed.js';

const OUTCOMES: Partial<Record<ReceiptStatus, 'accepted' | 'rejected' | 'void' | 'failed'>> = {
  'final-sampled': 'accepted',
  invalid: 'rejected',
  void: 'void',
  unknown: 'failed',
};

export async function settleBatch(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { chain, database, pollMs } = context;
  const batch = await loadBatch(database, claim.subject);
  const { header, batchHash, seed } = batch;
  if (header === null) throw new AssayError('INTERNAL', `Batch ${batchHash} is to be settled but was not committed.`);
  if (!(await stillAsAudited(context, batch))) return { kind: 'advance', next: 'audit' };

  if (seed !== null && (await chain.verdictOf(batchHash)) === null && !(await windowClosed(chain, header))) {
    const { verdict, signatures } = await signedVerdict(context, claim, batch, seed);
    try {
      if (
        (await performForBatch(context, 'verdict', batchHash, chain.reportAuditCall(header, verdict, signatures))) ===
        null
      ) {
        return { kind: 'wait', forMs: pollMs };
      }
    } catch (error) {
      // Somebody else reported the same verdict, or the window has closed: the statuses tell which.
      const name = error instanceof AssayError ? error.meta['error'] : undefined;
      if (name !== 'AuditKnown' && name !== 'AuditClosed') throw error;
    }
  }
  failPoint('settle.after-verdict-posted');

  const leaves = batch.receipts.map(({ receiptHash }, index) => leafHash(index, header.lane, receiptHash));
  if (batchRoot(leaves) !== header.batchRoot)
    throw new AssayError('INTERNAL', `Batch ${batchHash}: the stored receipts do not give the posted root.`);
  const block = (await chain.blockNumber()) - context.confirmations + 1;
  const paths = merklePaths(leaves);
  const statuses = await Promise.all(
    batch.receipts.map(({ receipt }, index) => chain.statusOf(receipt, index, paths[index]!, header, block)),
  );
  if (statuses.includes('pending')) return { kind: 'wait', forMs: pollMs };
  // A receipt that the commit bound and the contract does not know: the chain has been reorganised under our eyes.
  if (boundIndexes(header).some((index) => statuses[index] === 'unknown')) return { kind: 'wait', forMs: pollMs };
  failPoint('settle.before-status-stored');
  return { kind: 'advance', next: 'done', write: (tx) => writeOutcomes(tx, context, batch, statuses) };
}

/** The commit stands where the audit saw it, and the seed is the one that the audit drew by, to the end. */
async function stillAsAudited({ chain, database }: StageContext, batch: StoredBatch): Promise<boolean> {
  const { batchHash, commitTx, commitBlockHash, header, seed } = batch;
  const mined = await chain.minedAs(commitTx!);
  if (mined === null || mined.blockHash !== commitBlockHash) return false;
  if ((await chain.seedOf(batchHash)) !== seed) return false;
  const open = await database.query('SELECT 1 FROM assay.draws WHERE batch_hash = $1 AND finding IS NULL LIMIT 1', [
    batchHash,
  ]);
  // The audit leaves something open only where the window has closed.
  return open.length === 0 || windowClosed(chain, header!);
}

/** The verdict over what was found, with enough signatures; stored before it is used, so that it never changes. */
async function signedVerdict(
  context: StageContext,
  claim: Claim,
  batch: StoredBatch,
  seed: Hex,
): Promise<{ verdict: AuditVerdict; signatures: Hex[] }> {
  const { database, chain, auditors } = context;
  const { batchHash } = batch;
  const [stored] = await database.query<{
    verdict_json: Omit<AuditVerdict, 'kills' | 'voided'> & { kills: string; voided: string };
    signatures: Hex[];
  }>('SELECT verdict_json, signatures FROM assay.verdicts WHERE batch_hash = $1', [batchHash]);
  if (stored !== undefined && stored.verdict_json.seed === seed) {
    const { kills, voided } = stored.verdict_json;
    return {
      verdict: { ...stored.verdict_json, kills: BigInt(kills), voided: BigInt(voided) },
      signatures: stored.signatures,
    };
  }
  const found = await database.query<{ batch_index: number; finding: string }>(
    `SELECT batch_index, finding FROM assay.draws WHERE batch_hash = $1 AND finding IN ('fraud', 'undecided')`,
    [batchHash],
  );
  const leavesFound = (as: string): bigint =>
    bitmapOf(found.filter(({ finding }) => finding === as).map(({ batch_index }) => batch_index));
  const verdict: AuditVerdict = {
    batchHash,
    seed,
    kills: leavesFound('fraud'),
    voided: leavesFound('undecided'),
    resultsRoot: await resultsRoot(context, batchHash),
  };
  const wanted = [...auditors]
    .filter(({ address }) => chain.policy.auditors.includes(address))
    .sort((a, b) => (a.address < b.address ? -1 : 1));
  if (wanted.length < chain.policy.quorum) {
    throw new AssayError(
      'AUDITORS_MISSING',
      `Batch ${batchHash}: ${chain.policy.quorum} auditors must sign, ${wanted.length} of the policy's are connected.`,
      { meta: { batchHash } },
    );
  }
  failPoint('settle.before-verdict-signed');
  const signatures = await Promise.all(
    wanted.slice(0, chain.policy.quorum).map((auditor) => auditor.signVerdict(verdict)),
  );
  failPoint('settle.after-verdict-signed');
  await fenced(database, claim, (tx) =>
    tx.execute(
      `INSERT INTO assay.verdicts (batch_hash, verdict_json, signatures, signed_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (batch_hash) DO UPDATE SET verdict_json = $2, signatures = $3, signed_at = $4`,
      [
        batchHash,
        JSON.stringify({ ...verdict, kills: String(verdict.kills), voided: String(verdict.voided) }),
        JSON.stringify(signatures),
        context.clock(),
      ],
    ),
  );
  failPoint('settle.after-verdict-stored');
  return { verdict, signatures };
}

/** keccak of the canonical list of the checkers' results: one line each, by index and round. */
async function resultsRoot(context: StageContext, batchHash: Hex): Promise<Hex> {
  const rows = await context.database.query<Record<string, string | number>>(
    'SELECT batch_index, round, checker, input_root, output_root, trace_root FROM assay.audits WHERE batch_hash = $1 ORDER BY batch_index, round',
    [batchHash],
  );
  const lines = rows.map((r) =>
    [r['batch_index'], r['round'], r['checker'], r['input_root'], r['output_root'], r['trace_root']].join(' '),
  );
  return keccak256(toUtf8Bytes(lines.join('\n'))) as Hex;
}

async function writeOutcomes(
  tx: Parameters<NonNullable<Extract<StepEnd, { kind: 'advance' }>['write']>>[0],
  context: StageContext,
  batch: StoredBatch,
  statuses: readonly ReceiptStatus[],
): Promise<void> {
  const now = context.clock();
  const { batchHash } = batch;
  await tx.execute('UPDATE assay.batches SET settled_at = $2 WHERE batch_hash = $1', [batchHash, now]);
  const rows = batch.receipts.map(({ receipt }, index) => {
    const status = statuses[index]!;
    const outcome = OUTCOMES[status];
    if (outcome === undefined)
      throw new AssayError(
        'INTERNAL',
        `Batch ${batchHash}: receipt ${index} has the status ${status} after its verdict.`,
      );
    const error =
      outcome === 'failed'
        ? new AssayError('RECEIPT_UNBOUND', `Receipt ${index} of batch ${batchHash} did not bind on chain.`, {
            meta: { batchHash, index },
          }).toJSON()
        : null;
    return { orderHash: receipt.orderHash, status, outcome, error };
  });
  const columns = [
    rows.map((r) => r.orderHash),
    rows.map((r) => r.status),
    rows.map((r) => r.outcome),
    rows.map((r) => (r.error === null ? null : JSON.stringify(r.error))),
  ];
  await tx.execute(
    `UPDATE assay.receipts r SET chain_status = o.status FROM unnest($1::text[], $2::text[]) AS o (order_hash, status) WHERE r.order_hash = o.order_hash`,
    columns.slice(0, 2),
  );
  await tx.execute(
    `UPDATE assay.orders t SET outcome = o.outcome, error = o.error::jsonb, ended_at = $4
       FROM unnest($1::text[], $2::text[], $3::text[]) AS o (order_hash, outcome, error) WHERE t.order_hash = o.order_hash`,
    [columns[0], columns[2], columns[3], now],
  );
  await tx.execute(`UPDATE assay.work SET step = 'done' WHERE subject = ANY($1::text[])`, [columns[0]]);
  // Who was caught gets no more work.
  await tx.execute(
    `UPDATE assay.nodes n SET suspended_at = $2, reason = 'fraud in batch ' || $1
       FROM assay.receipts r JOIN assay.draws d ON d.batch_hash = r.batch_hash AND d.batch_index = r.batch_index
      WHERE r.batch_hash = $1 AND d.finding = 'fraud' AND n.address = r.executor AND n.suspended_at IS NULL`,
    [batchHash, now],
  );
}
