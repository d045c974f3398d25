import { keccak256, toUtf8Bytes } from 'ethers';
import { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import { bitmapOf, checkerBytes, type AuditVerdict } from '../../verifier-contracts/audit-verdict.js';
import type { CourtTerms } from '../../verifier-contracts/court-terms.js';
import { failPoint } from '../fail-points.js';
import type { AuditorPort } from '../ports.js';
import { fenced, type Claim } from '../work/claim.js';
import type { StageContext } from './context.js';
import type { StoredBatch } from './load-batch.js';

/**
 * The verdict over what was found, with enough signatures; stored before it is used, so that it never changes. Every drawn
 * leaf is one auditor's to answer for, in turn among those who sign: what is paid for its check is paid to him.
 */
export async function signedVerdict(
  context: StageContext,
  claim: Claim,
  batch: StoredBatch,
  terms: CourtTerms,
  seed: Hex,
): Promise<{ verdict: AuditVerdict; signatures: Hex[] }> {
  const { database, auditors } = context;
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
  const signing = signers(auditors, terms, batchHash);
  const draws = await database.query<{ batch_index: number; finding: string | null }>(
    'SELECT batch_index, finding FROM assay.draws WHERE batch_hash = $1 ORDER BY batch_index',
    [batchHash],
  );
  const leavesFound = (as: string): bigint =>
    bitmapOf(draws.filter(({ finding }) => finding === as).map(({ batch_index }) => batch_index));
  const place = (turn: number): number => terms.auditors.indexOf(signing[turn % signing.length]!.address);
  const verdict: AuditVerdict = {
    batchHash,
    seed,
    kills: leavesFound('fraud'),
    voided: leavesFound('undecided'),
    resultsRoot: await resultsRoot(context, batchHash),
    checkers: checkerBytes(
      batch.receipts.length,
      draws.map(({ batch_index }, turn) => [batch_index, place(turn)] as const),
    ),
    // Who sends the report is paid for it, also where somebody else copies the call.
    reporter: context.journal.address as Hex,
  };
  failPoint('settle.before-verdict-signed');
  const signatures = await Promise.all(signing.map((auditor) => auditor.signVerdict(verdict)));
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

/** As many auditors of the court as it wants, in ascending order of their addresses. @throws AssayError AUDITORS_MISSING */
function signers(
  auditors: readonly AuditorPort[],
  { quorum, auditors: ofCourt }: CourtTerms,
  batchHash: Hex,
): AuditorPort[] {
  const able = auditors
    .filter(({ address }) => ofCourt.includes(address))
    .sort((a, b) => (a.address < b.address ? -1 : 1));
  if (able.length >= quorum) return able.slice(0, quorum);
  throw new AssayError(
    'AUDITORS_MISSING',
    `Batch ${batchHash}: ${quorum} auditors must sign, ${able.length} of the court's are connected.`,
    { meta: { batchHash } },
  );
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
