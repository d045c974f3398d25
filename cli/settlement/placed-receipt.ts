/** A receipt with its order and its place on chain: from its file, or found from the order alone. */
import { AssayError } from '../../common/errors.js';
import { boundIn } from '../../pipeline/chain/bound-in.js';
import {
  leafHash,
  merklePath,
  parseReceiptFile,
  receiptStructHash,
  type BatchPosition,
  type JobOrder,
  type ReceiptFile,
} from '../../receipts/index.js';
import type { BoundOrder } from '../../verifier-contracts/escrow-client.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { readInputFile } from '../files.js';
import { checkDomain } from './check-domain.js';
import type { Deployment } from './open-deployment.js';

/** @throws AssayError FILE_NOT_FOUND, RECEIPT_FILE_MALFORMED */
export const readReceipt = (path: string): ReceiptFile =>
  parseReceiptFile(new TextDecoder().decode(readInputFile(path)), path);

/** The order that the file carries. @throws AssayError ORDER_FILE_MALFORMED */
export function orderOf(path: string, { order }: ReceiptFile): JobOrder {
  if (order === undefined)
    throw new AssayError('ORDER_FILE_MALFORMED', `${path}: the receipt does not carry its order`, {
      mend: 'Give the file as the service handed it out, with the order.',
      meta: { file: path },
    });
  return order;
}

/**
 * The place that the chain has bound the order to.
 * @returns null where the order is not bound, or to another receipt than this one
 * @throws AssayError CHAIN_UNAVAILABLE ...
 */
export async function placeOnChain(
  { provider, domain }: Deployment,
  { receipt }: Pick<ReceiptFile, 'receipt'>,
): Promise<BatchPosition | null> {
  const { policyHash, orderHash } = receipt;
  const client = await SettlementClient.connect({ provider, rollup: domain.verifyingContract, policyHash });
  const batch = await boundIn(client, orderHash);
  if (batch === null) return null;
  const hashes = batch.receipts.map((posted) => receiptStructHash(posted.receipt));
  const index = hashes.indexOf(receiptStructHash(receipt));
  if (index < 0) return null;
  const leaves = hashes.map((hash, i) => leafHash(i, batch.header.lane, hash));
  return { header: batch.header, index, path: merklePath(leaves, index) };
}

/**
 * What `settle`, `demand` and `answer` tell the contract.
 * @throws AssayError CHAIN_MISMATCH, ORDER_FILE_MALFORMED, RECEIPT_UNBOUND
 */
export async function boundOrder(path: string, file: ReceiptFile, deployment: Deployment): Promise<BoundOrder> {
  checkDomain(path, file.domain, deployment.domain);
  const order = orderOf(path, file);
  const place = file.batch ?? (await placeOnChain(deployment, file));
  if (place === null)
    throw new AssayError('RECEIPT_UNBOUND', `${path}: the receipt is not posted to ${deployment.rollup.address}`, {
      mend: 'Post it first: `assay receipt post`.',
      meta: { file: path },
    });
  return { order, receipt: file.receipt, header: place.header, index: place.index };
}
