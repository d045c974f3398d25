import { AssayError } from '../../common/errors.js';
import { receiptStructHash, type BatchHeader } from '../../receipts/index.js';
import type { Hex, Lane, Receipt } from '../../receipts/types.js';
import type { SignedReceipt } from '../../verifier-contracts/rollup-client.js';
import type { Queryable } from '../database/database.js';
import {
  headerFromJson,
  receiptFromJson,
  receiptToJson,
  type HeaderJson,
  type ReceiptJson,
} from '../store/order-json.js';

export interface BatchedReceipt {
  readonly receiptHash: Hex;
  readonly receipt: Receipt;
  readonly signature: Hex;
  /** False for a receipt of somebody else's order, or one of ours that is bound in another batch. */
  readonly ours: boolean;
}

export interface StoredBatch {
  readonly batchHash: Hex;
  readonly salt: Hex;
  readonly poster: Hex;
  readonly lane: Lane;
  readonly policyHash: Hex;
  /** Null until the commit is mined. */
  readonly header: BatchHeader | null;
  readonly commitTx: Hex | null;
  readonly commitBlockHash: Hex | null;
  readonly seed: Hex | null;
  /** In order of their index. */
  readonly receipts: readonly BatchedReceipt[];
}

interface BatchRow {
  readonly salt: Hex;
  readonly poster: Hex;
  readonly lane: Lane;
  readonly policy_hash: Hex;
  readonly posted_json: PostedJson | null;
  readonly header_json: HeaderJson | null;
  readonly commit_tx: Hex | null;
  readonly commit_block_hash: Hex | null;
  readonly seed: Hex | null;
}

type PostedJson = readonly { readonly receipt: ReceiptJson; readonly signature: Hex }[];

/** All receipts of a batch as a column. */
export const postedToJson = (receipts: readonly SignedReceipt[]): PostedJson =>
  receipts.map(({ receipt, signature }) => ({ receipt: receiptToJson(receipt), signature }));

/** @throws AssayError INTERNAL when there is no such batch. */
export async function loadBatch(database: Queryable, batchHash: string): Promise<StoredBatch> {
  const [row] = await database.query<BatchRow>('SELECT * FROM assay.batches WHERE batch_hash = $1', [batchHash]);
  if (row === undefined) throw new AssayError('INTERNAL', `Batch ${batchHash} has a step to do but no row.`);
  const own = await database.query<{ order_hash: Hex; receipt_json: ReceiptJson; signature: Hex }>(
    'SELECT order_hash, receipt_json, signature FROM assay.receipts WHERE batch_hash = $1 ORDER BY batch_index',
    [batchHash],
  );
  const ours = new Set(own.map(({ order_hash }) => order_hash));
  const all = row.posted_json ?? own.map(({ receipt_json, signature }) => ({ receipt: receipt_json, signature }));
  return {
    batchHash: batchHash as Hex,
    salt: row.salt,
    poster: row.poster,
    lane: row.lane,
    policyHash: row.policy_hash,
    header: row.header_json === null ? null : headerFromJson(row.header_json),
    commitTx: row.commit_tx,
    commitBlockHash: row.commit_block_hash,
    seed: row.seed,
    receipts: all.map(({ receipt: json, signature }) => {
      const receipt = receiptFromJson(json);
      return { receiptHash: receiptStructHash(receipt), receipt, signature, ours: ours.has(receipt.orderHash) };
    }),
  };
}
