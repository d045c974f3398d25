import type { Queryable } from '../database/database.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import type { StoredBatch } from './load-batch.js';

/** Is the commit still where it was mined? */
export async function commitStands({ chain }: StageContext, batch: StoredBatch): Promise<boolean> {
  const mined = batch.commitTx === null ? null : await chain.minedAs(batch.commitTx);
  return mined !== null && mined.blockHash === batch.commitBlockHash;
}

/**
 * The commit has left its block: the same bytes are sent again, and the next block draws anew. One that was somebody
 * else's we cannot send: its receipts of ours are sealed anew.
 */
export function reorganised({ journal }: StageContext, { batchHash, poster, receipts }: StoredBatch): StepEnd {
  const isOurs = poster === journal.address;
  return {
    kind: 'advance',
    next: isOurs ? 'post' : 'done',
    write: async (tx) => {
      await voidDraw(tx, batchHash);
      if (!isOurs) return release(tx, batchHash, receipts);
      await tx.execute(
        `UPDATE assay.batches SET commit_tx = NULL, commit_block = NULL, commit_block_hash = NULL, header_json = NULL, seed = NULL, drawn_at = NULL,
                unpaid_until = NULL
          WHERE batch_hash = $1`,
        [batchHash],
      );
    },
  };
}

async function release(tx: Queryable, batchHash: string, receipts: StoredBatch['receipts']): Promise<void> {
  const ours = receipts.filter((receipt) => receipt.ours).map(({ receipt: { orderHash } }) => orderHash);
  await tx.execute('UPDATE assay.receipts SET batch_hash = NULL, batch_index = NULL WHERE batch_hash = $1', [
    batchHash,
  ]);
  await tx.execute(`UPDATE assay.work SET step = 'sealing' WHERE subject = ANY($1::text[]) AND step = 'batched'`, [
    ours,
  ]);
}

export async function voidDraw(tx: Queryable, batchHash: string): Promise<void> {
  await tx.execute('DELETE FROM assay.audits WHERE batch_hash = $1', [batchHash]);
  await tx.execute('DELETE FROM assay.draws WHERE batch_hash = $1', [batchHash]);
}
