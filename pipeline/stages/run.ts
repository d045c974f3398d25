/** Step `run`: the executor that the order names runs the model on the input; outputs, trace and roots are kept. */
import { AssayError, asAssayError } from '../../common/errors.js';
import { outputRoot } from '../../graph/index.js';
import { failPoint } from '../fail-points.js';
import type { Execution, ExecutorPort } from '../ports.js';
import { decodeValues, encodeValues } from '../store/values-file.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { executorOf, undelivered } from './executor-of.js';
import { loadOrder } from './load-order.js';
import { within } from './within.js';

export async function runOrder(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, store, bundles, chain, clock } = context;
  const { order, inputFile } = await loadOrder(database, claim.subject);
  if ((await chain.clock()) > order.deliverBy)
    throw undelivered(claim.subject, `nobody has run it by its deadline, ${order.deliverBy}`);
  const bundle = await bundles.get(order.modelDigest);
  const inputs = decodeValues(await store.get(inputFile), inputFile);

  const executor = await executorOf(context, claim.subject, order);
  await database.execute('UPDATE assay.attempts SET executor = $3 WHERE subject = $1 AND attempt = $2', [
    claim.subject,
    claim.attempt,
    executor.address,
  ]);
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
    next: 'sign',
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
    },
  };
}

/** Only what every executor would refuse ends the order at once; what is wrong with this executor is tried again. */
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
