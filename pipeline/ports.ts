/** What the pipeline needs from outside, as interfaces: executors, checkers, provers, auditors, chain, models, clock. */
import type { Bundle, IntegerGraph } from '../graph/index.js';
import type { Publication } from '../prover/files/direct-evidence.js';
import type { SrsHead } from '../prover/srs/srs.js';
import type { ModelKey } from '../prover/verifier/model-key.js';
import type { BatchHeader, ReceiptStatus } from '../receipts/index.js';
import type { Hex, JobOrder, Lane, Receipt, ReceiptDomain } from '../receipts/types.js';
import type { ModelKeyFile } from '../prover/verifier/index.js';
import type { AuditVerdict } from '../verifier-contracts/audit-verdict.js';
import type { Call } from '../verifier-contracts/contract-client.js';
import type { CourtTerms } from '../verifier-contracts/court-terms.js';
import type { BoundOrder, OpenFault, OrderView, SignedOrder } from '../verifier-contracts/escrow-client.js';
import type { Policy } from '../verifier-contracts/policy.js';
import type { EvidenceKind } from '../verifier-contracts/zk-verifier.js';
import type { PostedBatch, SignedReceipt } from '../verifier-contracts/rollup-client.js';

/** What a run of a model on an input commits to. */
export interface Roots {
  readonly inputRoot: Hex;
  readonly outputRoot: Hex;
  readonly traceRoot: Hex;
}

export interface Execution extends Roots {
  /** One array per graph output. */
  readonly outputs: readonly Int32Array[];
  /** The committed slots, in their order, where the executor hands over its trace. */
  readonly slots?: readonly Int32Array[];
  /** Number of the model's slots. */
  readonly opCount: number;
}

/** Somebody with a device and a key. */
export interface NodePort {
  readonly address: Hex;
  readonly engineName: string;
  /** Who runs it; nobody checks himself. */
  readonly operator: string;
}

export interface ExecutorPort extends NodePort {
  /**
   * Takes the order on: the signature over Acceptance(orderHash), the same one whenever it is asked for.
   * @param signature the requester's, over the order
   * @throws AssayError ORDER_REFUSED, ORDER_MISMATCH
   */
  acceptOrder(order: JobOrder, signature: Hex): Promise<Hex>;
  /** Runs the ordered model. @throws AssayError of kind `usage` only where no executor could run this order. */
  execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[], items: number): Promise<Execution>;
  /**
   * Signs once per order: the executor's journal refuses a second, different receipt.
   * @throws AssayError EQUIVOCATION_REFUSED
   */
  signReceipt(receipt: Receipt): Promise<Hex>;
}

export interface CheckedJob {
  readonly orderHash: Hex;
}

export interface CheckerPort extends NodePort {
  /**
   * Re-executes a drawn job, from model and input alone: a checker that knew the roots at stake could hand them back
   * and save itself the work.
   * @param job names it in logs; no input to the check
   */
  check(bundle: Bundle, inputs: readonly Int32Array[], items: number, job: CheckedJob): Promise<Roots>;
}

/** What a proof will take; an upper estimate, since jobs are refused by it. */
export interface ProofForecast {
  /** Sumcheck rounds. */
  readonly rounds: number;
  readonly proofBytes: number;
  readonly memoryBytes: number;
  /** Points of the reference string. */
  readonly srsPoints: number;
  readonly proveMs: number;
}

export interface ProofJob {
  /** The proof is tied to it. */
  readonly orderHash: Hex;
  readonly bundle: Bundle;
  readonly items: number;
  /** One array per graph input. */
  readonly inputs: readonly Int32Array[];
}

/** Nothing of it is taken on trust: the key is held against the model's digest, and the proof is verified. */
export interface ProvedJob {
  readonly key: ModelKey;
  readonly proof: Uint8Array;
  /** The integers that the proof is about: one array per output of the key's program. */
  readonly published: readonly Int32Array[];
}

/** A verified proof, as it is to be put before the policy's verifier on chain. */
export interface ProvedReceipt extends Pick<ProvedJob, 'proof' | 'published'> {
  readonly key: ModelKeyFile;
  /** Of the model: what it says of its inputs and outputs the receipt's roots bind. */
  readonly graph: IntegerGraph;
  readonly receipt: Receipt;
  /** One array per graph input. */
  readonly inputs: readonly Int32Array[];
}

