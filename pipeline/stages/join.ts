/**
 * Step `join` (zk lane, orders that are proved together): the model is run once here, exactly, and its output held against
 * the receipt's. A wrong answer would spoil the proof of everybody who shares the batch, so it never gets into one: the
 * order ends, its executor is suspended. What is right waits for its batch.
 */
import { AssayError } from '../../common/errors.js';
import { evaluateGraph, outputRoot } from '../../graph/index.js';
import { failPoint } from '../fail-points.js';
import { receiptFromJson, type ReceiptJson } from '../store/order-json.js';
import { decodeValues } from '../store/values-file.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadOrder } from './load-order.js';
import { suspendExecutor, wrongAnswer } from './reject-answer.js';

export async function joinOrder(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, store, bundles, clock } = context;
  const { order, orderHash, inputFile } = await loadOrder(database, claim.subject);
  const [row] = await database.query<{ receipt_json: ReceiptJson; output_file: string }>(
    `SELECT r.receipt_json, e.output_file FROM assay.receipts r JOIN assay.executions e USING (order_hash)
      WHERE r.order_hash = $1`,
    [orderHash],
  );
  if (row === undefined) throw new AssayError('INTERNAL', `Order ${orderHash} is to join a batch without a receipt.`);
  const receipt = receiptFromJson(row.receipt_json);
  const bundle = await bundles.get(order.modelDigest);
  const inputs = decodeValues(await store.get(inputFile), inputFile);
  const trace = evaluateGraph(bundle.graph, inputs, order.items);
  const shown = bundle.graph.outputs.map((id) => trace[id]!);
  failPoint('join.after-evaluate');
  if (outputRoot(bundle.graph, shown, order.items) === receipt.outputRoot)
    return { kind: 'advance', next: 'sealing', write: () => Promise.resolve() };
  const error = await wrongAnswer(store, receipt, shown, row.output_file);
  return {
    kind: 'advance',
    next: 'expire',
    write: async (tx) => {
      const now = clock();
      await tx.execute(
        `UPDATE assay.orders SET outcome = 'rejected', error = $2, ended_at = $3 WHERE order_hash = $1`,
        [orderHash, JSON.stringify(error), now],
      );
      await suspendExecutor(tx, receipt, 'the model itself', now);
    },
  };
}
