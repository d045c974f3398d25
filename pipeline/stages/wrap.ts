/**
 * Step `wrap` (recursive batches): one joint proof of all receipts of the batch, wrapped in the circuit that was chosen when
 * the batch was sealed, and checked as the contract will. The receipts stand by it from here on. Killed in between, it is
 * made again.
 */
import { AssayError } from '../../common/errors.js';
import { failPoint } from '../fail-points.js';
import type { BatchJob } from '../ports.js';
import { decodeValues } from '../store/values-file.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadBatch } from './load-batch.js';
import { loadOrder } from './load-order.js';

export async function wrapBatch(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, store, bundles, batchProver, clock } = context;
  const { batchHash, receipts } = await loadBatch(database, claim.subject);
  const [row] = await database.query<{ circuit: number | null }>(
    'SELECT circuit FROM assay.batches WHERE batch_hash = $1',
    [batchHash],
  );
  const circuit = row?.circuit ?? null;
  if (batchProver === null || circuit === null)
    throw new AssayError('INTERNAL', `Batch ${batchHash} is to be wrapped without a circuit, or without a prover.`);
  const jobs = await Promise.all(
    receipts.map(async ({ receipt: { orderHash, outputRoot } }): Promise<BatchJob> => {
      const { order, inputFile } = await loadOrder(database, orderHash);
      const bundle = await bundles.get(order.modelDigest);
      return { orderHash, bundle, inputs: decodeValues(await store.get(inputFile), inputFile), outputRoot };
    }),
  );
  failPoint('wrap.before-prove');
  const evidence = await batchProver.prove(circuit, jobs);
  failPoint('wrap.after-prove');
  const evidenceFile = await store.put(evidence);
  return {
    kind: 'advance',
    next: 'post',
    write: async (tx) => {
      await tx.execute('UPDATE assay.batches SET evidence_file = $2 WHERE batch_hash = $1', [batchHash, evidenceFile]);
      await tx.execute(
        `UPDATE assay.orders SET outcome = 'accepted', ended_at = $2 WHERE order_hash = ANY($1::text[]) AND outcome IS NULL`,
        [jobs.map(({ orderHash }) => orderHash), clock()],
      );
    },
  };
}
