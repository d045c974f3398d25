/** Step `post`: the batch is committed on chain. Only from here on can the draw be made: the block fixes what it draws from. */
import { AssayError } from '../../common/errors.js';
import { failPoint } from '../fail-points.js';
import { headerToJson } from '../store/order-json.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadBatch } from './load-batch.js';
import { performForBatch } from './perform.js';

export async function postBatch(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, chain } = context;
  const batch = await loadBatch(database, claim.subject);
  let mined;
  try {
    mined = await performForBatch(
      context,
      'commit',
      batch.batchHash,
      chain.commitCall('sampled', batch.receipts, batch.salt),
    );
  } catch (error) {
    // Not one receipt of the batch can bind, now or later: it will never be on chain.
    if (error instanceof AssayError && error.meta['error'] === 'NothingBound') return nothingBound(context, claim);
    throw error;
  }
  if (mined === null) return { kind: 'wait', forMs: context.pollMs };
  if ((await chain.blockNumber()) - mined.blockNumber + 1 < context.confirmations)
    return { kind: 'wait', forMs: context.pollMs };
  const header = await chain.headerIn(mined.hash, batch.batchHash);
  if (header === null) {
    throw new AssayError(
      'BATCH_COMMIT_REFUSED',
      `Transaction ${mined.hash} was mined but committed no batch ${batch.batchHash}.`,
      { meta: { hash: mined.hash } },
    );
  }
  failPoint('post.after-commit-mined');
  return {
    kind: 'advance',
    next: 'audit',
    write: async (tx) => {
      await tx.execute(
        'UPDATE assay.batches SET commit_tx = $2, commit_block = $3, commit_block_hash = $4, header_json = $5 WHERE batch_hash = $1',
        [batch.batchHash, mined.hash, mined.blockNumber, mined.blockHash, JSON.stringify(headerToJson(header))],
      );
    },
  };
}

function nothingBound(context: StageContext, claim: Claim): StepEnd {
  const error = new AssayError('BATCH_COMMIT_REFUSED', `Not one receipt of batch ${claim.subject} can bind on chain.`);
  return {
    kind: 'advance',
    next: 'done',
    write: async (tx) => {
      const now = context.clock();
      await tx.execute('UPDATE assay.batches SET settled_at = $2 WHERE batch_hash = $1', [claim.subject, now]);
      await tx.execute(
        `UPDATE assay.orders SET outcome = 'failed', error = $2, ended_at = $3
          WHERE order_hash IN (SELECT order_hash FROM assay.receipts WHERE batch_hash = $1)`,
        [claim.subject, JSON.stringify(error), now],
      );
      await tx.execute(
        `UPDATE assay.work SET step = 'done' WHERE subject IN (SELECT order_hash FROM assay.receipts WHERE batch_hash = $1)`,
        [claim.subject],
      );
    },
  };
}
