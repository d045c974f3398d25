/**
 * Where an order's receipt stands on chain, found from the order alone: the event of its binding names the transaction,
 * whose commit names the batch. Anybody may commit a signed receipt, so it need not be a batch of ours.
 */
import { AssayError } from '../../common/errors.js';
import { boundLeaf, receiptStructHash } from '../../receipts/index.js';
import type { Hex } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { settlementErrors } from '../../verifier-contracts/contract-client.js';
import { escrowInterface } from '../../verifier-contracts/escrow-client.js';
import { rollupInterface } from '../../verifier-contracts/rollup-client.js';
import type { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import type { BoundBatch } from '../ports.js';

/**
 * @returns null where the order is not bound
 * @throws AssayError CHAIN_BATCH_UNKNOWN where it is, in a batch that cannot be read; CHAIN_UNAVAILABLE
 */
export async function boundIn(client: SettlementClient, orderHash: Hex): Promise<BoundBatch | null> {
  const { escrow, rollup, provider, context } = client;
  const { leaf } = await escrow.orderOf(orderHash);
  if (leaf === null) return null;
  const mined = await guard(`binding of order ${orderHash}`, async () => {
    const logs = await provider.getLogs({
      address: escrow.address,
      topics: escrowInterface.encodeFilterTopics('OrderBound', [orderHash]),
      fromBlock: context.fromBlock,
      toBlock: 'latest',
    });
    const last = logs.at(-1);
    return last === undefined ? null : provider.getTransactionReceipt(last.transactionHash);
  });
  if (mined === null) {
    const what = `binding of order ${orderHash}: the node says that it is bound, and does not find the event`;
    throw new AssayError('CHAIN_UNAVAILABLE', what);
  }
  const unread: AssayError[] = [];
  for (const log of mined.logs) {
    if (log.address.toLowerCase() !== rollup.address) continue;
    const event = rollupInterface.parseLog(log);
    if (event?.name !== 'BatchCommitted') continue;
    const batchHash = event.args['batchHash'] as Hex;
    const batch = await readable(unread, () => rollup.readBatch(batchHash));
    const holds = batch?.receipts.some(
      ({ receipt }, index) => boundLeaf(batch.batchHash, index, receiptStructHash(receipt)) === leaf,
    );
    if (batch !== null && holds === true)
      return { ...batch, blockNumber: mined.blockNumber, blockHash: mined.blockHash as Hex, reverted: false };
  }
  throw new AssayError(
    'CHAIN_BATCH_UNKNOWN',
    `Order ${orderHash} is bound by transaction ${mined.hash}, in a batch that cannot be read: ${unread.map(({ message }) => message).join('; ')}`,
    { meta: { orderHash, leaf, batches: unread.map(({ meta }) => meta['batchHash']) } },
  );
}

async function readable<T>(unread: AssayError[], read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof AssayError) || error.code !== 'CHAIN_BATCH_UNKNOWN') throw error;
    unread.push(error);
    return null;
  }
}

async function guard<T>(what: string, question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw chainError(error, settlementErrors, what);
  }
}
