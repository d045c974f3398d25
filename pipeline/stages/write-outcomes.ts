import { AssayError } from '../../common/errors.js';
import type { ReceiptStatus } from '../../receipts/index.js';
import type { Queryable } from '../database/database.js';
import { moveTo } from '../work/claim.js';
import type { StageContext } from './context.js';
import type { StoredBatch } from './load-batch.js';

const OUTCOMES: Partial<Record<ReceiptStatus, 'accepted' | 'rejected' | 'void' | 'failed'>> = {
  'final-optimistic': 'accepted',
  'final-sampled': 'accepted',
  invalid: 'rejected',
  void: 'void',
  unknown: 'failed',
};

/**
 * The orders' outcomes, as the contract's statuses say them. A receipt that did not bind has left its order open: that ends
 * when it can be expired.
 */
export async function writeOutcomes(
  tx: Queryable,
  context: StageContext,
  batch: StoredBatch,
  statuses: readonly ReceiptStatus[],
): Promise<void> {
  const now = context.clock();
  const { batchHash } = batch;
  await tx.execute('UPDATE assay.batches SET settled_at = $2 WHERE batch_hash = $1', [batchHash, now]);
  const rows = batch.receipts.flatMap(({ receipt, ours }, index) => {
    if (!ours) return [];
    const status = statuses[index]!;
    const outcome = OUTCOMES[status];
    if (outcome === undefined)
      throw new AssayError(
        'INTERNAL',
        `Batch ${batchHash}: receipt ${index} has the status ${status}, and was to be final.`,
      );
    const error =
      outcome === 'failed'
        ? new AssayError('RECEIPT_UNBOUND', `Receipt ${index} of batch ${batchHash} did not bind on chain.`, {
            meta: { batchHash, index },
          }).toJSON()
        : null;
    return [{ orderHash: receipt.orderHash, status, outcome, error }];
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
  const unbound = rows.filter(({ outcome }) => outcome === 'failed').map(({ orderHash }) => orderHash);
  await moveTo(tx, unbound, 'expire', now);
  // Who was caught gets no more work: by the audit's finding, which the verdict may have come too late for; or on chain.
  await tx.execute(
    `UPDATE assay.nodes n SET suspended_at = $2, reason = 'fraud in batch ' || $1
       FROM assay.receipts r LEFT JOIN assay.draws d ON d.batch_hash = r.batch_hash AND d.batch_index = r.batch_index
      WHERE r.batch_hash = $1 AND (d.finding = 'fraud' OR r.chain_status = 'invalid')
        AND n.address = r.executor AND n.suspended_at IS NULL`,
    [batchHash, now],
  );
}
