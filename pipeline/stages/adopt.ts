/**
 * Copied commits. A signed receipt may be committed by anybody, so somebody who sees our commit on its way may send the same
 * receipts under his own name first. Nothing is lost: the order is bound, to a leaf of his batch. The receipts are followed
 * there, and that batch is audited or watched, and paid, as if it were ours.
 */
import { AssayError } from '../../common/errors.js';
import { boundLeaf, MAX_BATCH, receiptStructHash } from '../../receipts/index.js';
import type { Hex } from '../../receipts/types.js';
import type { Queryable } from '../database/database.js';
import type { BoundBatch } from '../ports.js';
import { headerToJson } from '../store/order-json.js';
import { enqueue, moveTo } from '../work/claim.js';
import { AFTER_COMMIT } from '../work/steps.js';
import type { StageContext } from './context.js';
import { postedToJson, type BatchedReceipt } from './load-batch.js';
import { writeChainState } from './write-chain-state.js';

/** One of our receipts in somebody else's batch. */
export interface Copy {
  readonly batch: BoundBatch;
  readonly index: number;
  readonly orderHash: Hex;
}

/** One of our orders that is bound in a batch which nobody can read, so that it is followed by its state alone. */
export interface Unreadable {
  readonly orderHash: Hex;
  /** Names the batch. */
  readonly error: AssayError;
}

export interface Elsewhere {
  readonly copies: readonly Copy[];
  readonly unreadable: readonly Unreadable[];
}

/** @param receipts of ours that the batch they were sealed in does not bind */
export async function findElsewhere(
  { chain }: Pick<StageContext, 'chain'>,
  receipts: readonly Pick<BatchedReceipt, 'receipt' | 'receiptHash'>[],
): Promise<Elsewhere> {
  const found = await Promise.all(
    receipts.map(async ({ receipt: { orderHash }, receiptHash }): Promise<Copy | Unreadable | null> => {
      try {
        const batch = await chain.boundIn(orderHash);
        const hashes = batch?.receipts.map(({ receipt }) => receiptStructHash(receipt)) ?? [];
        // Bound by another receipt than the one we hold: not what we ran.
        const index = hashes.indexOf(receiptHash);
        return batch === null || index < 0 ? null : { batch, index, orderHash };
      } catch (error) {
        if (!(error instanceof AssayError) || error.code !== 'CHAIN_BATCH_UNKNOWN') throw error;
        return isBoundBy(receiptHash, error) ? { orderHash, error } : null;
      }
    }),
  );
  return {
    copies: found.filter((one): one is Copy => one !== null && 'batch' in one),
    unreadable: found.filter((one): one is Unreadable => one !== null && 'error' in one),
  };
}

/** @param error of `boundIn` */
function isBoundBy(receiptHash: Hex, { meta }: AssayError): boolean {
  const { leaf, batches } = meta as { readonly leaf: Hex; readonly batches: readonly Hex[] };
  const indexes = Array.from({ length: MAX_BATCH }, (_, index) => index);
  return batches.some((batch) => indexes.some((index) => boundLeaf(batch, index, receiptHash) === leaf));
}

/** In the transaction that ends the step which found them: step `expire` asks for their state, at once and now and then. */
export async function follow(tx: Queryable, unreadable: readonly Unreadable[], now: number): Promise<void> {
  for (const { orderHash, error } of unreadable) {
    await tx.execute('UPDATE assay.receipts SET batch_hash = NULL, batch_index = NULL WHERE order_hash = $1', [
      orderHash,
    ]);
    await tx.execute(
      `UPDATE assay.orders SET error = $2, chain_state = 'bound', chain_block = NULL WHERE order_hash = $1`,
      [orderHash, JSON.stringify(error)],
    );
    await moveTo(tx, [orderHash], 'expire', now);
    await tx.execute('UPDATE assay.work SET due_at = $2, hinted_at = 0 WHERE subject = $1', [orderHash, now]);
  }
}

/** In the transaction that ends the step which found them. @param now local, for the steps to come */
export async function adopt(tx: Queryable, copies: readonly Copy[], now: number): Promise<void> {
  for (const { batch, index, orderHash } of copies) {
    const { batchHash, header, receipts } = batch;
    const step = AFTER_COMMIT[header.lane];
    const isNew = await tx.execute(
      `INSERT INTO assay.work (subject, kind, step, attempt, due_at, hinted_at) VALUES ($1, 'batch', $2, 1, $3, $3)
       ON CONFLICT (subject) DO NOTHING`,
      [batchHash, step, now],
    );
    if (isNew === 1) {
      await tx.execute(
        `INSERT INTO assay.batches (batch_hash, salt, poster, count, sealed_at, lane, policy_hash, posted_json, header_json, commit_tx, commit_block, commit_block_hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
        [
          batchHash,
          header.salt,
          header.poster,
          header.count,
          now,
          header.lane,
          header.policyHash,
          JSON.stringify(postedToJson(receipts)),
          JSON.stringify(headerToJson(header)),
          batch.transactionHash,
          batch.blockNumber,
          batch.blockHash,
        ],
      );
      await enqueue(tx, batchHash, step, 1);
    }
    await tx.execute('UPDATE assay.receipts SET batch_hash = $2, batch_index = $3 WHERE order_hash = $1', [
      orderHash,
      batchHash,
      index,
    ]);
    await tx.execute(`UPDATE assay.work SET step = 'batched' WHERE subject = $1`, [orderHash]);
    await writeChainState(tx, [{ orderHash, state: 'bound' }], batch.blockNumber);
  }
}
