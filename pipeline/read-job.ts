/** A job as its requester sees it. */
import type { AssayError } from '../common/errors.js';
import type { Queryable } from './database/database.js';
import { decodeValues } from './store/values-file.js';
import {
  headerFromJson,
  orderFromJson,
  receiptFromJson,
  type HeaderJson,
  type OrderJson,
  type ReceiptJson,
} from './store/order-json.js';
import {
  leafHash,
  merklePaths,
  type BatchPosition,
  type ReceiptStatus,
  type Settlement,
  type ZkEvidence,
} from '../receipts/index.js';
import type { OrderState } from '../verifier-contracts/escrow-client.js';
import type { Heads } from './chain/chain-watch.js';
import { loadBatch } from './stages/load-batch.js';
import type { Hex, JobOrder, Receipt } from '../receipts/types.js';
import type { RoutingDecision } from './routing.js';
import type { StageContext } from './stages/context.js';
import type { Step } from './work/steps.js';

export type AssayErrorJson = ReturnType<AssayError['toJSON']>;

export interface JobView {
  readonly jobId: Hex;
  readonly order: JobOrder;
  readonly orderSignature: Hex;
  /** One array per graph input. */
  readonly inputs: readonly Int32Array[];
  readonly step: Step;
  /**
   * Null until it is known. `accepted` and `rejected` are the chain's words, or in the zk lane the proof's. The money
   * follows: see `settlement`.
   */
  readonly outcome: 'accepted' | 'rejected' | 'void' | 'failed' | null;
  readonly error: AssayErrorJson | null;
  readonly lane: RoutingDecision | null;
  /** The executor's signature that it takes the order on; null until it has. */
  readonly acceptance: Hex | null;
  /** One array per graph output; from the moment that the job was run. */
  readonly outputs: readonly Int32Array[] | null;
  readonly receipt: { readonly receipt: Receipt; readonly signature: Hex } | null;
  readonly batchHash: Hex | null;
  /** Where the receipt stands on chain, once its batch is committed. */
  readonly position: BatchPosition | null;
  readonly chainStatus: ReceiptStatus | null;
  readonly settlement: JobSettlement;
  /** Zk lane: from the moment that the proof has been made. */
  readonly proof: JobProof | null;
  /** Null where the seed has not drawn the receipt, or not yet. */
  readonly audit: JobAudit | null;
}

/** Where the order's money is. */
export interface JobSettlement {
  readonly state: 'unopened' | 'open' | 'bound' | 'paid' | 'slashed' | 'refunded';
  /**
   * How far the block that says so can still be taken back: `soft` by any reorganisation, `finalized` no more. Null where
   * the chain says nothing.
   */
  readonly depth: Settlement | null;
}

export interface JobProof {
  readonly scheme: ZkEvidence['scheme'];
  readonly bytes: Uint8Array;
  /** The integers that the proof is about: one array per output of the model. */
  readonly published: readonly Int32Array[];
  /**
   * `match`: it shows the output that the receipt states. `executor-wrong`: it shows another one. Null until verified.
   */
  readonly finding: 'match' | 'executor-wrong' | null;
}

/** What came of the re-execution of a drawn receipt. */
export interface JobAudit {
  /**
   * `match`: a checker has the same roots. `fraud`: two checkers agree on others. `checker-odd`: a checker has others,
   * a second one those of the receipt. `undecided`: three parties, three results; the receipt is void.
   * Null until the audit has ended.
   */
  readonly finding: 'match' | 'fraud' | 'checker-odd' | 'undecided' | null;
  /** What differed; null where nothing speaks against the receipt. */
  readonly reason: string | null;
}

interface Row {
  readonly order_json: OrderJson;
  readonly order_signature: Hex;
  readonly input_file: string;
  readonly step: Step;
  readonly outcome: JobView['outcome'];
  readonly error: AssayErrorJson | null;
  readonly lane_decision: RoutingDecision | null;
  readonly acceptance: Hex | null;
  readonly chain_state: OrderState;
  readonly chain_block: string | null;
  readonly output_file: string | null;
  readonly receipt_json: ReceiptJson | null;
  readonly receipt_signature: Hex | null;
  readonly batch_hash: Hex | null;
  readonly batch_index: number | null;
  readonly header_json: HeaderJson | null;
  readonly chain_status: ReceiptStatus | null;
  readonly drawn: boolean;
  readonly finding: JobAudit['finding'];
  readonly reason: string | null;
  readonly scheme: JobProof['scheme'] | null;
  readonly proof_file: string | null;
  readonly published_file: string | null;
  readonly proof_finding: JobProof['finding'];
}

