/** Step `run`: an executor runs the ordered model on the input; outputs, trace and roots are kept. */
import { AssayError, asAssayError } from '../../common/errors.js';
import { outputRoot } from '../../graph/index.js';
import type { Hex } from '../../receipts/types.js';
import { failPoint } from '../fail-points.js';
import type { Execution, ExecutorPort } from '../ports.js';
import { decodeValues, encodeValues } from '../store/values-file.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadOrder } from './load-order.js';
import { within } from './within.js';

/** Jobs in hand, by executor: the least busy takes the next one. */
const inHand = new WeakMap<ExecutorPort, number>();

export async function runOrder(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, store, bundles, clock } = context;
  const { order, inputFile, wantedExecutor } = await loadOrder(database, claim.subject);
  if (Math.floor(clock() / 1_000) > order.deliverBy)
    throw undelivered(claim.subject, `nothing has run it by its deadline, ${order.deliverBy}`);
  const bundle = await bundles.get(order.modelDigest);
  const inputs = decodeValues(await store.get(inputFile), inputFile);

  const executor = await chooseExecutor(context, claim.subject, wantedExecutor);
  await database.execute('UPDATE assay.attempts SET executor = $3 WHERE subject = $1 AND attempt = $2', [
    claim.subject,
    claim.attempt,
    executor.address,
  ]);
  inHand.set(executor, (inHand.get(executor) ?? 0) + 1);
  let execution: Execution;
  try {
    failPoint('run.before-execute');
    execution = await within(
      executor.execute(order, bundle, inputs, order.items),
      context.executeTimeoutMs,
      `executor ${executor.address}`,
    );
  } catch (error) {
    throw executorError(executor, error);
  } finally {
    inHand.set(executor, inHand.get(executor)! - 1);
  }
  failPoint('run.after-execute');
  // What the requester will be handed must be what the receipt will commit to.
  const found = outputRoot(bundle.graph, execution.outputs, order.items);
  if (found !== execution.outputRoot || execution.inputRoot !== order.inputRoot) {
    throw new AssayError(
      'EXECUTOR_FAILED',
      `Executor ${executor.address} handed over values that do not hash to the roots it states.`,
      {
        meta: {
          executor: executor.address,
          outputRoot: { stated: execution.outputRoot, found },
          inputRoot: { stated: execution.inputRoot, ordered: order.inputRoot },
        },
      },
    );
  }
  const outputFile = await store.put(encodeValues(execution.outputs));
  const traceFile = execution.slots === undefined ? null : await store.put(encodeValues(execution.slots));
  failPoint('run.after-store');
  return {
    kind: 'advance',
    next: 'route',
    write: async (tx) => {
      await tx.execute(
        `INSERT INTO assay.executions (order_hash, executor, engine, input_root, output_root, trace_root, op_count, output_file, trace_file, finished_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
        [
          claim.subject,
          executor.address,
          executor.engineName,
          execution.inputRoot,
          execution.outputRoot,
          execution.traceRoot,
          execution.opCount,
          outputFile,
          traceFile,
          clock(),
        ],
      );
      await tx.execute('UPDATE assay.orders SET executor = $2 WHERE order_hash = $1', [
        claim.subject,
        executor.address,
      ]);
    },
  };
}

const undelivered = (orderHash: string, reason: string): AssayError =>
  new AssayError('ORDER_UNDELIVERED', `Order ${orderHash} cannot be delivered: ${reason}.`, {
    meta: { orderHash, reason },
  });

/**
 * The wanted one, or any: not suspended, fewest failures on this order, least busy.
 * @throws AssayError EXECUTOR_NONE, ORDER_UNDELIVERED where the wanted one is suspended
 */
async function chooseExecutor(context: StageContext, orderHash: string, wanted: Hex | null): Promise<ExecutorPort> {
  const suspended = await context.database.query<{ address: string }>(
    'SELECT address FROM assay.nodes WHERE suspended_at IS NOT NULL',
  );
  const failures = await context.database.query<{ executor: string; count: number }>(
    `SELECT executor, COUNT(*)::int AS count FROM assay.attempts
      WHERE subject = $1 AND step = 'run' AND outcome IN ('failed', 'lost') AND executor IS NOT NULL GROUP BY executor`,
    [orderHash],
  );
  const excluded = new Set(suspended.map(({ address }) => address));
  if (wanted !== null && excluded.has(wanted))
    throw undelivered(orderHash, `executor ${wanted}, the one that it names, is suspended`);
  const failed = new Map(failures.map(({ executor, count }) => [executor, count]));
  const candidates = context.executors.filter(
    ({ address }) => !excluded.has(address) && (wanted === null || address === wanted),
  );
  const cost = (executor: ExecutorPort) =>
    (failed.get(executor.address) ?? 0) * 1_000_000 + (inHand.get(executor) ?? 0);
  const best = candidates.reduce<ExecutorPort | undefined>(
    (a, b) => (a === undefined || cost(b) < cost(a) ? b : a),
    undefined,
  );
  if (best === undefined) {
    throw new AssayError(
      'EXECUTOR_NONE',
      `No executor for order ${orderHash}: ${context.executors.length} known, ${excluded.size} suspended, ${wanted === null ? 'any' : wanted} wanted.`,
    );
  }
  return best;
}

/** Only what every executor would refuse ends the order; what is wrong with this executor is tried elsewhere. */
function executorError(executor: ExecutorPort, error: unknown): AssayError {
  const cause = asAssayError(error);
  if (cause.code === 'INPUT_RANGE' || cause.code === 'NODE_TIMEOUT') return cause;
  return new AssayError(
    'EXECUTOR_FAILED',
    `Executor ${executor.address} (${executor.engineName}) failed: ${cause.message}`,
    {
      cause,
      meta: { executor: executor.address, engine: executor.engineName, code: cause.code },
    },
  );
}
