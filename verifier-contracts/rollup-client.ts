/**
 * Typed client of ReceiptRollup.sol.
 *
 * `…Call` gives the bytes of a transaction without sending it, for callers that keep their own record of nonces and
 * signed transactions; `commit`, `fixSeed` and `reportAudit` send through the client's signer and wait.
 */
import { Interface, type Log, type Provider, type Signer, type TransactionReceipt } from 'ethers';
import { AssayError } from '../common/errors.js';
import { batchHash as hashBatch, headerHash, type BatchHeader } from '../receipts/batch.js';
import { laneNumber, receiptStructHash, receiptValue } from '../receipts/eip712.js';
import { batchRoot, leafHash, MAX_BATCH } from '../receipts/merkle.js';
import { LANES, type Hex, type Lane, type Receipt, type ReceiptDomain } from '../receipts/types.js';
import { headerValue, RECEIPT_STATUSES, type ReceiptStatus } from '../receipts/verify-receipt.js';
import type { AuditVerdict } from './audit-verdict.js';
import { receiptRollupAbi } from './bindings/ReceiptRollup.js';
import { chainError } from './chain-error.js';
import type { RollupPolicy } from './policy.js';
import { refuseDevelopmentKeys } from './refuse-development-keys.js';

/** A transaction that no block takes up (fee too low, gap in the nonces) must not hold its sender for ever. */
const MINING_TIMEOUT_MS = 120_000;

export const rollupInterface = new Interface(receiptRollupAbi);

export interface Call {
  readonly to: Hex;
  readonly data: Hex;
}

export interface SignedReceipt {
  readonly receipt: Receipt;
  readonly signature: Hex;
}

/** In the order of the contract's enum `BindFault`. */
const BIND_FAULTS = ['none', 'lane', 'policy', 'order', 'signature'] as const;
export type BindFault = (typeof BIND_FAULTS)[number];

export interface SentTransaction {
  readonly transactionHash: Hex;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
}

export interface CommittedBatch extends SentTransaction {
  readonly batchHash: Hex;
  readonly header: BatchHeader;
}

export interface PostedBatch {
  readonly batchHash: Hex;
  readonly header: BatchHeader;
  readonly receipts: readonly SignedReceipt[];
  readonly transactionHash: Hex;
}

export interface RollupClientOptions {
  readonly provider: Provider;
  readonly address: Hex;
  /** Needed to send. Its provider is the same chain's. */
  readonly signer?: Signer;
  /** First block to search for events: the deployment's. @default 0 */
  readonly fromBlock?: number;
}

export class RollupClient {
  private constructor(
    readonly provider: Provider,
    readonly domain: ReceiptDomain,
    readonly policy: RollupPolicy,
    /** What `receipt.policyHash` must be. */
    readonly policyHash: Hex,
    private readonly signer: Signer | undefined,
    private readonly fromBlock: number,
  ) {}

  /**
   * Reads chain id and policy.
   * @throws AssayError CHAIN_UNAVAILABLE, CHAIN_MISMATCH (no rollup at that address), DEV_KEY_REFUSED (the signer or an
   *   auditor of the policy is an anvil account, on a real chain: anybody could post or judge in their name)
   */
  static async connect(options: RollupClientOptions): Promise<RollupClient> {
    const { provider, address } = options;
    const what = `rollup ${address}`;
    try {
      const { chainId } = await provider.getNetwork();
      if ((await provider.getCode(address)) === '0x') {
        throw new AssayError('CHAIN_MISMATCH', `${what}: no contract at that address on chain ${chainId}`);
      }
      const ask = async (name: string): Promise<unknown> => {
        const data = await provider.call({ to: address, data: rollupInterface.encodeFunctionData(name) });
        return rollupInterface.decodeFunctionResult(name, data)[0] as unknown;
      };
      const terms = (await ask('policy')) as Record<string, bigint> & { auditors: string[] };
      const policy: RollupPolicy = {
        beaconDelay: Number(terms['beaconDelay']),
        auditWindow: Number(terms['auditWindow']),
        drawRatePpm: Number(terms['drawRatePpm']),
        quorum: Number(terms['quorum']),
        auditors: terms.auditors.map((auditor) => auditor.toLowerCase() as Hex),
      };
      const signer = options.signer === undefined ? [] : [await options.signer.getAddress()];
      refuseDevelopmentKeys(chainId, [...signer, ...policy.auditors]);
      const domain = { chainId, verifyingContract: address };
      const hash = (await ask('policyHash')) as Hex;
      return new RollupClient(provider, domain, policy, hash, options.signer, options.fromBlock ?? 0);
    } catch (error) {
      const failure = chainError(error, rollupInterface, what);
      if (failure.code !== 'CHAIN_REVERTED') throw failure;
      throw new AssayError('CHAIN_MISMATCH', `${what}: the contract there is no receipt rollup`, { cause: error });
    }
  }

  get address(): Hex {
    return this.domain.verifyingContract;
  }

