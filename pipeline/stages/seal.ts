/**
 * Sealing: receipts without a batch become one. Those of the sampled and the optimistic lane when there are enough of them
 * or the oldest has waited long enough; one of the zk lane is a batch by itself, since a proof is of one receipt; those of
 * the zk lane that are proved together are as many as a circuit takes, or as have waited long enough.
 */
import { randomBytes } from 'node:crypto';
import { batchHash, batchRoot, leafHash } from '../../receipts/index.js';
import type { Hex, Lane } from '../../receipts/types.js';
import { failPoint } from '../fail-points.js';
import type { BatchChoice } from '../ports.js';
import { enqueue } from '../work/claim.js';
import type { StageContext } from './context.js';
import { loadOrder } from './load-order.js';

export interface SealRule {
  /** Most receipts of a batch, 1 to 256. */
  readonly size: number;
  /** The oldest receipt waits at most this long. */
  readonly ageMs: number;
}

interface Waiting {
  readonly lane: Lane;
  readonly policy_hash: Hex;
  readonly count: number;
  readonly oldest: string;
}

const PROVED: SealRule = { size: 1, ageMs: 0 };

/** @returns the hash of the batch that was sealed, or null where none was due. */
export async function sealBatch(context: StageContext, unproved: SealRule): Promise<Hex | null> {
  const now = context.clock();
  const waiting = await context.database.query<Waiting>(
    `SELECT r.lane, r.receipt_json ->> 'policyHash' AS policy_hash, COUNT(*)::int AS count, MIN(r.signed_at) AS oldest
       FROM assay.receipts r JOIN assay.work w ON w.subject = r.order_hash
       JOIN assay.orders o ON o.order_hash = r.order_hash AND NOT o.recursive
      WHERE r.batch_hash IS NULL AND w.step = 'sealing' GROUP BY 1, 2`,
  );
  for (const group of waiting) {
    const { size, ageMs } = group.lane === 'zk' ? PROVED : unproved;
    if (group.count < size && Number(group.oldest) > now - ageMs) continue;
    const sealed = await seal(context, group, size, now);
    if (sealed === null) continue;
    failPoint('seal.after-commit');
    return sealed;
  }
  return sealRecursive(context, unproved.ageMs, now);
}

interface WaitingRow {
  readonly order_hash: Hex;
  readonly policy_hash: Hex;
  readonly signed_at: string;
}

/** Orders that are proved together, where a circuit is full or the first has waited long enough. */
async function sealRecursive(context: StageContext, ageMs: number, now: number): Promise<Hex | null> {
  const { database, bundles, batchProver } = context;
  if (batchProver === null) return null;
  const rows = await database.query<WaitingRow>(
    `SELECT r.order_hash, r.receipt_json ->> 'policyHash' AS policy_hash, r.signed_at
       FROM assay.receipts r JOIN assay.work w ON w.subject = r.order_hash
       JOIN assay.orders o ON o.order_hash = r.order_hash AND o.recursive
      WHERE r.batch_hash IS NULL AND w.step = 'sealing' ORDER BY r.signed_at, r.receipt_hash`,
  );
  const [first] = rows;
  if (first === undefined) return null;
  const own = rows.filter(({ policy_hash }) => policy_hash === first.policy_hash);
  const waiting = await Promise.all(
    own.map(async ({ order_hash: orderHash }) => {
      const { order } = await loadOrder(database, orderHash);
      return { orderHash, bundle: await bundles.get(order.modelDigest), items: order.items };
    }),
  );
  const overdue = Number(first.signed_at) <= now - ageMs;
  const choice = batchProver.choose(waiting, overdue);
  if (choice === null || (!choice.full && !overdue)) return null;
  const sealed = await seal(context, { lane: 'zk', policy_hash: first.policy_hash }, choice.orders.length, now, choice);
  if (sealed !== null) failPoint('seal.after-commit');
  return sealed;
}

function seal(
  { database, chain, journal }: StageContext,
  { lane, policy_hash: policyHash }: Pick<Waiting, 'lane' | 'policy_hash'>,
  size: number,
  now: number,
  recursive: BatchChoice | null = null,
): Promise<Hex | null> {
  return database.transaction(async (tx) => {
    const rows = await tx.query<{ receipt_hash: Hex; order_hash: string }>(
      `SELECT r.receipt_hash, r.order_hash FROM assay.receipts r JOIN assay.work w ON w.subject = r.order_hash
         JOIN assay.orders o ON o.order_hash = r.order_hash
        WHERE r.batch_hash IS NULL AND w.step = 'sealing' AND r.lane = $2 AND r.receipt_json ->> 'policyHash' = $3
          AND CASE WHEN $4::text[] IS NULL THEN NOT o.recursive ELSE r.order_hash = ANY($4::text[]) END
        ORDER BY array_position($4::text[], r.order_hash), r.signed_at, r.receipt_hash LIMIT $1 FOR UPDATE OF r SKIP LOCKED`,
      [size, lane, policyHash, recursive?.orders ?? null],
    );
    // Somebody else has one of them: the next look chooses again.
    if (rows.length === 0 || (recursive !== null && rows.length < size)) return null;
    const salt: Hex = `0x${randomBytes(32).toString('hex')}`;
    const poster = journal.address as Hex;
    const root = batchRoot(rows.map((row, index) => leafHash(index, lane, row.receipt_hash)));
    const identity = { lane, count: rows.length, poster, salt, policyHash, batchRoot: root };
    const hash = batchHash(identity, chain.domain);
    const next = recursive === null ? 'post' : 'wrap';
    await tx.execute(
      `INSERT INTO assay.work (subject, kind, step, attempt, due_at, hinted_at) VALUES ($1, 'batch', $3, 1, $2, $2)`,
      [hash, now, next],
    );
    await tx.execute(
      'INSERT INTO assay.batches (batch_hash, salt, poster, count, sealed_at, lane, policy_hash, circuit) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)',
      [hash, salt, poster, rows.length, now, lane, policyHash, recursive?.circuit ?? null],
    );
    await tx.execute(
      `UPDATE assay.receipts r SET batch_hash = $1, batch_index = o.at - 1
         FROM unnest($2::text[]) WITH ORDINALITY AS o (receipt_hash, at) WHERE r.receipt_hash = o.receipt_hash`,
      [hash, rows.map((row) => row.receipt_hash)],
    );
    await tx.execute(`UPDATE assay.work SET step = 'batched' WHERE subject = ANY($1::text[])`, [
      rows.map((row) => row.order_hash),
    ]);
    await enqueue(tx, hash, next, 1);
    failPoint('seal.before-commit');
    return hash;
  });
}
