import { AssayError } from '../../common/errors.js';
import type { Hex, JobOrder } from '../../receipts/types.js';
import type { ExecutorPort } from '../ports.js';
import type { StageContext } from './context.js';

/**
 * The executor that the order names; no other may work on it.
 * @throws AssayError EXECUTOR_NONE where it is not connected, ORDER_UNDELIVERED where it is suspended
 */
export async function executorOf(
  { database, executors }: Pick<StageContext, 'database' | 'executors'>,
  orderHash: string,
  { executor: address }: Pick<JobOrder, 'executor'>,
): Promise<ExecutorPort> {
  if (await isSuspended(database, address))
    throw undelivered(orderHash, `executor ${address}, the one that it names, is suspended`);
  const executor = executors.find((port) => port.address === address);
  if (executor === undefined) {
    throw new AssayError(
      'EXECUTOR_NONE',
      `Executor ${address}, which order ${orderHash} names, is not among the ${executors.length} connected here.`,
      { meta: { executor: address } },
    );
  }
  return executor;
}

export async function isSuspended(database: StageContext['database'], address: Hex): Promise<boolean> {
  const found = await database.query('SELECT 1 FROM assay.nodes WHERE address = $1 AND suspended_at IS NOT NULL', [
    address,
  ]);
  return found.length > 0;
}

export const undelivered = (orderHash: string, reason: string): AssayError =>
  new AssayError('ORDER_UNDELIVERED', `Order ${orderHash} cannot be delivered: ${reason}.`, {
    meta: { orderHash, reason },
  });
