/**
 * An executor: a key, a journal of what it has signed, and a thread that runs models.
 *
 *   accept   signs that it takes an order on, where the order fits the terms that it works under.
 *   execute  checks that order, bundle and input belong together, runs the model in the worker thread, stores trace and
 *            result under their roots, records what was executed, and returns the integers with their commitments.
 *   sign     signs a receipt that states what this node has executed for its order, once per order.
 */
import { DEVELOPMENT_CHAIN_ID, isDevelopmentAccount } from '../common/development-keys.js';
import { AssayError } from '../common/errors.js';
import type { Bundle, Tensor } from '../graph/index.js';
import { hashOrder, hashReceipt, signAcceptance, signReceipt } from '../receipts/index.js';
import type { Hex, JobOrder, Receipt, ReceiptDomain } from '../receipts/index.js';
import { checkAcceptable, type ExecutorTerms } from './check-acceptable.js';
import type { EngineName } from './engine.js';
import type { MissingEngine } from './engines.js';
import type { Execution } from './execute.js';
import { Executions, NO_TRACE } from './executions.js';
import type { Identity } from './identity.js';
import type { ModelTest } from './model-test.js';
import type { SelfTestReport } from './self-test.js';
import { TraceStore } from './trace-store.js';
import type { WorkerSettings } from './worker-messages.js';
import { WorkerThread } from './worker-thread.js';

export interface ExecutionResult extends Execution {
  readonly orderHash: Hex;
  readonly modelDigest: Hex;
  readonly items: number;
  readonly engine: EngineName;
  /** Inference and hashing, without loading and queueing. */
  readonly elapsedMs: number;
}

/** What the pipeline needs of an executor; the adversaries of adversaries.ts offer the same. */
export interface Executor {
  /** Lower-case. */
  readonly address: Hex;
  readonly traces: TraceStore;
  /**
   * What `sign` holds receipts against, in executors that keep records. Written by `execute`; the adversaries of
   * adversaries.ts write their lies here, as they write their traces, and nobody else does.
   */
  readonly executions?: Executions | undefined;
  /**
   * The signature over Acceptance(orderHash): this executor holds the model and will deliver, or lose its lock.
   * @param signature the requester's, over the order
   * @throws AssayError ORDER_MISMATCH where the order names another executor; ORDER_REFUSED where it is unsigned, late,
   *   or under terms that this executor does not work under; STORE_FULL.
   */
  accept(order: JobOrder, signature: Hex): Promise<Hex>;
  /**
   * @param inputs one array per graph input, order.items * size(item shape) integers each.
   * @throws AssayError ORDER_MISMATCH, INPUT_RANGE, MODEL_TOO_LARGE, ENGINE_FAILED, ENGINE_NOT_EXACT, STORE_FULL,
   *   EXECUTOR_WORKER_FAILED, EXECUTOR_CLOSED.
   */
  execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[]): Promise<ExecutionResult>;
  /**
   * @throws AssayError EQUIVOCATION_REFUSED where another receipt was signed for the order; ORDER_MISMATCH where the
   *   receipt names another executor, or states anything but what was executed; EXECUTION_NOT_FOUND where its order was
   *   never executed here; TRACE_NOT_FOUND where the trace is not held any more.
   */
  sign(receipt: Receipt): Promise<Hex>;
  close(): Promise<void>;
}

export interface ExecutorNodeOptions {
  readonly identity: Identity;
  /** Where receipts will be settled. */
  readonly domain: ReceiptDomain;
  /** Folder of traces, results and records of what was executed. */
  readonly traceFolder: string;
  /** Default: the best engine of this machine that is exact. */
  readonly engine?: EngineName;
  /** CPU threads of one operator. Default: one per core. */
  readonly threads?: number;
  /** Of all loaded models together. Default 2 GiB. */
  readonly memoryBudgetBytes?: number;
  /** Default: none, so that it takes no orders. */
  readonly terms?: ExecutorTerms;
  /**
   * Another commitment to inputs that orders of the zk lane may name, as those that are proved in recursive batches do;
   * null where there is none for the model. Default: none.
   */
  readonly batchInputRoot?: (bundle: Bundle, inputs: readonly Int32Array[], items: number) => Hex | null;
}

const DEFAULT_BUDGET_BYTES = 2 ** 31;

export class ExecutorNode implements Executor {
  readonly address: Hex;
  readonly traces: TraceStore;
  readonly executions: Executions;
  readonly #options: ExecutorNodeOptions;
  readonly #modelTests = new Map<string, ModelTest>();
  #thread: WorkerThread;
  #closed = false;

  private constructor(options: ExecutorNodeOptions, thread: WorkerThread) {
    this.#options = options;
    this.#thread = thread;
    this.address = options.identity.address;
    this.traces = new TraceStore(options.traceFolder);
    this.executions = new Executions(options.traceFolder, this.address);
  }

