/**
 * Step `audit`: the chain draws, others re-execute, equality decides.
 *
 *  1. The commit is still where it was mined; after a reorganisation it is posted again, and whatever was drawn is void.
 *     A commit that stayed while the block of the draw changed has another seed: the old draw is void too.
 *  2. The seed is fixed by the contract from a block after the commit: nobody could know it when the receipts were
 *     signed and posted.
 *  3. The seed alone says which receipts are drawn, and who checks each.
 *  4. A checker of another operator on another engine re-executes; equal roots clear the receipt.
 *  5. Where they differ a third decides, independent of both.
 *  6. Who is caught has all of his receipts in the batch checked.
 *  7. What nobody could check in half of the window stays undecided, and the verdict voids it.
 *
 * Once the audit window has closed without a verdict the contract holds the receipts void, and nothing is checked more.
 */
import { AssayError, asAssayError } from '../../common/errors.js';
import { boundIndexes } from '../../receipts/index.js';
import type { Hex } from '../../receipts/types.js';
import {
  adjudicate,
  drawBatch,
  rankCheckers,
  type Adjudication,
  type Answer,
  type BoundReceipt,
  type Party,
} from '../../sampler/index.js';
import type { CourtTerms } from '../../verifier-contracts/court-terms.js';
import type { Queryable } from '../database/database.js';
import { failPoint } from '../fail-points.js';
import type { CheckerPort, CourtPort, NodePort, Roots } from '../ports.js';
import { decodeValues } from '../store/values-file.js';
import { fenced, type Claim } from '../work/claim.js';
import type { StepEnd } from '../work/runner.js';
import type { StageContext } from './context.js';
import { loadBatch, type BatchedReceipt, type StoredBatch } from './load-batch.js';
import { loadOrder } from './load-order.js';
import { performOnce, refusalOf } from './perform.js';
import { commitStands, reorganised, voidDraw } from './reorganised.js';
import { windowClosed } from './window-closed.js';
import { within } from './within.js';

export async function auditBatch(context: StageContext, claim: Claim): Promise<StepEnd> {
  const { chain, database, pollMs } = context;
  const batch = await loadBatch(database, claim.subject);
  const { header, commitTx, batchHash } = batch;
  if (header === null || commitTx === null)
    throw new AssayError('INTERNAL', `Batch ${batchHash} is to be audited but was not committed.`);

  if (!(await commitStands(context, batch))) return reorganised(context, batch);

  const court = await chain.courtOf(header.policyHash);
  let seed = await court.seedOf(batchHash);
  if (seed === null) {
    if ((await chain.blockNumber()) <= court.drawBlockOf(header)) {
      // Nobody will fix a seed any more; blocks may be slower than the window.
      if (await windowClosed(chain, court, header)) return { kind: 'advance', next: 'settle' };
      return { kind: 'wait', forMs: pollMs };
    }
    try {
      if ((await performOnce(context, 'seed', batchHash, court.fixSeedCall(header))) === null)
        return { kind: 'wait', forMs: pollMs };
    } catch (error) {
      const refusal = refusalOf(error);
      if (!(error instanceof AssayError) || error.code !== 'CHAIN_REVERTED') throw error;
      // Nobody fixed the seed in time: the receipts are void, which the contract itself will say.
      if (refusal?.name === 'AuditClosed') return { kind: 'advance', next: 'settle' };
      // The newest block may not have been a block later when the call was tried; or somebody else was first.
      if (refusal?.name === 'SeedTooEarly') return { kind: 'wait', forMs: pollMs };
    }
    seed = await court.seedOf(batchHash);
    if (seed === null) return { kind: 'wait', forMs: pollMs };
  }
  failPoint('audit.after-seed');
  // Stored even where the window has closed: settling compares the seed with the one drawn by.
  await storeDraw(context, claim, batch, court.terms, seed);
  if (await windowClosed(chain, court, header)) return { kind: 'advance', next: 'settle' };
  do {
    const open = await database.query<{ batch_index: number }>(
      'SELECT batch_index FROM assay.draws WHERE batch_hash = $1 AND finding IS NULL ORDER BY batch_index',
      [batchHash],
    );
    const silent: { index: number; error: AssayError }[] = [];
    for (const { batch_index: index } of open) {
      try {
        await auditReceipt(context, claim, batchHash, seed, index, batch.receipts[index]!);
      } catch (error) {
        if (!isSilence(error)) throw error;
        silent.push({ index, error });
      }
    }
    if (silent.length > 0) await giveUp(context, claim, batch, court, silent);
  } while (await widenDraw(context, claim, batch));
  return { kind: 'advance', next: 'settle' };
}

/** No checker is independent, or none answered. */
function isSilence(error: unknown): error is AssayError {
  return error instanceof AssayError && (error.code === 'CHECKER_NONE' || error.code === 'CHECKER_FAILED');
}

