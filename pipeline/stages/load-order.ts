import { AssayError } from '../../common/errors.js';
import type { Queryable } from '../database/database.js';
import type { Hex, JobOrder } from '../../receipts/types.js';
import type { OrderState } from '../../verifier-contracts/escrow-client.js';
import { orderFromJson, type OrderJson } from '../store/order-json.js';

export interface StoredOrder {
  readonly orderHash: Hex;
  readonly order: JobOrder;
  /** The requester's, over the order. */
  readonly signature: Hex;
  /** The executor's, over its acceptance; null until it has given it. */
  readonly acceptance: Hex | null;
  readonly inputFile: string;
  /** Proved together with others, in a recursive batch. */
  readonly recursive: boolean;
  /** As last seen on chain. */
  readonly chainState: OrderState;
}

interface OrderRow {
  readonly order_hash: Hex;
  readonly order_json: OrderJson;
  readonly signature: Hex;
  readonly acceptance: Hex | null;
  readonly input_file: string;
  readonly recursive: boolean;
  readonly chain_state: OrderState;
}

const COLUMNS = 'order_hash, order_json, signature, acceptance, input_file, recursive, chain_state';

/** @throws AssayError INTERNAL when there is no such order: steps exist only for orders that do. */
export async function loadOrder(database: Queryable, orderHash: string): Promise<StoredOrder> {
  const [row] = await database.query<OrderRow>(`SELECT ${COLUMNS} FROM assay.orders WHERE order_hash = $1`, [
    orderHash,
  ]);
  if (row === undefined) throw new AssayError('INTERNAL', `Order ${orderHash} has a step to do but no row.`);
  return storedOrder(row);
}

/** The orders of an opening, in the order of their hashes: the same call whenever it is made. */
export async function loadOpening(database: Queryable, opening: string): Promise<StoredOrder[]> {
  const rows = await database.query<OrderRow>(
    `SELECT ${COLUMNS} FROM assay.orders WHERE opening = $1 ORDER BY order_hash`,
    [opening],
  );
  return rows.map(storedOrder);
}

const storedOrder = (row: OrderRow): StoredOrder => ({
  orderHash: row.order_hash,
  order: orderFromJson(row.order_json),
  signature: row.signature,
  acceptance: row.acceptance,
  inputFile: row.input_file,
  recursive: row.recursive,
  chainState: row.chain_state,
});
