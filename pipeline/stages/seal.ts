/** Sealing: receipts without a batch become one, when there are enough of them or the oldest has waited long enough. */
import { randomBytes } from 'node:crypto';
import { batchHash, batchRoot, leafHash } from '../../receipts/index.js';
import type { Hex, Lane } from '../../receipts/types.js';
import { failPoint } from '../fail-points.js';
import type { ReceiptJson } from '../store/order-json.js';
import { enqueue } from '../work/claim.js';
import type { StageContext } from './context.js';

/** Receipts of the zk lane stand by their proof: no contract of this release takes them. */
const LANE: Lane = 'sampled';

export interface SealRule {
  /** Most receipts of a batch, 1 to 256. */
  readonly size: number;
  /** The oldest receipt waits at most this long. */
  readonly ageMs: number;
}

/** @returns the hash of the batch that was sealed, or null where none was due. */
export async function sealBatch(context: StageContext, rule: SealRule): Promise<Hex | null> {
  const { database, chain, journal, clock } = context;
  const now = clock();
  const [open] = await database.query<{ count: number; oldest: string | null }>(
    'SELECT COUNT(*)::int AS count, MIN(signed_at) AS oldest FROM assay.receipts WHERE batch_hash IS NULL AND lane = $1',
    [LANE],
  );
  if (open === undefined || open.count === 0) return null;
  if (open.count < rule.size && Number(open.oldest) > now - rule.ageMs) return null;

  const sealed = await database.transaction(async (tx) => {
    const rows = await tx.query<{ receipt_hash: Hex; order_hash: string; receipt_json: ReceiptJson }>(
      `SELECT receipt_hash, order_hash, receipt_json FROM assay.receipts WHERE batch_hash IS NULL AND lane = $2
        ORDER BY signed_at, receipt_hash LIMIT $1 FOR UPDATE SKIP LOCKED`,
      [rule.size, LANE],
    );
    if (rows.length === 0) return null;
    const lane = LANE;
    const salt: Hex = `0x${randomBytes(32).toString('hex')}`;
    const poster = journal.address as Hex;
    const root = batchRoot(rows.map((row, index) => leafHash(index, lane, row.receipt_hash)));
    const hash = batchHash({ lane, count: rows.length, poster, salt, batchRoot: root }, chain.domain);
    await tx.execute(
      `INSERT INTO assay.work (subject, kind, step, attempt, due_at, hinted_at) VALUES ($1, 'batch', 'post', 1, $2, $2)`,
      [hash, now],
    );
    await tx.execute(
      'INSERT INTO assay.batches (batch_hash, salt, poster, count, sealed_at) VALUES ($1, $2, $3, $4, $5)',
      [hash, salt, poster, rows.length, now],
    );
    await tx.execute(
      `UPDATE assay.receipts r SET batch_hash = $1, batch_index = o.at - 1
         FROM unnest($2::text[]) WITH ORDINALITY AS o (receipt_hash, at) WHERE r.receipt_hash = o.receipt_hash`,
      [hash, rows.map((row) => row.receipt_hash)],
    );
    await tx.execute(`UPDATE assay.work SET step = 'batched' WHERE subject = ANY($1::text[])`, [
      rows.map((row) => row.order_hash),
    ]);
    await enqueue(tx, hash, 'post', 1);
    failPoint('seal.before-commit');
    return hash;
  });
  if (sealed !== null) failPoint('seal.after-commit');
  return sealed;
}