/** Makes of it the bytes that the policy's verifier takes. */
export type EncodeEvidence = (proved: ProvedReceipt) => Uint8Array;

/** Somebody who makes proofs, one at a time. */
export interface ProverPort {
  readonly name: string;
  /** Of the reference string that it proves with. */
  readonly srs: SrsHead;
  readonly limits: Pick<ProofForecast, 'memoryBytes' | 'srsPoints'>;
  /** @throws AssayError of kind usage or invalid where there can be no proof: NOT_PROVABLE, PROOF_LIMITS ... */
  predict(bundle: Bundle, items: number): Promise<ProofForecast>;
  /** The key that proofs about the model are checked with. @throws as `predict` */
  keyOf(bundle: Bundle): Promise<ModelKey>;
  /** @throws AssayError PROVER_FAILED where it ended in the middle, PROVER_MEMORY; as `predict` */
  prove(job: ProofJob): Promise<ProvedJob>;
  /** Gives up what it is at; that fails with PROVER_FAILED, and later jobs are done. */
  abort(): Promise<void>;
}

/** An order that waits for a recursive batch. */
export interface WaitingOrder {
  readonly orderHash: Hex;
  readonly bundle: Bundle;
  readonly items: number;
}

/** What a recursive batch is made of: a circuit, and the orders in the order of its groups. */
export interface BatchChoice {
  readonly circuit: number;
  readonly orders: readonly Hex[];
  /** True where the circuit has no room for more. */
  readonly full: boolean;
}

export interface BatchJob extends Pick<ProofJob, 'orderHash' | 'bundle' | 'inputs'> {
  /** What the receipt says: the batch must show it. */
  readonly outputRoot: Hex;
}

/** Somebody who proves many receipts at once, for one contract. */
export interface BatchProverPort {
  readonly name: string;
  /**
   * What an order names as its input root that is to be proved in a batch; null where no circuit takes the model with so
   * many items and without another model beside it.
   */
  inputRootOf(bundle: Bundle, inputs: readonly Int32Array[], items: number): Hex | null;
  /**
   * The largest batch that a circuit makes of these, the first ones of each model; null where none does.
   * @param overdue the first order must be in it
   */
  choose(waiting: readonly WaitingOrder[], overdue: boolean): BatchChoice | null;
  /**
   * @param jobs in the order that `choose` gave.
   * @returns what the contract takes, checked here as it will check it.
   * @throws AssayError PROVER_FAILED; PROOF_INVALID where the batch shows another output than a receipt
   */
  prove(circuit: number, jobs: readonly BatchJob[]): Promise<Uint8Array>;
}

export interface AuditorPort {
  readonly address: Hex;
  signVerdict(verdict: AuditVerdict): Promise<Hex>;
}

/** Signs transactions of the account that posts batches; an ethers Wallet is one. */
export interface TransactionSigner {
  readonly address: string;
  signTransaction(transaction: UnsignedTransaction): Promise<string>;
}

export interface UnsignedTransaction {
  readonly type: 2;
  readonly chainId: bigint;
  readonly nonce: number;
  readonly to: string;
  readonly data: string;
  readonly value: bigint;
  readonly gasLimit: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** Wei per gas. */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export interface MinedTransaction {
  readonly blockNumber: number;
  readonly blockHash: Hex;
  /** Mined without effect. */
  readonly reverted: boolean;
}

export interface BlockHead {
  readonly number: number;
  readonly hash: Hex;
}

/** A batch that an order is bound in, whoever posted it. */
export interface BoundBatch extends PostedBatch, MinedTransaction {}

/** The judge of the sampled lane under one policy. */
export interface CourtPort {
  readonly terms: CourtTerms;
  fixSeedCall(header: BatchHeader): Call;
  /** @param signatures in ascending order of the signers' addresses */
  reportAuditCall(header: BatchHeader, verdict: AuditVerdict, signatures: readonly Hex[]): Call;
  /** Null until `fixSeed`. */
  seedOf(batchHash: Hex): Promise<Hex | null>;
  /** Struct hash of the verdict; null until `reportAudit`. */
  verdictOf(batchHash: Hex): Promise<Hex | null>;
  /** Block after which `fixSeed` can be called. */
  drawBlockOf(header: BatchHeader): number;
  /** Last time, by the contract's clock, at which `fixSeed` and `reportAudit` are allowed. */
  auditDeadlineOf(header: BatchHeader): number;
}

/** The judge of the optimistic lane under one policy. */
export interface GamePort {
  /** From the commit, by the contract's clock, in which a receipt may be challenged. */
  readonly window: number;
  /** Products that one step on chain may have. */
  readonly maxContraction: number;
  /** Last time, by the contract's clock, at which a receipt that nobody has challenged may be. */
  windowEndOf(header: BatchHeader): number;
}

/**
 * One deployment of the settlement contracts on one chain. Every method that asks the node throws CHAIN_UNAVAILABLE when
 * it does not answer.
 */
export interface ChainPort {
  readonly domain: ReceiptDomain;
  /** Under which new orders are taken; those taken before end under theirs. */
  readonly policy: Policy;
  readonly policyHash: Hex;