/**
 * One receipt that nobody can check must not void the batch: half of the audit's window is for trying again, then that
 * receipt alone stays undecided and the others are settled.
 * @throws AssayError the first failure, in the first half.
 */
async function giveUp(
  context: StageContext,
  claim: Claim,
  { batchHash, header }: StoredBatch,
  court: CourtPort,
  silent: readonly { readonly index: number; readonly error: AssayError }[],
): Promise<void> {
  const halfOver = (header!.committedAt + court.auditDeadlineOf(header!)) / 2;
  if ((await context.chain.clock()) < halfOver) throw silent[0]!.error;
  await fenced(context.database, claim, async (tx) => {
    for (const { index, error } of silent) await storeFinding(tx, batchHash, index, 'undecided', error.message);
  });
}

function storeFinding(
  tx: Queryable,
  batchHash: Hex,
  index: number,
  finding: 'match' | 'fraud' | 'checker-odd' | 'undecided',
  reason: string | null,
): Promise<number> {
  return tx.execute('UPDATE assay.draws SET finding = $3, reason = $4 WHERE batch_hash = $1 AND batch_index = $2', [
    batchHash,
    index,
    finding,
    reason,
  ]);
}

/** Step 3, once: a repeated call with the same seed finds it done. */
async function storeDraw(
  context: StageContext,
  claim: Claim,
  batch: StoredBatch,
  { drawRatePpm }: CourtTerms,
  seed: Hex,
): Promise<void> {
  if (batch.seed === seed) return;
  const drawn = drawBatch(seed, boundReceipts(batch), drawRatePpm);
  failPoint('audit.before-draw');
  await fenced(context.database, claim, async (tx) => {
    await voidDraw(tx, batch.batchHash);
    await tx.execute('UPDATE assay.batches SET seed = $2, drawn_at = $3 WHERE batch_hash = $1', [
      batch.batchHash,
      seed,
      context.clock(),
    ]);
    await insertDraws(tx, batch, drawn);
  });
  failPoint('audit.after-draw');
}

const boundReceipts = (batch: StoredBatch): BoundReceipt[] =>
  boundIndexes(batch.header!).map((index) => ({ index, executor: batch.receipts[index]!.receipt.executor }));

async function insertDraws(
  tx: Queryable,
  { batchHash, receipts }: StoredBatch,
  drawn: readonly number[],
): Promise<void> {
  for (const index of drawn) {
    const { orderHash } = receipts[index]!.receipt;
    await tx.execute('INSERT INTO assay.draws (batch_hash, batch_index, order_hash) VALUES ($1, $2, $3)', [
      batchHash,
      index,
      orderHash,
    ]);
  }
}

/** Step 6. @returns whether there is more to audit. */
async function widenDraw(context: StageContext, claim: Claim, batch: StoredBatch): Promise<boolean> {
  const draws = await context.database.query<{ batch_index: number; finding: string | null }>(
    'SELECT batch_index, finding FROM assay.draws WHERE batch_hash = $1',
    [batch.batchHash],
  );
  const drawn = new Set(draws.map(({ batch_index }) => batch_index));
  const caught = new Set(
    draws
      .filter(({ finding }) => finding === 'fraud')
      .map(({ batch_index }) => batch.receipts[batch_index]!.receipt.executor),
  );
  const more = boundReceipts(batch).flatMap(({ index, executor }) =>
    caught.has(executor) && !drawn.has(index) ? [index] : [],
  );
  if (more.length === 0) return false;
  await fenced(context.database, claim, (tx) => insertDraws(tx, batch, more));
  return true;
}

/** What a checker answered in round 1 or 2. */
type Opinion = Extract<Answer, { kind: 'result' }>;

const partyOf = ({ address, operator, engineName }: NodePort): Party => ({ address, operator, engine: engineName });

/** Steps 4 and 5 for one drawn receipt. What was found before a crash is read back, not found again. */
async function auditReceipt(
  context: StageContext,
  claim: Claim,
  batchHash: Hex,
  seed: Hex,
  index: number,
  posted: BatchedReceipt,
): Promise<void> {
  if (!posted.ours) {
    // In somebody else's batch: its input is not here, so that it is for those to check who have it.
    throw new AssayError('CHECKER_NONE', `Receipt ${index} of batch ${batchHash} is for no order that is known here.`, {
      meta: { batchHash, index },
    });
  }
  const executor = { party: await executorOf(context, posted.receipt.executor), roots: posted.receipt };
  const known = await readOpinions(context, batchHash, index);
  const first = known[0] ?? (await checkOnce(context, claim, batchHash, seed, index, 1, posted, [executor.party]));
  let result = adjudicate(executor, first);
  if (result.needsThird) {
    const third =
      known[1] ?? (await checkOnce(context, claim, batchHash, seed, index, 2, posted, [executor.party, first.party]));
    result = adjudicate(executor, first, third);
    failPoint('audit.after-adjudication');
  }
  const reason = result.verdict.verdict === 'valid' ? null : result.verdict.reason;
  await fenced(context.database, claim, (tx) => storeFinding(tx, batchHash, index, findingOf(result), reason));
}

