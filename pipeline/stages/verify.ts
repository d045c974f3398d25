/**
 * Step `verify` (zk lane): the stored proof is verified, with no help from the prover, before anything is accepted.
 *
 *   it does not hold                  the prover's or the disk's fault: thrown away and made again, at most so many times
 *   it shows the receipt's output     accepted
 *   it shows another output           the executor has signed a wrong answer: rejected, and the executor suspended;
 *                                     receipt and proof are kept as evidence. First the model is run once here: where it
 *                                     gives the receipt's output, the key is not of this model, and nobody is condemned
 *
 * The receipt stands by its proof: its outcome is known here, before anything of it is on chain. What is accepted is posted
 * with the proof, as the contract reads it; an order that was answered wrongly is left to expire.
 */
import { AssayError } from '../../common/errors.js';
import { evaluateGraph, outputRoot, type Bundle } from '../../graph/index.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import type { Queryable } from '../database/database.js';
import { failPoint } from '../fail-points.js';
import { receiptFromJson, type ReceiptJson } from '../store/order-json.js';
import { decodeValues } from '../store/values-file.js';
import type { Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import { checkOrderProof } from '../zk/check-proof.js';
import type { StageContext } from './context.js';
import { loadOrder } from './load-order.js';
import { proverError } from './prove.js';
import { suspendExecutor, wrongAnswer } from './reject-answer.js';
import { within } from './within.js';

/** Proofs that do not hold, before the order is given up. */
const MOST_REFUSALS = 3;

interface ProofRow {
  readonly proof_file: string;
  readonly published_file: string;
  readonly output_file: string;
  readonly receipt_json: ReceiptJson;
}

export async function verifyOrderProof(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, store, bundles, provers } = context;
  const { order, orderHash, inputFile } = await loadOrder(database, claim.subject);
  const [row] = await database.query<ProofRow>(
    `SELECT p.proof_file, p.published_file, e.output_file, r.receipt_json
       FROM assay.proofs p JOIN assay.receipts r USING (order_hash) JOIN assay.executions e USING (order_hash)
      WHERE p.order_hash = $1`,
    [orderHash],
  );
  const [prover] = provers;
  if (row === undefined || prover === undefined)
    throw new AssayError('INTERNAL', `Order ${orderHash} is to be verified without a proof, or without a prover.`);
  const bundle = await bundles.get(order.modelDigest);
  const inputs = decodeValues(await store.get(inputFile), inputFile);
  const receipt = receiptFromJson(row.receipt_json);
  // Held against the digest: it may come from anybody.
  const asked = within(prover.keyOf(bundle), context.proveTimeoutMs, `prover ${prover.name}`);
  const key = await asked.catch((error: unknown) => {
    throw proverError(prover, error);
  });
  failPoint('verify.before-verify');
  let proof: Uint8Array;
  let published: Int32Array[];
  try {
    proof = await store.get(row.proof_file);
    published = decodeValues(await store.get(row.published_file), row.published_file);
  } catch (error) {
    if (error instanceof AssayError && isLost(error)) return refused(context, claim, error);
    throw error;
  }
  const keyFile = { key, srs: prover.srs };
  const shown = checkOrderProof(keyFile, { ...receipt, orderHash, inputs }, proof, published);
  if (shown.verdict === 'invalid') return refused(context, claim, new AssayError('PROOF_INVALID', shown.reason));
  failPoint('verify.after-verify');
  if (outputRoot(bundle.graph, shown.outputs, order.items) === receipt.outputRoot) {
    const evidence = context.encodeEvidence({ key: keyFile, graph: bundle.graph, receipt, inputs, proof, published });
    const evidenceFile = await store.put(evidence);
    const programFile = await store.put(encodeProgram(key.program));
    return {
      kind: 'advance',
      next: 'sealing',
      write: async (tx) => {
        await writeFinding(tx, context, orderHash, 'match', null);
        await tx.execute('UPDATE assay.proofs SET evidence_file = $2, program_file = $3 WHERE order_hash = $1', [
          orderHash,
          evidenceFile,
          programFile,
        ]);
      },
    };
  }
  requireModelsKey(bundle, inputs, receipt);
  const error = await wrongAnswer(store, receipt, shown.outputs, row.output_file);
  return {
    kind: 'advance',
    next: 'expire',
    write: async (tx) => {
      await writeFinding(tx, context, orderHash, 'executor-wrong', error);
      await suspendExecutor(tx, receipt, 'its proof', context.clock());
    },
  };
}

/** What is damaged or gone can be made again. The store itself is there: the input came from it. */
const isLost = ({ code, cause }: AssayError): boolean =>
  code === 'STORE_CORRUPT' || (code === 'STORE_UNAVAILABLE' && (cause as { code?: unknown }).code === 'ENOENT');

/**
 * A bundle names its key; whether that was made from its weights, only who makes the key again knows.
 * @throws AssayError MODEL_KEY_MISMATCH where the model itself gives the receipt's output
 */
function requireModelsKey({ graph, digest }: Bundle, inputs: readonly Int32Array[], receipt: Receipt): void {
  const trace = evaluateGraph(graph, inputs, receipt.items);
  const outputs = graph.outputs.map((id) => trace[id]!);
  if (outputRoot(graph, outputs, receipt.items) !== receipt.outputRoot) return;
  throw new AssayError(
    'MODEL_KEY_MISMATCH',
    `The proof for order ${receipt.orderHash} shows another output than the model ${digest} gives: the key that its bundle names is not made from it.`,
    { meta: { orderHash: receipt.orderHash, modelDigest: digest } },
  );
}

/** Back to `prove`, where it may help. */
async function refused({ database }: StageContext, { subject, attempt }: Claim, why: AssayError): Promise<StepEnd> {
  const earlier = await database.query(
    `SELECT 1 FROM assay.attempts WHERE subject = $1 AND step = 'verify' AND outcome = 'done'`,
    [subject],
  );
  if (earlier.length + 1 >= MOST_REFUSALS) {
    throw new AssayError('PROOF_INVALID', `Order ${subject}: no proof out of ${MOST_REFUSALS} holds: ${why.message}`, {
      cause: why,
      meta: { orderHash: subject },
    });
  }
  return {
    kind: 'advance',
    next: 'prove',
    write: async (tx) => {
      await tx.execute('DELETE FROM assay.proofs WHERE order_hash = $1', [subject]);
      await tx.execute('UPDATE assay.attempts SET error = $3 WHERE subject = $1 AND attempt = $2', [
        subject,
        attempt,
        JSON.stringify(why),
      ]);
    },
  };
}

async function writeFinding(
  tx: Queryable,
  { clock }: StageContext,
  orderHash: Hex,
  finding: 'match' | 'executor-wrong',
  error: AssayError | null,
): Promise<void> {
  const now = clock();
  await tx.execute('UPDATE assay.proofs SET finding = $2, verified_at = $3 WHERE order_hash = $1', [
    orderHash,
    finding,
    now,
  ]);
  await tx.execute('UPDATE assay.orders SET outcome = $2, error = $3, ended_at = $4 WHERE order_hash = $1', [
    orderHash,
    finding === 'match' ? 'accepted' : 'rejected',
    error === null ? null : JSON.stringify(error),
    now,
  ]);
}
