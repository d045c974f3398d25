/**
 * Typed client of ReceiptRollup.sol.
 *
 * `…Call` gives the bytes of a transaction without sending it, for callers that keep their own record of nonces and
 * signed transactions; `commit` and `commitProved` send through the client's signer and wait.
 */
import { Interface, type Log } from 'ethers';
import { AssayError } from '../common/errors.js';
import { batchHash as hashBatch, headerHash, type BatchHeader } from '../receipts/batch.js';
import { laneNumber, receiptStructHash, receiptValue } from '../receipts/eip712.js';
import { batchRoot, leafHash, MAX_BATCH } from '../receipts/merkle.js';
import { LANES, type Hex, type Lane, type Receipt } from '../receipts/types.js';
import { headerValue, RECEIPT_STATUSES, type ReceiptStatus } from '../receipts/verify-receipt.js';
import { receiptRollupAbi } from './bindings/ReceiptRollup.js';
import { readCommit, type CommitLayout } from './commit-calldata.js';
import {
  ContractClient,
  orNull,
  sentTransaction,
  type BlockTag,
  type Call,
  type ChainContext,
  type SentTransaction,
} from './contract-client.js';

export const rollupInterface = new Interface(receiptRollupAbi);

export interface SignedReceipt {
  readonly receipt: Receipt;
  readonly signature: Hex;
}

/** In the order of the contract's enum `BindFault`. */
export const BIND_FAULTS = ['none', 'lane', 'policy', 'signature', 'order', 'amount', 'late'] as const;
export type BindFault = (typeof BIND_FAULTS)[number];

/** In the order of the contract's enum `LeafState`. */
export const LEAF_STATES = ['pending', 'challengeable', 'final', 'void', 'dead'] as const;
export type LeafState = (typeof LEAF_STATES)[number];

export interface CommittedBatch extends SentTransaction {
  readonly batchHash: Hex;
  readonly header: BatchHeader;
}

export interface PostedBatch {
  readonly batchHash: Hex;
  readonly header: BatchHeader;
  readonly receipts: readonly SignedReceipt[];
  readonly transactionHash: Hex;
  /** The proof that went along, of a batch of the zk lane. */
  readonly evidence?: Hex;
}

export class RollupClient extends ContractClient {
  constructor(context: ChainContext) {
    super(context, context.domain.verifyingContract, rollupInterface);
  }

  /** The name that a batch will have when `poster` commits it; known before anything is sent. @throws BATCH_INVALID */
  batchHashOf(lane: Lane, policyHash: Hex, receipts: readonly SignedReceipt[], salt: Hex, poster: Hex): Hex {
    const header = { lane, policyHash, count: receipts.length, poster, salt, batchRoot: rootOf(lane, receipts) };
    return hashBatch(header, this.domain);
  }

  /** Of the optimistic or the sampled lane. @throws AssayError BATCH_INVALID, RECEIPT_FIELD_INVALID */
  commitCall(lane: Lane, policyHash: Hex, receipts: readonly SignedReceipt[], salt: Hex): Call {
    return this.callOf('commit', [laneNumber('batch', lane), policyHash, ...receiptLists(receipts), salt]);
  }

  /**
   * Of the zk lane.
   * @param evidence for the policy's verifier; its claim i is about receipt i
   * @throws AssayError BATCH_INVALID, RECEIPT_FIELD_INVALID
   */
  commitProvedCall(policyHash: Hex, receipts: readonly SignedReceipt[], salt: Hex, evidence: Hex): Call {
    return this.callOf('commitProved', [policyHash, ...receiptLists(receipts), salt, evidence]);
  }

  /**
   * @param salt 32 bytes; another one for every batch
   * @throws AssayError BATCH_INVALID, CHAIN_REVERTED (LaneClosed, NothingBound, BatchKnown ...), CHAIN_UNAVAILABLE
   */
  async commit(lane: Lane, policyHash: Hex, receipts: readonly SignedReceipt[], salt: Hex): Promise<CommittedBatch> {
    return this.committed(this.commitCall(lane, policyHash, receipts, salt), 'commit');
  }

  /** @throws AssayError BATCH_INVALID, CHAIN_REVERTED (ClaimMismatch and those of `commit`), CHAIN_UNAVAILABLE */
  async commitProved(
    policyHash: Hex,
    receipts: readonly SignedReceipt[],
    salt: Hex,
    evidence: Hex,
  ): Promise<CommittedBatch> {
    return this.committed(this.commitProvedCall(policyHash, receipts, salt, evidence), 'commitProved');
  }

