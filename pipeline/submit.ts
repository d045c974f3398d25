/** Takes an order in: checks it, decides its lane, stores its input, writes the first step. */
import { AssayError } from '../common/errors.js';
import { checkInputs, inputRoot } from '../graph/index.js';
import { hashOrder, verifyOrderSignature } from '../receipts/index.js';
import type { Hex, JobOrder } from '../receipts/types.js';
import type { Queryable } from './database/database.js';
import { failPoint } from './fail-points.js';
import { routeJob } from './routing.js';
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
  /**
   * Address of the executor that the requester wants, and no other; default: whichever is free. Where it is suspended
   * the order fails; where it is not connected the order waits for it until `deliverBy`.
   */
  readonly executor?: Hex;
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
  const executor = request.executor ?? null;
  if (executor !== null && !/^0x[0-9a-f]{40}$/.test(executor))
    throw invalid(orderHash, `executor: expected 0x and 40 lower-case hex digits, found ${JSON.stringify(executor)}`);
  const known = await findJob(database, order.requester, idempotencyKey);
  if (known !== null) return sameJob(known, { orderHash, executor }, idempotencyKey);

  const signed = await verifyOrderSignature(order, signature, chain.domain);
  if (signed.verdict !== 'valid') throw invalid(orderHash, `signature: ${signed.reason}`);
  if (order.policyHash !== chain.policyHash)
    throw invalid(
      orderHash,
      `policyHash: expected ${chain.policyHash}, the policy of ${chain.domain.verifyingContract}; found ${order.policyHash}`,
    );
  const now = clock();
  if (order.deliverBy * 1_000 <= now)
    throw invalid(orderHash, `deliverBy: ${order.deliverBy} has passed; it is ${Math.floor(now / 1_000)}`);
  const bundle = await bundles.get(order.modelDigest);
  checkInputs(bundle.graph, inputs, order.items);
  const root = inputRoot(bundle.graph, inputs, order.items);
  if (root !== order.inputRoot)
    throw invalid(orderHash, `inputRoot: the order says ${order.inputRoot}, the input hashes to ${root}`);
  // For good: what comes later, a restart with other lanes even, does not undo it.
  const decision = routeJob(await routingQuestion(context, bundle, order, now));

  const inputFile = await store.put(encodeValues(inputs));
  try {
    await database.transaction(async (tx) => {
      await tx.execute(
        `INSERT INTO assay.work (subject, kind, step, attempt, due_at, hinted_at) VALUES ($1, 'order', 'run', 1, $2, $2)`,
        [orderHash, now],
      );
      await tx.execute(
        `INSERT INTO assay.orders (order_hash, requester, idempotency_key, order_json, signature, model_digest, input_file, created_at, wanted_executor, lane_decision)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
        [
          orderHash,
          order.requester,
          idempotencyKey,
          JSON.stringify(orderToJson(order)),
          signature,
          order.modelDigest,
          inputFile,
          now,
          executor,
          JSON.stringify(decision),
        ],
      );
      await enqueue(tx, orderHash, 'run', 1);
      failPoint('submit.before-commit');
    });
  } catch (error) {
    // 23505: another request took the key, or brought the same order under another key, in the meantime.
    if ((error as { code?: unknown }).code !== '23505') throw error;
    const other = (await findJob(database, order.requester, idempotencyKey)) ?? (await findOrder(database, orderHash));
    return sameJob(other, { orderHash, executor }, idempotencyKey);
  }
  failPoint('submit.after-commit');
  return orderHash;
}

/** What makes a request the same as another. */
interface Asked {
  readonly orderHash: Hex;
  readonly executor: Hex | null;
}

const ASKED = 'order_hash AS "orderHash", wanted_executor AS executor';

async function findJob(database: Queryable, requester: Hex, idempotencyKey: string): Promise<Asked | null> {
  const [row] = await database.query<Asked>(
    `SELECT ${ASKED} FROM assay.orders WHERE requester = $1 AND idempotency_key = $2`,
    [requester, idempotencyKey],
  );
  return row ?? null;
}

async function findOrder(database: Queryable, orderHash: Hex): Promise<Asked> {
  const [row] = await database.query<Asked>(`SELECT ${ASKED} FROM assay.orders WHERE order_hash = $1`, [orderHash]);
  return row!;
}

function sameJob(known: Asked, asked: Asked, idempotencyKey: string): Hex {
  if (known.orderHash === asked.orderHash && known.executor === asked.executor) return known.orderHash;
  const text = ({ orderHash, executor }: Asked) => `order ${orderHash} by ${executor ?? 'any executor'}`;
  throw new AssayError(
    'IDEMPOTENCY_CONFLICT',
    `The key ${JSON.stringify(idempotencyKey)} stands for ${text(known)}, not for ${text(asked)}.`,
    { meta: { idempotencyKey, known, asked } },
  );
}

function invalid(orderHash: Hex, what: string): AssayError {
  return new AssayError('ORDER_INVALID', `Order ${orderHash}: ${what}.`, { meta: { orderHash } });
}