  /**
   * Starts the thread, opens the engine and tests it.
   * @throws AssayError ENGINE_UNAVAILABLE, EXECUTOR_WORKER_FAILED; DEV_KEY_REFUSED for a publicly known key where
   *   receipts are settled on any chain but the local development chain.
   */
  static async start(options: ExecutorNodeOptions): Promise<ExecutorNode> {
    const { chainId } = options.domain;
    const { address } = options.identity;
    if (chainId !== DEVELOPMENT_CHAIN_ID && isDevelopmentAccount(address)) {
      const message = `executor ${address} has a publicly known key, and its receipts are for chain ${chainId}`;
      throw new AssayError('DEV_KEY_REFUSED', message, { meta: { address, chainId: String(chainId) } });
    }
    return new ExecutorNode(options, await WorkerThread.start(settingsOf(options)));
  }

  get engine(): EngineName {
    return this.#thread.start.engine;
  }

  /** Package and version behind the engine. */
  get engineVersion(): string {
    return this.#thread.start.version;
  }

  get selfTest(): SelfTestReport {
    return this.#thread.start.selfTest;
  }

  /** On a GPU: how each model that has run was tested before its first job, by bundle digest. */
  get modelTests(): ReadonlyMap<string, ModelTest> {
    return this.#modelTests;
  }

  /** Engines of higher preference that this machine lacks, each with reason and mend. */
  get missingEngines(): readonly MissingEngine[] {
    return this.#thread.start.missing;
  }

  async accept(order: JobOrder, signature: Hex): Promise<Hex> {
    const { identity, domain, terms } = this.#options;
    await checkAcceptable(order, signature, { executor: this.address, domain, terms });
    return identity.journal.acceptOnce(hashOrder(order, domain), () => signAcceptance(order, domain, identity.signer));
  }

  async execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[]): Promise<ExecutionResult> {
    if (order.modelDigest !== bundle.digest) {
      const message = `the order names model ${order.modelDigest}, the bundle given is ${bundle.digest}`;
      throw new AssayError('ORDER_MISMATCH', message, { meta: { expected: order.modelDigest, found: bundle.digest } });
    }
    const thread = await this.#running();
    const other = order.lane === 'zk' ? this.#options.batchInputRoot?.(bundle, inputs, order.items) : null;
    const isOther = order.inputRoot === other;
    const reply = await thread.execute(bundle, inputs, order.items, isOther ? null : order.inputRoot);
    if (reply.modelTest !== null) this.#modelTests.set(bundle.digest, reply.modelTest);
    const result: ExecutionResult = {
      ...reply.execution,
      inputRoot: order.inputRoot,
      orderHash: hashOrder(order, this.#options.domain),
      modelDigest: order.modelDigest,
      items: order.items,
      engine: thread.start.engine,
      elapsedMs: reply.elapsedMs,
    };
    await this.executions.record({ ...result, lane: order.lane, policyHash: order.policyHash });
    return result;
  }

  /**
   * Runs a float model as it is, without commitment or receipt.
   * @throws AssayError as `readOnnx` and the engine.
   */
  async runFloat(
    bytes: Uint8Array,
    fileName: string,
    inputs: ReadonlyMap<string, Tensor>,
  ): Promise<{ readonly outputs: Map<string, Tensor>; readonly elapsedMs: number }> {
    const thread = await this.#running();
    return thread.float(bytes, fileName, inputs);
  }

  async sign(receipt: Receipt): Promise<Hex> {
    const { identity, domain } = this.#options;
    if (receipt.executor !== this.address) {
      const message = `the receipt names executor ${receipt.executor}, this node is ${this.address}`;
      throw new AssayError('ORDER_MISMATCH', message, { meta: { expected: this.address, found: receipt.executor } });
    }
    const receiptHash = hashReceipt(receipt, domain);
    // What has been signed was checked then, and its trace may be gone since.
    if (identity.journal.find(receipt.orderHash) === null) await this.#checkExecuted(receipt);
    return identity.journal.signOnce(receipt.orderHash, receiptHash, () =>
      signReceipt(receipt, domain, identity.signer),
    );
  }

  /**
   * Ends the thread at once, for a job that takes too long. Jobs in it fail with EXECUTOR_WORKER_FAILED; the next job
   * starts a new thread.
   */
  async abort(): Promise<void> {
    await this.#thread.terminate();
  }

  /** Ends the thread after the jobs that it has, and closes the journal. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    try {
      await this.#thread.close();
    } finally {
      await this.#options.identity.journal.close();
    }
  }

  async #checkExecuted(receipt: Receipt): Promise<void> {
    await this.executions.check(receipt);
    const root = receipt.traceRoot;
    if (root === NO_TRACE || (await this.traces.has('trace', root))) return;
    throw new AssayError('TRACE_NOT_FOUND', `refused to sign: no trace with root ${root} is stored here`, {
      meta: { root },
    });
  }

  /** The thread; a new one where the last has died. */
  async #running(): Promise<WorkerThread> {
    if (this.#closed) throw new AssayError('EXECUTOR_CLOSED', `executor ${this.address} is closed`);
    if (this.#thread.dead) this.#thread = await WorkerThread.start(settingsOf(this.#options));
    return this.#thread;
  }
}

function settingsOf(options: ExecutorNodeOptions): WorkerSettings {
  return {
    engine: options.engine ?? null,
    threads: options.threads ?? null,
    memoryBudgetBytes: options.memoryBudgetBytes ?? DEFAULT_BUDGET_BYTES,
    traceFolder: options.traceFolder,
  };
}
