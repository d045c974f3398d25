/**
 * Orders that can be opened become one opening, when there are enough of them or the oldest has waited long enough.
 *
 * An order gets an opening of its own, and at once, where its requester is a contract: asked for his signature
 * (ERC-1271), it may spend more gas than it did when the gas was estimated, and what is opened with it would fail with
 * it. So does each order of an opening that has failed (open.ts).
 */
import { randomBytes } from 'node:crypto';
import type { Hex } from '../../receipts/types.js';
import { failPoint } from '../fail-points.js';
import { enqueue } from '../work/claim.js';
import type { StageContext } from './context.js';
import type { SealRule } from './seal.js';

/** Most orders of one transaction: about 200,000 gas each, and a transaction may take 16.7 million (EIP-7825). */
export const MOST_IN_CALL = 48;

/** @returns the name of the opening, or null where none was due. */
export async function sealOpening(
  { database, clock }: Pick<StageContext, 'database' | 'clock'>,
  { ageMs }: Pick<SealRule, 'ageMs'>,
): Promise<Hex | null> {
  const now = clock();
  const sealed = await database.transaction(async (tx) => {
    const waiting = await tx.query<{ order_hash: string; accepted_at: string; alone: boolean }>(
      `SELECT o.order_hash, o.accepted_at, o.alone FROM assay.orders o JOIN assay.work w ON w.subject = o.order_hash
        WHERE w.step = 'opening' AND o.opening IS NULL AND o.outcome IS NULL ORDER BY o.alone DESC, o.accepted_at, o.order_hash LIMIT $1 FOR UPDATE OF o SKIP LOCKED`,
      [MOST_IN_CALL],
    );
    const [oldest] = waiting;
    if (oldest === undefined) return null;
    const rows = oldest.alone ? [oldest] : waiting;
    if (!oldest.alone && rows.length < MOST_IN_CALL && Number(oldest.accepted_at) > now - ageMs) return null;
    const opening: Hex = `0x${randomBytes(32).toString('hex')}`;
    const orders = rows.map(({ order_hash }) => order_hash);
    await tx.execute(
      `INSERT INTO assay.work (subject, kind, step, attempt, due_at, hinted_at) VALUES ($1, 'opening', 'open', 1, $2, $2)`,
      [opening, now],
    );
    await tx.execute('INSERT INTO assay.openings (opening, count, sealed_at) VALUES ($1, $2, $3)', [
      opening,
      orders.length,
      now,
    ]);
    await tx.execute('UPDATE assay.orders SET opening = $2 WHERE order_hash = ANY($1::text[])', [orders, opening]);
    await enqueue(tx, opening, 'open', 1);
    failPoint('open.before-commit');
    return opening;
  });
  if (sealed !== null) failPoint('open.after-commit');
  return sealed;
}
