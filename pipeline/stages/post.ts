/**
 * Step `post`: the batch is committed on chain, one of the zk lane together with its proof. Only from here on can the draw
 * of the sampled lane be made: the block fixes what it draws from.
 *
 * Before money is spent the chain is asked about the orders. One that a reorganisation has closed again is opened again
 * first, and a proof's program is published; receipts that somebody else has committed meanwhile are followed to where they are bound (adopt.ts).
 */
import { AssayError } from '../../common/errors.js';
import { boundIndexes, type BatchHeader } from '../../receipts/index.js';
import type { Hex } from '../../receipts/types.js';
import { publicationOf } from '../../prover/files/direct-evidence.js';
import type { Call } from '../../verifier-contracts/contract-client.js';
import type { Performed } from '../chain/transaction-journal.js';
import { failPoint } from '../fail-points.js';
import { headerToJson } from '../store/order-json.js';
import { moveTo, type Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import { AFTER_COMMIT } from '../work/steps.js';
import { adopt, findElsewhere, follow } from './adopt.js';
import type { StageContext } from './context.js';
import { loadBatch, postedToJson, type StoredBatch } from './load-batch.js';
import { openKey } from './open.js';
import { isDeepEnough, performOnce, refusalOf } from './perform.js';
import { writeChainState } from './write-chain-state.js';

export async function postBatch(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { database, chain, pollMs } = context;
  const batch = await loadBatch(database, claim.subject);
  const { batchHash } = batch;
  let mined: Performed | null;
  try {
    if (!(await isOnItsWay(context, batch))) {
      const ready = await ordersToBind(context, batch);
      if (ready === 'wait') return { kind: 'wait', forMs: pollMs };
      if (ready === 'none') return await nothingBound(context, batch);
      if (!(await isProgramPublished(context, batch))) return { kind: 'wait', forMs: pollMs };
    }
    mined = await performOnce(
      context,
      'commit',
      batchHash,
      await commitCall(context, batch),
      batch.lane === 'zk' ? 'post-proved' : undefined,
    );
  } catch (error) {
    // Not one receipt of the batch can bind any more.
    if (refusalOf(error)?.name === 'NothingBound') return nothingBound(context, batch);
    throw error;
  }
  if (mined === null || !(await isDeepEnough(context, mined))) return { kind: 'wait', forMs: pollMs };
  const header = await chain.headerIn(mined.hash, batchHash);
  if (header === null) {
    throw new AssayError(
      'BATCH_COMMIT_REFUSED',
      `Transaction ${mined.hash} was mined but committed no batch ${batchHash}.`,
      { meta: { hash: mined.hash } },
    );
  }
  failPoint('post.after-commit-mined');
  return committed(context, batch, header, mined);
}

async function isOnItsWay({ database }: StageContext, { batchHash }: StoredBatch): Promise<boolean> {
  const stored = await database.query(
    `SELECT 1 FROM assay.intents i LEFT JOIN assay.txs t ON t.hash = i.mined_tx
      WHERE i.key LIKE $1 AND t.reverted IS DISTINCT FROM true`,
    [`commit-${batchHash}-%`],
  );
  return stored.length > 0;
}

/**
 * Can orders of the batch still be bound? `wait`: their opening has been taken out of the chain, and is on its way again.
 */
async function ordersToBind(context: StageContext, batch: StoredBatch): Promise<'some' | 'none' | 'wait'> {
  const { chain, database, journal } = context;
  const orders = batch.receipts.map(({ receipt: { orderHash } }) => orderHash);
  const views = await Promise.all(orders.map((orderHash) => chain.orderOf(orderHash)));
  const closed = orders.filter((_, index) => views[index]!.state === 'none');
  const openings = await database.query<{ opening: Hex }>(
    'SELECT DISTINCT opening FROM assay.orders WHERE order_hash = ANY($1::text[]) AND opening IS NOT NULL',
    [closed],
  );
  for (const { opening } of openings) if ((await journal.recheck(openKey(opening))) === null) return 'wait';
  return views.some(({ state }) => state === 'open') ? 'some' : 'none';
}

/**
 * Has the verifier the program of the batch's proof? Else it is published, one transaction for a model and a size of batch:
 * the commit waits for it.
 */
async function isProgramPublished(context: StageContext, batch: StoredBatch): Promise<boolean> {
  const { chain, database, store } = context;
  const { receipt } = batch.receipts[0]!;
  const [proof] = await database.query<{ program_file: string; proof_file: string }>(
    'SELECT program_file, proof_file FROM assay.proofs WHERE order_hash = $1 AND program_file IS NOT NULL',
    [receipt.orderHash],
  );
  if (batch.lane !== 'zk' || proof === undefined) return true;
  const publication = publicationOf(
    await store.get(proof.program_file),
    receipt.items,
    await store.get(proof.proof_file),
  );
  const call = await chain.publishCall(batch.policyHash, publication);
  if (call === null) return true;
  const { programHash, items, n } = publication;
  await performOnce(context, 'publish', `${programHash}-${items}-${n}`, call);
  return false;
}

async function commitCall({ chain, database, store }: StageContext, batch: StoredBatch): Promise<Call> {
  const { lane, policyHash, receipts, salt } = batch;
  if (lane !== 'zk') return chain.commitCall(lane, policyHash, receipts, salt);
  // Of a recursive batch the batch's own, else that of its one receipt.
  const [proof] = await database.query<{ evidence_file: string | null; circuit: number | null }>(
    `SELECT COALESCE(b.evidence_file, p.evidence_file) AS evidence_file, b.circuit
       FROM assay.batches b LEFT JOIN assay.proofs p ON p.order_hash = $2 WHERE b.batch_hash = $1`,
    [batch.batchHash, receipts[0]!.receipt.orderHash],
  );
  const file = proof?.evidence_file ?? null;
  if (file === null) throw new AssayError('INTERNAL', `Batch ${batch.batchHash} is to be posted without its proof.`);
  const evidence = await store.get(file);
  const kind = proof?.circuit === null ? 'direct' : 'batch';
  return chain.commitProvedCall(policyHash, receipts, salt, `0x${Buffer.from(evidence).toString('hex')}`, kind);
}

async function committed(
  context: StageContext,
  batch: StoredBatch,
  header: BatchHeader,
  mined: Performed,
): Promise<StepEnd> {
  const bound = new Set(boundIndexes(header));
  const left = batch.receipts.filter(({ ours }, index) => ours && !bound.has(index));
  const { copies, unreadable } = await findElsewhere(context, left);
  return {
    kind: 'advance',
    next: AFTER_COMMIT[batch.lane],
    write: async (tx) => {
      await tx.execute(
        `UPDATE assay.batches SET commit_tx = $2, commit_block = $3, commit_block_hash = $4, header_json = $5, posted_json = $6
          WHERE batch_hash = $1`,
        [
          batch.batchHash,
          mined.hash,
          mined.blockNumber,
          mined.blockHash,
          JSON.stringify(headerToJson(header)),
          // What goes to another batch stays a leaf of this one.
          copies.length + unreadable.length === 0 ? null : JSON.stringify(postedToJson(batch.receipts)),
        ],
      );
      const seen = batch.receipts
        .filter(({ ours }, index) => ours && bound.has(index))
        .map(({ receipt: { orderHash } }) => ({ orderHash, state: 'bound' as const }));
      await writeChainState(tx, seen, mined.blockNumber);
      await adopt(tx, copies, context.clock());
      await follow(tx, unreadable, context.clock());
    },
  };
}

/** The batch will never be on chain: what somebody else has committed is followed, the other orders end. */
async function nothingBound(context: StageContext, batch: StoredBatch): Promise<StepEnd> {
  const ours = batch.receipts.filter((receipt) => receipt.ours);
  const { copies, unreadable } = await findElsewhere(context, ours);
  // It is our own commit that was mined, seen a moment too early: the next look finds it.
  if (copies.some((copy) => copy.batch.batchHash === batch.batchHash)) return { kind: 'wait', forMs: context.pollMs };
  const followed = new Set([...copies, ...unreadable].map(({ orderHash }) => orderHash));
  const lost = ours.map(({ receipt: { orderHash } }) => orderHash).filter((orderHash) => !followed.has(orderHash));
  const error = new AssayError(
    'BATCH_COMMIT_REFUSED',
    `Not one receipt of batch ${batch.batchHash} can bind on chain.`,
  );
  return {
    kind: 'advance',
    next: 'done',
    write: async (tx) => {
      const now = context.clock();
      await tx.execute('UPDATE assay.batches SET settled_at = $2 WHERE batch_hash = $1', [batch.batchHash, now]);
      await adopt(tx, copies, now);
      await follow(tx, unreadable, now);
      // What a proof has shown it shows without the chain.
      await tx.execute(
        `UPDATE assay.orders SET outcome = 'failed', error = $2, ended_at = $3
          WHERE order_hash = ANY($1::text[]) AND outcome IS NULL`,
        [lost, JSON.stringify(error), now],
      );
      await moveTo(tx, lost, 'expire', now);
    },
  };
}
