import { AssayError } from '../../common/errors.js';
import type { Queryable } from '../database/database.js';
import type { Hex, JobOrder } from '../../receipts/types.js';
import type { RoutingDecision } from '../routing.js';
import { orderFromJson, type OrderJson } from '../store/order-json.js';

export interface StoredOrder {
  readonly orderHash: Hex;
  readonly order: JobOrder;
  readonly inputFile: string;
  /** Null where any executor will do. */
  readonly wantedExecutor: Hex | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Null where an earlier release took the order in, and the step `route` has not been done. */
  readonly laneDecision: RoutingDecision | null;
}

/** @throws AssayError INTERNAL when there is no such order: steps exist only for orders that do. */
export async function loadOrder(database: Queryable, orderHash: string): Promise<StoredOrder> {
  const [row] = await database.query<{
    order_json: OrderJson;
    input_file: string;
    wanted_executor: Hex | null;
    created_at: string;
    lane_decision: RoutingDecision | null;
  }>(
    'SELECT order_json, input_file, wanted_executor, created_at, lane_decision FROM assay.orders WHERE order_hash = $1',
    [orderHash],
  );
  if (row === undefined) throw new AssayError('INTERNAL', `Order ${orderHash} has a step to do but no row.`);
  return {
    orderHash: orderHash as Hex,
    order: orderFromJson(row.order_json),
    inputFile: row.input_file,
    wantedExecutor: row.wanted_executor,
    createdAt: Number(row.created_at),
    laneDecision: row.lane_decision,
  };
}
