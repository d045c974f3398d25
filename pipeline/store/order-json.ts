/** Orders and receipts as JSON columns: amounts as decimal strings. */
import type { BatchHeader } from '../../receipts/index.js';
import type { JobOrder, Receipt } from '../../receipts/types.js';

type Json<T> = { readonly [K in keyof T]: T[K] extends bigint ? string : T[K] };

export const orderToJson = (order: JobOrder): Json<JobOrder> => ({
  ...order,
  price: String(order.price),
  surcharge: String(order.surcharge),
  nonce: String(order.nonce),
});
export const orderFromJson = (json: Json<JobOrder>): JobOrder => ({
  ...json,
  price: BigInt(json.price),
  surcharge: BigInt(json.surcharge),
  nonce: BigInt(json.nonce),
});

export const receiptToJson = (receipt: Receipt): Json<Receipt> => ({ ...receipt, amount: String(receipt.amount) });
export const receiptFromJson = (json: Json<Receipt>): Receipt => ({ ...json, amount: BigInt(json.amount) });

export const headerToJson = (header: BatchHeader): Json<BatchHeader> => ({
  ...header,
  unbound: String(header.unbound),
});
export const headerFromJson = (json: Json<BatchHeader>): BatchHeader => ({ ...json, unbound: BigInt(json.unbound) });

export type OrderJson = Json<JobOrder>;
export type ReceiptJson = Json<Receipt>;
export type HeaderJson = Json<BatchHeader>;
