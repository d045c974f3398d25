/** A job's receipt as the file that a stranger checks. */
import { RECEIPT_FILE_VERSION, type ReceiptFile, type ZkEvidence } from '../receipts/index.js';
import type { Hex, ReceiptDomain } from '../receipts/types.js';
import type { JobProof, JobView } from './read-job.js';

/**
 * @returns null before the receipt is signed. The place on chain is left out until the batch is committed, the proof of
 * the zk lane until it has been verified.
 */
export function receiptFileOf(view: JobView, domain: ReceiptDomain): ReceiptFile | null {
  if (view.receipt === null) return null;
  return {
    version: RECEIPT_FILE_VERSION,
    domain,
    receipt: view.receipt.receipt,
    signature: view.receipt.signature,
    order: view.order,
    orderSignature: view.orderSignature,
    ...(view.acceptance === null ? {} : { acceptance: view.acceptance }),
    inputs: lists(view.inputs),
    ...(view.outputs === null ? {} : { outputs: lists(view.outputs) }),
    ...(view.position === null ? {} : { batch: view.position }),
    ...(view.proof === null || view.proof.finding === null ? {} : { evidence: evidenceOf(view.proof, view.outputs) }),
  };
}

const lists = (tensors: readonly Int32Array[]): number[][] => tensors.map((values) => Array.from(values));

function evidenceOf({ scheme, bytes, published }: JobProof, outputs: readonly Int32Array[] | null): ZkEvidence {
  const proof: Hex = `0x${Buffer.from(bytes).toString('hex')}`;
  return { scheme, proof, ...(isSame(published, outputs ?? []) ? {} : { published: lists(published) }) };
}

function isSame(a: readonly Int32Array[], b: readonly Int32Array[]): boolean {
  return a.length === b.length && a.every((values, i) => Buffer.compare(bytesOf(values), bytesOf(b[i]!)) === 0);
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