  openCall(orders: readonly SignedOrder[]): Call;
  expireCall(order: JobOrder): Call;
  settleCall(orders: readonly BoundOrder[]): Call;
  commitCall(lane: Lane, policyHash: Hex, receipts: readonly SignedReceipt[], salt: Hex): Call;
  /** @param kind a proof by itself, or a recursive batch */
  commitProvedCall(
    policyHash: Hex,
    receipts: readonly SignedReceipt[],
    salt: Hex,
    evidence: Hex,
    kind: EvidenceKind,
  ): Promise<Call>;
  /**
   * What has to be mined before the policy's verifier takes proofs of a program; null where nothing has: it is published,
   * or the verifier keeps no programs.
   */
  publishCall(policyHash: Hex, publication: Publication): Promise<Call | null>;

  /** The contract's clock, which all times of orders and batches are by. */
  clock(): Promise<number>;
  /** Gas that the chain takes in one unit of that clock. */
  gasPerTick(): Promise<number>;
  /** What keeps the order from being opened now. */
  openFaultOf(order: SignedOrder): Promise<OpenFault>;
  /** @param block the order as of that block; default: the newest */
  orderOf(orderHash: Hex, block?: number): Promise<OrderView>;
  /**
   * The batch that a bound order's leaf is in; null where the order is not bound.
   * @throws AssayError CHAIN_BATCH_UNKNOWN where it is, in a batch that cannot be read; `meta` has the order's `leaf` and
   * the `batches` that it can be in
   */
  boundIn(orderHash: Hex): Promise<BoundBatch | null>;
  /** Is the account a contract, or does it act as one (EIP-7702)? */
  hasCode(account: Hex): Promise<boolean>;
  /** @throws AssayError LANE_CLOSED where the policy closes the sampled lane */
  courtOf(policyHash: Hex): Promise<CourtPort>;
  /** @throws AssayError LANE_CLOSED where the policy closes the optimistic lane */
  gameOf(policyHash: Hex): Promise<GamePort>;
  /** Header of a batch as its commit published it, or null where that transaction committed no such batch. */
  headerIn(commitTransaction: Hex, batchHash: Hex): Promise<BatchHeader | null>;
  /** @param block the status as of that block */
  statusOf(
    receipt: Receipt,
    index: number,
    path: readonly Hex[],
    header: BatchHeader,
    block: number,
  ): Promise<ReceiptStatus>;

  /** Null where there is no such block (yet, or any more). */
  blockAt(which: number | 'latest' | 'safe' | 'finalized'): Promise<BlockHead | null>;
  blockNumber(): Promise<number>;
  /** Gas and fees for a call now. @throws AssayError CHAIN_REVERTED, meta.error the contract's reason, when it would revert. */
  price(call: Call, from: string): Promise<Fees & { readonly gasLimit: bigint }>;
  /** Fees of the day, whatever the call. */
  fees(): Promise<Fees>;
  /** Would the call revert now and in every later block? A revert that another block may mend is none for good. */
  revertsForGood(call: Call, from: string): Promise<boolean>;
  /** Number of mined transactions of the account. */
  nonceOf(address: string): Promise<number>;
  /**
   * Sends signed bytes; sending what the node knows already, or has mined, is no error.
   * @throws AssayError CHAIN_FEE_TOO_LOW when the node does not take them at that fee
   */
  sendRaw(raw: string): Promise<void>;
  minedAs(hash: string): Promise<MinedTransaction | null>;
}

/** Models by digest. */
export interface BundleStore {
  /** @throws AssayError BUNDLE_MISSING */
  get(digest: string): Promise<Bundle>;
}

/** Milliseconds since 1970. */
export type Clock = () => number;