export async function readJob(
  context: Pick<StageContext, 'database' | 'store' | 'heads'>,
  jobId: Hex,
): Promise<JobView | null> {
  const [row] = await context.database.query<Row>(
    `SELECT o.order_json, o.signature AS order_signature, o.input_file, w.step, o.outcome, o.error, o.lane_decision, o.acceptance, o.chain_state, o.chain_block, e.output_file,
            r.receipt_json, r.signature AS receipt_signature, r.batch_hash, r.batch_index, b.header_json, r.chain_status,
            d.batch_hash IS NOT NULL AS drawn, d.finding, d.reason, p.scheme, p.proof_file, p.published_file, p.finding AS proof_finding
       FROM assay.orders o JOIN assay.work w ON w.subject = o.order_hash
       LEFT JOIN assay.executions e USING (order_hash) LEFT JOIN assay.receipts r USING (order_hash) LEFT JOIN assay.batches b USING (batch_hash)
       LEFT JOIN assay.proofs p USING (order_hash)
       LEFT JOIN assay.draws d ON d.batch_hash = r.batch_hash AND d.batch_index = r.batch_index
      WHERE o.order_hash = $1`,
    [jobId],
  );
  if (row === undefined) return null;
  return {
    jobId,
    order: orderFromJson(row.order_json),
    orderSignature: row.order_signature,
    inputs: decodeValues(await context.store.get(row.input_file), row.input_file),
    step: row.step,
    outcome: row.outcome,
    error: row.error,
    lane: row.lane_decision,
    acceptance: row.acceptance,
    outputs: row.output_file === null ? null : decodeValues(await context.store.get(row.output_file), row.output_file),
    receipt:
      row.receipt_json === null
        ? null
        : { receipt: receiptFromJson(row.receipt_json), signature: row.receipt_signature! },
    batchHash: row.batch_hash,
    position: await positionOf(context, row),
    chainStatus: row.chain_status,
    settlement: settlementOf(row, context.heads()),
    proof: await proofOf(context, row),
    audit: row.drawn ? { finding: row.finding, reason: row.reason } : null,
  };
}

function settlementOf({ chain_state, chain_block }: Row, heads: Heads | null): JobSettlement {
  if (chain_state === 'none') return { state: 'unopened', depth: null };
  const depth =
    heads === null || chain_block === null || Number(chain_block) > heads.safe
      ? 'soft'
      : Number(chain_block) > heads.finalized
        ? 'safe'
        : 'finalized';
  return { state: chain_state, depth };
}

async function proofOf({ store }: Pick<StageContext, 'store'>, row: Row): Promise<JobProof | null> {
  if (row.scheme === null) return null;
  return {
    scheme: row.scheme,
    bytes: await store.get(row.proof_file!),
    published: decodeValues(await store.get(row.published_file!), row.published_file!),
    finding: row.proof_finding,
  };
}

async function positionOf(context: Pick<StageContext, 'database'>, row: Row): Promise<BatchPosition | null> {
  if (row.header_json === null || row.batch_index === null) return null;
  const header = headerFromJson(row.header_json);
  const paths = await pathsOf(context.database, row.batch_hash!);
  return { header, index: row.batch_index, path: paths[row.batch_index]! };
}

/** The jobs of a batch end together and are read together: its tree is hashed once, not once for each. */
const recentPaths = new WeakMap<Queryable, { readonly batchHash: Hex; readonly paths: Promise<Hex[][]> }>();

/** @param batchHash of a sealed batch: its receipts, and so its paths, never change. */
function pathsOf(database: Queryable, batchHash: Hex): Promise<Hex[][]> {
  const recent = recentPaths.get(database);
  if (recent?.batchHash === batchHash) return recent.paths;
  const paths = loadBatch(database, batchHash).then(({ lane, receipts }) =>
    merklePaths(receipts.map(({ receiptHash }, index) => leafHash(index, lane, receiptHash))),
  );
  recentPaths.set(database, { batchHash, paths });
  paths.catch(() => recentPaths.delete(database));
  return paths;
}
