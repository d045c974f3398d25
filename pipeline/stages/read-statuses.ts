import { AssayError } from '../../common/errors.js';
import { batchRoot, boundIndexes, leafHash, merklePaths, type ReceiptStatus } from '../../receipts/index.js';
import type { StageContext } from './context.js';
import type { StoredBatch } from './load-batch.js';

/**
 * What the contract says of each receipt of a committed batch, in a block that is deep enough. Null where it may change its
 * mind: one is still undecided, or is not known in that block although the commit bound it (the chain has been reorganised
 * under our eyes).
 */
export async function readStatuses(
  { chain, confirmations }: Pick<StageContext, 'chain' | 'confirmations'>,
  { batchHash, header, receipts }: StoredBatch,
): Promise<readonly ReceiptStatus[] | null> {
  if (header === null) throw new AssayError('INTERNAL', `Batch ${batchHash} has no status before its commit.`);
  const leaves = receipts.map(({ receiptHash }, index) => leafHash(index, header.lane, receiptHash));
  if (batchRoot(leaves) !== header.batchRoot)
    throw new AssayError('INTERNAL', `Batch ${batchHash}: the stored receipts do not give the posted root.`);
  const block = (await chain.blockNumber()) - confirmations + 1;
  const paths = merklePaths(leaves);
  const statuses = await Promise.all(
    receipts.map(({ receipt }, index) => chain.statusOf(receipt, index, paths[index]!, header, block)),
  );
  if (statuses.some((status) => status === 'pending' || status === 'challengeable')) return null;
  return boundIndexes(header).some((index) => statuses[index] === 'unknown') ? null : statuses;
}
