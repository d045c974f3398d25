/** A job's receipt as the file that a stranger checks. */
import { RECEIPT_FILE_VERSION, type ReceiptFile } from '../receipts/index.js';
import type { ReceiptDomain } from '../receipts/types.js';
import type { JobView } from './read-job.js';

/** @returns null before the receipt is signed. The place on chain is left out until the batch is committed. */
export function receiptFileOf(view: JobView, domain: ReceiptDomain): ReceiptFile | null {
  if (view.receipt === null) return null;
  const lists = (tensors: readonly Int32Array[]) => tensors.map((values) => Array.from(values));
  return {
    version: RECEIPT_FILE_VERSION,
    domain,
    receipt: view.receipt.receipt,
    signature: view.receipt.signature,
    order: view.order,
    orderSignature: view.orderSignature,
    inputs: lists(view.inputs),
    ...(view.outputs === null ? {} : { outputs: lists(view.outputs) }),
    ...(view.position === null ? {} : { batch: view.position }),
  };
}