  async statusOf(
    receipt: Receipt,
    index: number,
    path: readonly Hex[],
    header: BatchHeader,
    blockTag: BlockTag = 'latest',
  ): Promise<ReceiptStatus> {
    const answer = await this.view('statusOf', [receiptValue(receipt), index, path, headerValue(header)], blockTag);
    return RECEIPT_STATUSES[Number(answer)]!;
  }

  /** Where a leaf stands, bound or not. @throws AssayError CHAIN_REVERTED (BatchUnknown), CHAIN_UNAVAILABLE */
  async leafStateOf(header: BatchHeader, index: number, blockTag: BlockTag = 'latest'): Promise<LeafState> {
    return LEAF_STATES[Number((await this.viewAll('leafStateOf', [headerValue(header), index], blockTag))['state'])]!;
  }

  /** Why this receipt would not bind in a commit now. */
  async bindFaultOf(lane: Lane, policyHash: Hex, { receipt, signature }: SignedReceipt): Promise<BindFault> {
    const args = [laneNumber('batch', lane), policyHash, receiptValue(receipt), signature];
    return BIND_FAULTS[Number(await this.view('bindFaultOf', args))]!;
  }

  /** Bitmap of leaves whose executor signed a second receipt for the order; a court's findings are the court's. */
  async killsOf(batchHash: Hex): Promise<bigint> {
    return (await this.view('killsOf', [batchHash])) as bigint;
  }

  /** Null where there is no such batch. */
  async headerHashOf(batchHash: Hex): Promise<Hex | null> {
    return orNull(await this.view('headerHashOf', [batchHash]));
  }

  /** Accumulator over all batches. */
  async chain(): Promise<Hex> {
    return (await this.view('chain', [])) as Hex;
  }

  /** Header of the batch that a mined transaction committed, or null where it committed no such batch. */
  async headerIn(transactionHash: Hex, batchHash: Hex): Promise<BatchHeader | null> {
    const mined = await this.guard(`transaction ${transactionHash}`, () =>
      this.provider.getTransactionReceipt(transactionHash),
    );
    const found = (mined?.logs ?? []).map((log) => this.headerOfLog(log)).find((log) => log?.batchHash === batchHash);
    return found?.header ?? null;
  }

  /** Header of a batch from its event; null where the contract has no such batch. */
  async headerOf(batchHash: Hex): Promise<BatchHeader | null> {
    return (await this.findBatch(batchHash))?.header ?? null;
  }

  /**
   * A batch as a stranger rebuilds it from the chain alone: header from the event, receipts and signatures from the
   * calldata, all recomputed and compared with the hash that the contract keeps.
   * @throws AssayError CHAIN_BATCH_UNKNOWN where there is none, or its calldata cannot be read, with the reason;
   * CHAIN_UNAVAILABLE
   */
  async readBatch(batchHash: Hex): Promise<PostedBatch> {
    const what = `batch ${batchHash}`;
    const found = await this.findBatch(batchHash);
    if (found === null) throw new AssayError('CHAIN_BATCH_UNKNOWN', `${what}: not committed to ${this.address}`);
    const { header, transactionHash } = found;
    const transaction = await this.guard(what, () => this.provider.getTransaction(transactionHash));
    const unreadable = (reason: string, cause?: unknown): AssayError =>
      new AssayError('CHAIN_BATCH_UNKNOWN', `${what}: ${reason}`, { cause, meta: { batchHash, transactionHash } });
    if (transaction?.to?.toLowerCase() !== this.address) {
      const reason = `transaction ${transactionHash} reached the contract through another one: its calldata holds no receipts`;
      throw unreadable(reason);
    }
    const { receipts, evidence } = readable(transaction.data as Hex, (reason, cause) =>
      unreadable(`transaction ${transactionHash}: ${reason}`, cause),
    );
    // The root is over leaves that hold the lane, so that it tells a batch of another lane too.
    if (receipts.length !== header.count || rootOf(header.lane, receipts) !== header.batchRoot)
      throw unreadable(`the calldata of ${transactionHash} is of another batch`);
    return { batchHash, header, receipts, transactionHash, ...(evidence === undefined ? {} : { evidence }) };
  }

  private async findBatch(batchHash: Hex): Promise<{ header: BatchHeader; transactionHash: Hex } | null> {
    const topics = rollupInterface.encodeFilterTopics('BatchCommitted', [batchHash]);
    const logs = await this.guard(`batch ${batchHash}`, () =>
      this.provider.getLogs({ address: this.address, topics, fromBlock: this.context.fromBlock, toBlock: 'latest' }),
    );
    const stored = await this.headerHashOf(batchHash);
    for (const log of logs) {
      const found = this.headerOfLog(log);
      if (found !== null && headerHash(found.header, this.domain) === stored) {
        return { header: found.header, transactionHash: log.transactionHash as Hex };
      }
    }
    return null;
  }