  /** First block in which `fixSeed` is allowed is the one after this. */
  drawBlockOf(header: BatchHeader): number {
    return header.committedAt + this.policy.beaconDelay;
  }

  /** Last block in which `fixSeed` and `reportAudit` are allowed. */
  auditDeadlineOf(header: BatchHeader): number {
    return this.drawBlockOf(header) + this.policy.auditWindow;
  }

  /** The name that a batch will have when `poster` commits it; known before anything is sent. @throws BATCH_INVALID */
  batchHashOf(lane: Lane, receipts: readonly SignedReceipt[], salt: Hex, poster: Hex): Hex {
    const header = { lane, count: receipts.length, poster, salt, batchRoot: rootOf(lane, receipts) };
    return hashBatch(header, this.domain);
  }

  /** @throws AssayError BATCH_INVALID, RECEIPT_FIELD_INVALID */
  commitCall(lane: Lane, receipts: readonly SignedReceipt[], salt: Hex): Call {
    if (receipts.length === 0 || receipts.length > MAX_BATCH) {
      throw new AssayError('BATCH_INVALID', `batch: expected 1 to ${MAX_BATCH} receipts, found ${receipts.length}`);
    }
    return this.call('commit', [
      laneNumber('batch', lane),
      receipts.map(({ receipt }) => receiptValue(receipt)),
      receipts.map(({ signature }) => signature),
      salt,
    ]);
  }

  fixSeedCall(header: BatchHeader): Call {
    return this.call('fixSeed', [headerValue(header)]);
  }

  /** @param signatures in ascending order of the signers' addresses */
  reportAuditCall(
    header: BatchHeader,
    verdict: Pick<AuditVerdict, 'kills' | 'voided' | 'resultsRoot'>,
    signatures: readonly Hex[],
  ): Call {
    const { kills, voided, resultsRoot } = verdict;
    return this.call('reportAudit', [headerValue(header), kills, voided, resultsRoot, signatures]);
  }

  /**
   * @param salt 32 bytes; another one for every batch
   * @throws AssayError BATCH_INVALID, CHAIN_REVERTED (LaneClosed, NothingBound, BatchKnown ...), CHAIN_UNAVAILABLE
   */
  async commit(lane: Lane, receipts: readonly SignedReceipt[], salt: Hex): Promise<CommittedBatch> {
    const mined = await this.send(this.commitCall(lane, receipts, salt), 'commit');
    const posted = mined.logs.map((log) => this.headerOfLog(log)).find((found) => found !== null);
    if (posted === undefined) throw new AssayError('INTERNAL', `commit ${mined.hash} left no BatchCommitted event`);
    return { ...posted, ...sent(mined) };
  }

  /** @returns the seed. @throws AssayError CHAIN_REVERTED (SeedTooEarly, SeedKnown, AuditClosed ...), CHAIN_UNAVAILABLE */
  async fixSeed(header: BatchHeader): Promise<SentTransaction & { readonly seed: Hex }> {
    const mined = await this.send(this.fixSeedCall(header), 'fixSeed');
    return { ...sent(mined), seed: (await this.seedOf(hashBatch(header, this.domain)))! };
  }

  /** @throws AssayError CHAIN_REVERTED (QuorumMissed, NotAuditor, VerdictUnbound, AuditKnown, AuditClosed ...), CHAIN_UNAVAILABLE */
  async reportAudit(
    header: BatchHeader,
    verdict: Pick<AuditVerdict, 'kills' | 'voided' | 'resultsRoot'>,
    signatures: readonly Hex[],
  ): Promise<SentTransaction> {
    return sent(await this.send(this.reportAuditCall(header, verdict, signatures), 'reportAudit'));
  }

  /** @param blockTag 'latest', 'safe', 'finalized' or a number. @default 'latest' */
  async statusOf(
    receipt: Receipt,
    index: number,
    path: readonly Hex[],
    header: BatchHeader,
    blockTag: string | number = 'latest',
  ): Promise<ReceiptStatus> {
    const answer = await this.view('statusOf', [receiptValue(receipt), index, path, headerValue(header)], blockTag);
    return RECEIPT_STATUSES[Number(answer)]!;
  }

  /** Why this receipt would not bind in a commit now. */
  async bindFaultOf(lane: Lane, { receipt, signature }: SignedReceipt): Promise<BindFault> {
    const args = [laneNumber('batch', lane), receiptValue(receipt), signature];
    return BIND_FAULTS[Number(await this.view('bindFaultOf', args))]!;
  }

  /** Null until `fixSeed`. */
  async seedOf(batchHash: Hex): Promise<Hex | null> {
    return orNull(await this.view('seedOf', [batchHash]));
  }

  /** Struct hash of the verdict (see `verdictStructHash`); null until `reportAudit`. */
  async verdictOf(batchHash: Hex): Promise<Hex | null> {
    return orNull(await this.view('verdictOf', [batchHash]));
  }

  /** Bitmap of invalid leaves; zero until `reportAudit`. */
  async killsOf(batchHash: Hex): Promise<bigint> {
    return (await this.view('killsOf', [batchHash])) as bigint;
  }