/** Only a proven fault of the executor kills the receipt; three different results condemn nobody, and void it. */
function findingOf({ verdict, faulty }: Adjudication): 'match' | 'fraud' | 'checker-odd' | 'undecided' {
  if (faulty === 'executor') return 'fraud';
  if (faulty === 'checker') return 'checker-odd';
  return verdict.verdict === 'valid' ? 'match' : 'undecided';
}

async function executorOf(context: StageContext, address: Hex): Promise<Party> {
  const [party] = await context.database.query<Party>(
    'SELECT address, operator, engine FROM assay.nodes WHERE address = $1',
    [address],
  );
  if (party === undefined)
    throw new AssayError('INTERNAL', `Executor ${address} has a receipt but is in no list of nodes.`);
  return party;
}

async function readOpinions(
  context: StageContext,
  batchHash: Hex,
  index: number,
): Promise<[Opinion | undefined, Opinion | undefined]> {
  const rows = await context.database.query<
    Party & { round: number; input_root: Hex; output_root: Hex; trace_root: Hex }
  >(
    `SELECT a.round, a.checker AS address, n.operator, a.engine, a.input_root, a.output_root, a.trace_root
       FROM assay.audits a JOIN assay.nodes n ON n.address = a.checker WHERE a.batch_hash = $1 AND a.batch_index = $2`,
    [batchHash, index],
  );
  const of = (round: number): Opinion | undefined => {
    const row = rows.find((r) => r.round === round);
    if (row === undefined) return undefined;
    const { address, operator, engine, input_root, output_root, trace_root } = row;
    return {
      kind: 'result',
      party: { address, operator, engine },
      roots: { inputRoot: input_root, outputRoot: output_root, traceRoot: trace_root },
    };
  };
  return [of(1), of(2)];
}

/** Has the drawn checker, or where it fails the next one in the drawn order, re-execute; stores what it found. */
async function checkOnce(
  context: StageContext,
  claim: Claim,
  batchHash: Hex,
  seed: Hex,
  index: number,
  round: 1 | 2,
  posted: BatchedReceipt,
  against: readonly Party[],
): Promise<Opinion> {
  const { database, store, bundles, clock } = context;
  const { receipt } = posted;
  const { order, inputFile } = await loadOrder(database, receipt.orderHash);
  const bundle = await bundles.get(order.modelDigest);
  const inputs = decodeValues(await store.get(inputFile), inputFile);
  const suspended = await database.query<{ address: Hex }>(
    'SELECT address FROM assay.nodes WHERE suspended_at IS NOT NULL',
  );
  const excluded = new Set(suspended.map(({ address }) => address));
  const ports = new Map(
    context.checkers.filter(({ address }) => !excluded.has(address)).map((checker) => [checker.address, checker]),
  );
  const candidates = rankCheckers(seed, index, [...ports.values()].map(partyOf), against);
  if (candidates.length === 0) {
    throw new AssayError(
      'CHECKER_NONE',
      `No checker for receipt ${index} of batch ${batchHash}, round ${round}: ${context.checkers.length} connected, none of another operator and engine than ${against.map((party) => `${party.operator} (${party.engine})`).join(' and ')}.`,
      {
        meta: { batchHash, index, round },
      },
    );
  }
  const failures: string[] = [];
  for (const party of candidates) {
    const checker = ports.get(party.address)!;
    let roots: Roots;
    try {
      roots = await within(
        checker.check(bundle, inputs, order.items, { orderHash: receipt.orderHash }),
        context.executeTimeoutMs,
        `checker ${checker.address}`,
      );
    } catch (error) {
      failures.push(`${checker.address}: ${asAssayError(error).message}`);
      continue;
    }
    failPoint('audit.after-check');
    await storeOpinion(context, claim, batchHash, index, round, checker, roots, clock());
    failPoint('audit.after-check-stored');
    return { kind: 'result', party, roots };
  }
  throw new AssayError(
    'CHECKER_FAILED',
    `Every checker failed on receipt ${index} of batch ${batchHash}: ${failures.join('; ')}`,
    { meta: { batchHash, index, round, failures } },
  );
}

function storeOpinion(
  context: StageContext,
  claim: Claim,
  batchHash: Hex,
  index: number,
  round: number,
  checker: CheckerPort,
  roots: Roots,
  now: number,
): Promise<number> {
  return fenced(context.database, claim, (tx) =>
    tx.execute(
      `INSERT INTO assay.audits (batch_hash, batch_index, round, checker, engine, input_root, output_root, trace_root, finished_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        batchHash,
        index,
        round,
        checker.address,
        checker.engineName,
        roots.inputRoot,
        roots.outputRoot,
        roots.traceRoot,
        now,
      ],
    ),
  );
}
