/** An answer that the model itself or a proof shows to be wrong: the order ends, its executor gets no more. */
import { AssayError } from '../../common/errors.js';
import { compareOutputs } from '../../sampler/index.js';
import type { Receipt } from '../../receipts/types.js';
import type { BlobStore } from '../store/blob-store.js';
import { decodeValues } from '../store/values-file.js';
import type { Queryable } from '../database/database.js';

/**
 * @param shown the right outputs
 * @param outputFile the executor's; where they cannot be read the error does without the difference
 */
export async function wrongAnswer(
  store: Pick<BlobStore, 'get'>,
  { executor, orderHash }: Receipt,
  shown: readonly Int32Array[],
  outputFile: string,
): Promise<AssayError> {
  const stated = await store.get(outputFile).then(
    (bytes) => decodeValues(bytes, outputFile),
    () => null,
  );
  const difference = stated === null ? null : compareOutputs(shown, stated);
  return new AssayError('EXECUTOR_WRONG', `Executor ${executor} answered order ${orderHash} wrongly.`, {
    meta: { executor, orderHash, difference },
  });
}

/** @param by what shows it, for the node's record */
export async function suspendExecutor(
  tx: Queryable,
  { executor, orderHash }: Receipt,
  by: string,
  now: number,
): Promise<void> {
  await tx.execute(
    'UPDATE assay.nodes SET suspended_at = $2, reason = $3 WHERE address = $1 AND suspended_at IS NULL',
    [executor, now, `wrong answer to order ${orderHash}, as ${by} shows`],
  );
}
