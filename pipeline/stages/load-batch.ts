import { AssayError } from '../../common/errors.js';
import type { BatchHeader } from '../../receipts/index.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import type { Queryable } from '../database/database.js';
import { headerFromJson, receiptFromJson, type HeaderJson, type ReceiptJson } from '../store/order-json.js';

export interface BatchedReceipt {
  readonly receiptHash: Hex;
  readonly receipt: Receipt;
  readonly signature: Hex;
}

export interface StoredBatch {
  readonly batchHash: Hex;
  readonly salt: Hex;
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
  readonly header_json: HeaderJson | null;
  readonly commit_tx: Hex | null;
  readonly commit_block_hash: Hex | null;
  readonly seed: Hex | null;
}

/** @throws AssayError INTERNAL when there is no such batch. */
export async function loadBatch(database: Queryable, batchHash: string): Promise<StoredBatch> {
  const [row] = await database.query<BatchRow>('SELECT * FROM assay.batches WHERE batch_hash = $1', [batchHash]);
  if (row === undefined) throw new AssayError('INTERNAL', `Batch ${batchHash} has a step to do but no row.`);
  const receipts = await database.query<{ receipt_hash: Hex; receipt_json: ReceiptJson; signature: Hex }>(
    'SELECT receipt_hash, receipt_json, signature FROM assay.receipts WHERE batch_hash = $1 ORDER BY batch_index',
    [batchHash],
  );
  return {
    batchHash: batchHash as Hex,
    salt: row.salt,
    header: row.header_json === null ? null : headerFromJson(row.header_json),
    commitTx: row.commit_tx,
    commitBlockHash: row.commit_block_hash,
    seed: row.seed,
    receipts: receipts.map((r) => ({
      receiptHash: r.receipt_hash,
      receipt: receiptFromJson(r.receipt_json),
      signature: r.signature,
    })),
  };
}
