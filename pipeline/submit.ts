/**
 * Takes an order in: checks it, decides its lane, stores its input, writes the first step. No money moves here; whether it
 * can be opened on chain the step `accept` asks.
 */
import { AssayError } from '../common/errors.js';
import { checkInputs, inputRoot } from '../graph/index.js';
import { hashOrder, verifyOrderSignature } from '../receipts/index.js';
import type { Hex, JobOrder } from '../receipts/types.js';
import type { Queryable } from './database/database.js';
import { failPoint } from './fail-points.js';
import { routeJob } from './routing.js';
import { termsFault } from './order-terms.js';
import type { StageContext } from './stages/context.js';
import { routingQuestion } from './stages/routing-question.js';
import { orderToJson } from './store/order-json.js';
import { encodeValues } from './store/values-file.js';
import { enqueue } from './work/claim.js';

export interface OrderRequest {
  readonly order: JobOrder;
  /** The requester's EIP-712 signature over the order. */
  readonly signature: Hex;
  /** One array per graph input, `order.items` items each, in the range that the bundle states. */
  readonly inputs: readonly Int32Array[];
}

/**
 * @param idempotencyKey the requester's name for this request: the same key with the same order is the same job.
 * @returns the job's id, which is the order's hash.
 * @throws AssayError ORDER_INVALID, BUNDLE_MISSING, INPUT_RANGE, LANE_CLOSED, IDEMPOTENCY_CONFLICT, RECEIPT_FIELD_INVALID
 */
export async function submitOrder(context: StageContext, request: OrderRequest, idempotencyKey: string): Promise<Hex> {
  const { chain, bundles, store, database, clock } = context;
  const { order, signature, inputs } = request;
  if (idempotencyKey === '' || idempotencyKey.length > 200) {
    throw new AssayError(
      'ORDER_INVALID',
      `Idempotency key: expected 1 to 200 characters, found ${idempotencyKey.length}.`,
    );
  }
  const orderHash = hashOrder(order, chain.domain);
  const known = await findJob(database, order.requester, idempotencyKey);
  if (known !== null) return sameJob(known, orderHash, idempotencyKey);

  const signed = await verifyOrderSignature(order, signature, chain.domain);
  if (signed.verdict !== 'valid') throw invalid(orderHash, `signature: ${signed.reason}`);
  const bundle = await bundles.get(order.modelDigest);
  checkInputs(bundle.graph, inputs, order.items);
  const root = inputRoot(bundle.graph, inputs, order.items);
  const batchRoot = order.lane === 'zk' ? context.batchProver?.inputRootOf(bundle, inputs, order.items) : null;
  const recursive = order.inputRoot === batchRoot;
  if (root !== order.inputRoot && !recursive)
    throw invalid(orderHash, `inputRoot: the order says ${order.inputRoot}, the input hashes to ${root}`);
  const chainNow = await chain.clock();
  const fault = await termsFault(context, bundle, order, chainNow);
  if (fault !== null) throw invalid(orderHash, fault);
  // For good: what comes later, a restart with other lanes even, does not undo it.
  const decision = routeJob(await routingQuestion(context, bundle, order, chainNow));
  const now = clock();

  const inputFile = await store.put(encodeValues(inputs));
  try {
    await database.transaction(async (tx) => {
      await tx.execute(
        `INSERT INTO assay.work (subject, kind, step, attempt, due_at, hinted_at) VALUES ($1, 'order', 'accept', 1, $2, $2)`,
        [orderHash, now],
      );
      await tx.execute(
        `INSERT INTO assay.orders (order_hash, requester, idempotency_key, order_json, signature, model_digest, input_file, created_at, executor, deliver_by, lane_decision, recursive)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
        [
          orderHash,
          order.requester,
          idempotencyKey,
          JSON.stringify(orderToJson(order)),
          signature,
          order.modelDigest,
          inputFile,
          now,
          order.executor,
          order.deliverBy,
          JSON.stringify(decision),
          recursive,
        ],
      );
      await enqueue(tx, orderHash, 'accept', 1);
      failPoint('submit.before-commit');
    });
  } catch (error) {
    // 23505: another request took the key, or brought the same order under another key, in the meantime.
    if ((error as { code?: unknown }).code !== '23505') throw error;
    const other = (await findJob(database, order.requester, idempotencyKey)) ?? orderHash;
    return sameJob(other, orderHash, idempotencyKey);
  }
  failPoint('submit.after-commit');
  return orderHash;
}

async function findJob(database: Queryable, requester: Hex, idempotencyKey: string): Promise<Hex | null> {
  const [row] = await database.query<{ order_hash: Hex }>(
    'SELECT order_hash FROM assay.orders WHERE requester = $1 AND idempotency_key = $2',
    [requester, idempotencyKey],
  );
  return row?.order_hash ?? null;
}

function sameJob(known: Hex, asked: Hex, idempotencyKey: string): Hex {
  if (known === asked) return known;
  throw new AssayError(
    'IDEMPOTENCY_CONFLICT',
    `The key ${JSON.stringify(idempotencyKey)} stands for order ${known}, not for order ${asked}.`,
    { meta: { idempotencyKey, known, asked } },
  );
}

function invalid(orderHash: Hex, what: string): AssayError {
  return new AssayError('ORDER_INVALID', `Order ${orderHash}: ${what}.`, { meta: { orderHash } });
}
