/**
 * Step `sign`: the executor that ran the job signs the receipt, before anybody knows whether it will be audited, or, in
 * the zk lane, what the proof will show: a wrong answer is signed for.
 */
import { AssayError } from '../../common/errors.js';
import { checkTerms, recoverReceiptSigner, receiptStructHash } from '../../receipts/index.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import { failPoint } from '../fail-points.js';
import { receiptToJson } from '../store/order-json.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { undelivered } from './executor-of.js';
import { loadOrder } from './load-order.js';
import { within } from './within.js';

const NO_TRACE: Hex = `0x${'00'.repeat(32)}`;

interface ExecutionRow {
  readonly executor: Hex;
  readonly input_root: Hex;
  readonly output_root: Hex;
  readonly trace_root: Hex;
  readonly op_count: number;
  readonly finished_at: string;
}

export async function signOrderReceipt(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, chain, clock } = context;
  const { order, orderHash, recursive } = await loadOrder(database, claim.subject);
  const [run] = await database.query<ExecutionRow>('SELECT * FROM assay.executions WHERE order_hash = $1', [orderHash]);
  if (run === undefined) throw new AssayError('INTERNAL', `Order ${orderHash} is to be signed but was not run.`);

  // Every field is fixed by rows already committed: asking again, after any crash, asks for the same receipt.
  const receipt: Receipt = {
    orderHash,
    modelDigest: order.modelDigest,
    inputRoot: run.input_root,
    outputRoot: run.output_root,
    // A proof takes the place of the trace.
    traceRoot: order.lane === 'zk' ? NO_TRACE : run.trace_root,
    opCount: run.op_count,
    items: order.items,
    amount: order.price,
    lane: order.lane,
    policyHash: order.policyHash,
    executor: run.executor,
    issuedAt: Math.floor(Number(run.finished_at) / 1_000),
  };
  const terms = checkTerms(receipt, order, chain.domain);
  // Undetermined too: that the receipt is good is what its executor would sign.
  if (terms.verdict !== 'valid') throw undelivered(orderHash, terms.reason);
  // Whether it is in time the chain will judge, by its clock: what has no chance any more is not signed.
  const now = await chain.clock();
  if (now > order.deliverBy) throw undelivered(orderHash, `it was due by ${order.deliverBy}, and it is ${now}`);
  const executor = context.executors.find(({ address }) => address === run.executor);
  if (executor === undefined) {
    // No other may sign for it: this one's journal may hold a signature already.
    throw new AssayError('EXECUTOR_NONE', `Executor ${run.executor}, which ran order ${orderHash}, is not connected.`, {
      meta: { executor: run.executor },
    });
  }
  failPoint('sign.before-sign');
  const signature = await within(
    executor.signReceipt(receipt),
    context.executeTimeoutMs,
    `executor ${executor.address}`,
  );
  failPoint('sign.after-sign');
  const signer = recoverReceiptSigner(receipt, signature, chain.domain);
  if (signer !== receipt.executor) {
    throw new AssayError('EXECUTOR_FAILED', `Executor ${receipt.executor} returned a signature by ${signer}.`, {
      meta: { executor: receipt.executor, signer },
    });
  }
  return {
    kind: 'advance',
    next: order.lane !== 'zk' ? 'sealing' : recursive ? 'join' : 'prove',
    write: async (tx) => {
      await tx.execute(
        'INSERT INTO assay.receipts (receipt_hash, order_hash, executor, receipt_json, signature, signed_at) VALUES ($1, $2, $3, $4, $5, $6)',
        [
          receiptStructHash(receipt),
          orderHash,
          receipt.executor,
          JSON.stringify(receiptToJson(receipt)),
          signature,
          clock(),
        ],
      );
    },
  };
}