  private headerOfLog(log: Pick<Log, 'address' | 'topics' | 'data'>): { batchHash: Hex; header: BatchHeader } | null {
    if (log.address.toLowerCase() !== this.address) return null;
    const event = rollupInterface.parseLog(log);
    if (event?.name !== 'BatchCommitted') return null;
    const args = event.args as unknown as { batchHash: Hex; header: Record<string, unknown> };
    return { batchHash: args.batchHash, header: headerOfValue(args.header) };
  }

  private async committed(call: Call, what: string): Promise<CommittedBatch> {
    const mined = await this.send(call, what);
    const posted = mined.logs.map((log) => this.headerOfLog(log)).find((found) => found !== null);
    if (posted === undefined) throw new AssayError('INTERNAL', `${what} ${mined.hash} left no BatchCommitted event`);
    return { ...posted, ...sentTransaction(mined) };
  }
}

/** Receipts and signatures as the contract takes them. @throws AssayError BATCH_INVALID, RECEIPT_FIELD_INVALID */
function receiptLists(receipts: readonly SignedReceipt[]): [unknown[], Hex[]] {
  if (receipts.length === 0 || receipts.length > MAX_BATCH) {
    throw new AssayError('BATCH_INVALID', `batch: expected 1 to ${MAX_BATCH} receipts, found ${receipts.length}`);
  }
  return [receipts.map(({ receipt }) => receiptValue(receipt)), receipts.map(({ signature }) => signature)];
}

function rootOf(lane: Lane, receipts: readonly SignedReceipt[]): Hex {
  return batchRoot(receipts.map(({ receipt }, i) => leafHash(i, lane, receiptStructHash(receipt))));
}

/** Where the lists stand in each function's arguments. */
const LAYOUTS: Readonly<Record<string, CommitLayout>> = {
  [rollupInterface.getFunction('commit')!.selector]: { receipts: 2, signatures: 3 },
  [rollupInterface.getFunction('commitProved')!.selector]: { receipts: 1, signatures: 2, evidence: 4 },
};

/**
 * Receipts and evidence of a commit's calldata, which may be anything.
 * @param failure the error to throw
 */
function readable(
  data: Hex,
  failure: (reason: string, cause?: unknown) => AssayError,
): { readonly receipts: readonly SignedReceipt[]; readonly evidence?: Hex } {
  const layout = LAYOUTS[data.slice(0, 10)];
  if (layout === undefined) throw failure('it calls neither commit nor commitProved');
  try {
    const { receipts, signatures, ...rest } = readCommit(data, layout);
    const signed = receipts.map((value, i) => ({ receipt: receiptOf(value), signature: signatures[i]! }));
    // A receipt that cannot be hashed cannot be used either.
    for (const { receipt } of signed) receiptStructHash(receipt);
    return { receipts: signed, ...rest };
  } catch (error) {
    if (error instanceof AssayError) throw failure(error.message, error);
    throw error;
  }
}

function laneName(number: bigint): Lane {
  const lane = (Object.keys(LANES) as Lane[]).find((name) => LANES[name] === Number(number));
  if (lane === undefined)
    throw new AssayError('CHAIN_MISMATCH', `the contract names a lane ${number}, which does not exist`);
  return lane;
}

function headerOfValue(value: Record<string, unknown>): BatchHeader {
  return {
    lane: laneName(value['lane'] as bigint),
    count: Number(value['count']),
    poster: (value['poster'] as string).toLowerCase() as Hex,
    salt: value['salt'] as Hex,
    batchRoot: value['batchRoot'] as Hex,
    policyHash: value['policyHash'] as Hex,
    unbound: value['unbound'] as bigint,
    committedAt: Number(value['committedAt']),
    committedBlock: Number(value['committedBlock']),
  };
}

function receiptOf(value: Record<string, unknown>): Receipt {
  const hash = (name: string): Hex => value[name] as Hex;
  return {
    orderHash: hash('orderHash'),
    modelDigest: hash('modelDigest'),
    inputRoot: hash('inputRoot'),
    outputRoot: hash('outputRoot'),
    traceRoot: hash('traceRoot'),
    opCount: Number(value['opCount']),
    items: Number(value['items']),
    amount: value['amount'] as bigint,
    lane: laneName(value['lane'] as bigint),
    policyHash: hash('policyHash'),
    executor: hash('executor').toLowerCase() as Hex,
    issuedAt: Number(value['issuedAt']),
  };
}