  /** Bitmap of leaves that the audit could not decide; zero until `reportAudit`. */
  async voidedOf(batchHash: Hex): Promise<bigint> {
    return (await this.view('voidedOf', [batchHash])) as bigint;
  }

  /** The batch in which the executor's receipt for this order is bound, or null. */
  async boundIn(orderHash: Hex, executor: Hex): Promise<Hex | null> {
    return orNull(await this.view('boundIn', [orderHash, executor]));
  }

  /** Accumulator over all batches. */
  async chain(): Promise<Hex> {
    return (await this.view('chain', [])) as Hex;
  }

  /** The contract's clock: the newest block's number. */
  async clock(): Promise<number> {
    return Number(await this.view('clock', []));
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
   * @throws AssayError CHAIN_BATCH_UNKNOWN, CHAIN_UNAVAILABLE
   */
  async readBatch(batchHash: Hex): Promise<PostedBatch> {
    const what = `batch ${batchHash}`;
    const found = await this.findBatch(batchHash);
    if (found === null) throw new AssayError('CHAIN_BATCH_UNKNOWN', `${what}: not committed to ${this.address}`);
    const { header, transactionHash } = found;
    const transaction = await this.guard(what, () => this.provider.getTransaction(transactionHash));
    const call = transaction?.to?.toLowerCase() === this.address ? rollupInterface.parseTransaction(transaction) : null;
    if (call === null || call.name !== 'commit') {
      const reason = `transaction ${transactionHash} reached the contract through another one: its calldata holds no receipts`;
      throw new AssayError('CHAIN_BATCH_UNKNOWN', `${what}: ${reason}`);
    }
    const [lane, values, signatures] = call.args as unknown as [bigint, Record<string, unknown>[], Hex[]];
    const receipts = values.map((value, i) => ({ receipt: receiptOf(value), signature: signatures[i]! }));
    if (laneName(lane) !== header.lane || rootOf(header.lane, receipts) !== header.batchRoot) {
      throw new AssayError('CHAIN_BATCH_UNKNOWN', `${what}: the calldata of ${transactionHash} is of another batch`);
    }
    return { batchHash, header, receipts, transactionHash };
  }

  private async findBatch(batchHash: Hex): Promise<{ header: BatchHeader; transactionHash: Hex } | null> {
    const topics = rollupInterface.encodeFilterTopics('BatchCommitted', [batchHash]);
    const logs = await this.guard(`batch ${batchHash}`, () =>
      this.provider.getLogs({ address: this.address, topics, fromBlock: this.fromBlock, toBlock: 'latest' }),
    );
    const stored = orNull(await this.view('headerHashOf', [batchHash]));
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
    const args = event.args as unknown as Record<string, unknown>;
    const header: BatchHeader = {
      lane: laneName(args['lane'] as bigint),
      count: Number(args['count']),
      poster: (args['poster'] as string).toLowerCase() as Hex,
      salt: args['salt'] as Hex,
      batchRoot: args['batchRoot'] as Hex,
      unbound: args['unbound'] as bigint,
      committedAt: Number(args['committedAt']),
    };
    return { batchHash: args['batchHash'] as Hex, header };
  }

  private call(name: string, args: readonly unknown[]): Call {
    return { to: this.address, data: rollupInterface.encodeFunctionData(name, args) as Hex };
  }

  private async view(name: string, args: readonly unknown[], blockTag: string | number = 'latest'): Promise<unknown> {
    return this.guard(name, async () => {
      const data = await this.provider.call({ ...this.call(name, args), blockTag });
      return rollupInterface.decodeFunctionResult(name, data)[0] as unknown;
    });
  }

  private async send(call: Call, what: string): Promise<TransactionReceipt> {
    const { signer } = this;
    if (signer === undefined) throw new AssayError('INTERNAL', `${what}: the rollup client was made without a signer`);
    return this.guard(what, async () => {
      const mined = await (await signer.sendTransaction(call)).wait(1, MINING_TIMEOUT_MS);
      return mined!;
    });
  }

  private async guard<T>(what: string, question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      throw chainError(error, rollupInterface, what);
    }
  }
}

function sent(mined: TransactionReceipt): SentTransaction {
  return { transactionHash: mined.hash as Hex, blockNumber: mined.blockNumber, gasUsed: mined.gasUsed };
}

function rootOf(lane: Lane, receipts: readonly SignedReceipt[]): Hex {
  return batchRoot(receipts.map(({ receipt }, i) => leafHash(i, lane, receiptStructHash(receipt))));
}

function laneName(number: bigint): Lane {
  const lane = (Object.keys(LANES) as Lane[]).find((name) => LANES[name] === Number(number));
  if (lane === undefined)
    throw new AssayError('CHAIN_MISMATCH', `the contract names a lane ${number}, which does not exist`);
  return lane;
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

function orNull(word: unknown): Hex | null {
  return /^0x0{64}$/.test(word as string) ? null : (word as Hex);
}
