import type { Queryable } from '../database/database.js';
import type { Hex } from '../../receipts/types.js';
import type { OrderState } from '../../verifier-contracts/escrow-client.js';

export interface SeenState {
  readonly orderHash: Hex;
  readonly state: OrderState;
}

/** @param block in which the chain says so, or an earlier one did */
export async function writeChainState(tx: Queryable, seen: readonly SeenState[], block: number): Promise<void> {
  await tx.execute(
    `UPDATE assay.orders t SET chain_state = o.state, chain_block = $3
       FROM unnest($1::text[], $2::text[]) AS o (order_hash, state) WHERE t.order_hash = o.order_hash`,
    [seen.map(({ orderHash }) => orderHash), seen.map(({ state }) => state), block],
  );
}
