/**
 * The pipeline: an order goes in, a receipt that the chain vouches for comes out, and the money goes where it says.
 *
 *   order    accept -> (opening) -> run -> sign -> (sealing) -> (batched) -> done                       sampled, optimistic lane
 *                                              \-> prove -> verify -> (sealing) -> (batched) -> done    zk lane
 *                                              \-> join -> (sealing) -> (batched) -> done               zk lane, proved together
 *            any step after the opening -> expire -> done                                      without a receipt on chain
 *   opening  open -> done
 *   batch    post -> audit -> settle -> pay -> done      sampled lane
 *            post -> challenge -> pay -> done            optimistic lane
 *            post -> pay -> done                         zk lane: one receipt, with its proof
 *            wrap -> post -> pay -> done                 zk lane: many receipts, one recursive proof
 *
 * An order is real money from its opening on: the requester's price and the executor's lock are held by Escrow before
 * anybody works. `post` binds the signed receipt to the order; `audit` and `settle` bring the court's verdict; `pay` has
 * Escrow pay, slash or refund by it. Orders in brackets wait: several are opened, and several bound, in one transaction.
 *
 * The tables are the truth and the queue is a hint (work/, queue/); about money the chain is the truth, and the tables
 * are read back from it. Every stage may be killed anywhere and done again (fail-points.ts, test/kill/), and what a
 * reorganisation takes out of the chain is done again (chain/chain-watch.ts). The commit on chain comes before the draw, so
 * that nobody can choose a receipt knowing whether it will be audited.
 */
import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { bytesToHex } from '@noble/hashes/utils.js';
import { AssayError, asAssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';
import { requireProductionSrs } from '../prover/srs/require-production-srs.js';
import { srsIdOf } from '../prover/srs/srs.js';
import { refuseDevelopmentKeys } from '../verifier-contracts/refuse-development-keys.js';
import { ChainWatch } from './chain/chain-watch.js';
import { PosterLock } from './chain/poster-lock.js';
import { TransactionJournal } from './chain/transaction-journal.js';
import { parseSettings, type PipelineSettings, type PipelineSettingsInput } from './config.js';
import { bindDeployment } from './database/bind-deployment.js';
import type { Database } from './database/database.js';
import { openPglite } from './database/open-pglite.js';
import { openPostgres } from './database/open-postgres.js';
import type {
  AuditorPort,
  BatchProverPort,
  BundleStore,
  ChainPort,
  CheckerPort,
  Clock,
  EncodeEvidence,
  ExecutorPort,
  ProverPort,
  TransactionSigner,
} from './ports.js';
import { judgeOf } from './order-terms.js';
import { openStepQueue, type QueueHome, type StepQueue } from './queue/step-queue.js';
import { quoteOrder, type Quote, type QuoteRequest } from './quote.js';
import { readJob, type JobView } from './read-job.js';
import { acceptOrder } from './stages/accept.js';
import { auditBatch } from './stages/audit.js';
import { awaitChallenges } from './stages/challenge.js';
import type { StageContext } from './stages/context.js';
import { expireOrder } from './stages/expire.js';
import { joinOrder } from './stages/join.js';
import { onStageFailure } from './stages/on-failure.js';
import { openOrders } from './stages/open.js';
import { payBatch } from './stages/pay.js';
import { postBatch } from './stages/post.js';
import { proveOrder } from './stages/prove.js';
import { runOrder } from './stages/run.js';
import { sealOpening } from './stages/seal-openings.js';
import { sealBatch } from './stages/seal.js';
import { settleBatch } from './stages/settle.js';
import { signOrderReceipt } from './stages/sign.js';
import { verifyOrderProof } from './stages/verify.js';
import { wrapBatch } from './stages/wrap.js';
import { openBlobStore } from './store/blob-store.js';
import { submitOrder, type OrderRequest } from './submit.js';
import type { Claim } from './work/claim.js';
import { directEvidenceOf } from './zk/direct-evidence-of.js';
import { relayOutbox } from './work/relay.js';
import { Runner } from './work/runner.js';
import {
  ACTIVE_STEPS,
  BATCH_PROOF_STEPS,
  CHAIN_STEPS,
  PROOF_STEPS,
  WHEN_THE_CHAIN_SAYS,
  type ActiveStep,
  type Kind,
} from './work/steps.js';
import { sweep, takeUpAll } from './work/sweep.js';

export interface PipelinePorts {
  readonly executors: readonly ExecutorPort[];
  readonly checkers: readonly CheckerPort[];
  /** Of the zk lane; none where it is closed. All use one reference string. */
  readonly provers?: readonly ProverPort[];
  /** Of recursive batches, in the zk lane. */
  readonly batchProver?: BatchProverPort;
  /** How a proof is put before the policy's verifier. @default as DirectVerifier.sol reads it */
  readonly encodeEvidence?: EncodeEvidence;
  readonly auditors: readonly AuditorPort[];
  readonly chain: ChainPort;
  /** Pays for the gas of all that is sent here. One process per account posts. */
  readonly poster: TransactionSigner;
  readonly bundles: BundleStore;
  readonly clock?: Clock;
}

/** Something has moved: an attempt of a step has ended. */
export interface Progress {
  readonly subject: Hex;
  readonly kind: Kind;
  readonly step: ActiveStep;
  readonly attempt: number;
}

export interface PipelineEvents {
  progress: [Progress];
  /** A part of the machinery failed (queue, database, chain) and is tried again by itself. */
  trouble: [AssayError];
}

export interface Readiness {
  readonly ready: boolean;
  readonly database: AssayError | null;
  readonly queue: AssayError | null;
  readonly chain: AssayError | null;
}

/** Chain steps at once, each: they mostly wait for blocks. */
const CHAIN_CONCURRENCY = 2;

interface Waiter {
  readonly resolve: (view: JobView) => void;
  readonly reject: (error: AssayError) => void;
}

export class Pipeline {
  readonly events = new EventEmitter<PipelineEvents>();
  private readonly runner: Runner;
  private readonly waiting = new Map<Hex, Waiter[]>();
  private readonly timers = new Set<NodeJS.Timeout>();
  /** Stop the chain steps; none where the poster's lock is not held. */
  private chainWork: (() => Promise<void>)[] = [];
  private closing = false;
  private draining = false;
  private tickRunning: Promise<void> | null = null;
  private tickWanted = false;
  private sweepWanted = false;

  private constructor(
    readonly settings: PipelineSettings,
    readonly database: Database,
    private readonly queue: StepQueue,
    private readonly context: StageContext,
    private readonly posting: PosterLock,
    private readonly watch: ChainWatch,
    private readonly instance: string,
  ) {
    const bind = (stage: (context: StageContext, claim: Claim) => ReturnType<typeof runOrder>) => (claim: Claim) =>
      stage(context, claim);
    this.runner = new Runner({
      database,
      instance,
      clock: context.clock,
      stages: {
        accept: bind(acceptOrder),
        open: bind(openOrders),
        run: bind(runOrder),
        sign: bind(signOrderReceipt),
        prove: bind(proveOrder),
        verify: bind(verifyOrderProof),
        join: bind(joinOrder),
        wrap: bind(wrapBatch),
        post: bind(postBatch),
        audit: bind(auditBatch),
        settle: bind(settleBatch),
        challenge: bind(awaitChallenges),
        pay: bind(payBatch),
        expire: bind(expireOrder),
      },
      onFailure: (claim, error) => {
        this.trouble(error);
        return onStageFailure(database, claim, error, context.clock());
      },
      onChange: (claim, dueInMs) => this.changed(claim, dueInMs),
    });
  }

  /**
   * Opens database, queue and store, takes up whatever an earlier process left, and starts to work.
   * @throws AssayError CONFIG_INVALID, also where a lane is to be opened that the policy closes, the zk lane without a
   * prover, or provers differ in their reference string; SRS_DEVELOPMENT where they use the development one and the chain is not anvil's;
   * DATA_DIRECTORY_BUSY, DATABASE_UNAVAILABLE, DATABASE_NEWER, QUEUE_UNAVAILABLE;
   * CHAIN_MISMATCH where the database belongs to another chain or contract; DEV_KEY_REFUSED where the poster is one of
   * anvil's accounts and the chain is not anvil's.
   */
  static async open(input: PipelineSettingsInput, ports: PipelinePorts): Promise<Pipeline> {
    const settings = parseSettings(input);
    const clock = ports.clock ?? Date.now;
    const { chainId } = ports.chain.domain;
    refuseDevelopmentKeys(chainId, [ports.poster.address]);
    const provers = ports.provers ?? [];
    for (const { srs } of provers) requireProductionSrs(srsIdOf(srs), chainId);
    requireOneSrs(provers);
    requireLanes(settings, ports);
    const database =
      settings.databaseUrl === undefined
        ? await openPglite(settings.dataDirectory)
        : await openPostgres(settings.databaseUrl);
    let queue: StepQueue | undefined;
    try {
      await bindDeployment(database, ports.chain.domain);
      if (database.soleOwner) await takeUpAll(database, clock());
      await registerNodes(database, ports.executors, true);
      await registerNodes(database, ports.checkers, false);
      queue = await openStepQueue(await queueHome(database, settings), ACTIVE_STEPS);
      const opened: { pipeline?: Pipeline } = {};
      const posting = new PosterLock(database, `poster:${chainId}:${ports.poster.address.toLowerCase()}`, () =>
        opened.pipeline?.stopChainWork(),
      );
      const journal = new TransactionJournal({
        database,
        chain: ports.chain,
        signer: ports.poster,
        clock,
        replaceAfterMs: settings.replaceAfterMs,
        patienceMs: settings.pollMs * 4,
        mayPost: () => posting.held,
      });
      const watch = new ChainWatch({ database, chain: ports.chain, journal, clock });
      const context: StageContext = {
        database,
        store: await openBlobStore(join(settings.dataDirectory, 'blobs')),
        bundles: ports.bundles,
        executors: ports.executors,
        checkers: ports.checkers,
        provers,
        batchProver: ports.batchProver ?? null,
        encodeEvidence: ports.encodeEvidence ?? directEvidenceOf,
        auditors: ports.auditors,
        chain: ports.chain,
        journal,
        heads: () => watch.heads,
        clock,
        openLanes: settings.openLanes,
        executeTimeoutMs: settings.executeTimeoutMs,
        proveTimeoutMs: settings.proveTimeoutMs,
        confirmations: settings.confirmations,
        pollMs: settings.pollMs,
      };
      await posting.take();
      const pipeline = new Pipeline(settings, database, queue, context, posting, watch, randomUUID());
      opened.pipeline = pipeline;
      pipeline.start();
      return pipeline;
    } catch (error) {
      await queue?.close();
      await database.close();
      throw error;
    }
  }

  /**
   * Which lane an order would take, and why, before it is signed; and what its other fields are to be.
   * @throws AssayError BUNDLE_MISSING, LANE_CLOSED, EXECUTOR_NONE
   */
  quote(request: QuoteRequest): Promise<Quote> {
    return quoteOrder(this.context, request);
  }

  /**
   * Takes an order in; when this resolves, the job is durable.
   * @returns the job's id: the order's EIP-712 hash.
   * @throws AssayError as `submitOrder`, and PIPELINE_CLOSED
   */
  async submit(request: OrderRequest, idempotencyKey: string): Promise<Hex> {
    if (this.closing) throw new AssayError('PIPELINE_CLOSED', 'The pipeline is closing and takes no more orders.');
    const job = await submitOrder(this.context, request, idempotencyKey);
    this.wantTick();
    return job;
  }

  /** @returns the job as it stands, or null where there is none of that id. */
  job(jobId: Hex): Promise<JobView | null> {
    return readJob(this.context, jobId);
  }

  /**
   * Resolves when the job has its outcome, whichever. Its money may follow later: `settlement` of the job tells.
   * @throws AssayError ORDER_INVALID where there is no such job, PIPELINE_CLOSED when the pipeline closes first; what
   * reading the job throws, except for outages, which are waited for.
   */
  async waitFor(jobId: Hex): Promise<JobView> {
    const view = await this.job(jobId);
    if (view === null) throw new AssayError('ORDER_INVALID', `There is no job ${jobId}.`, { meta: { jobId } });
    if (view.outcome !== null) return view;
    if (this.closing) throw closedBefore(jobId);
    return new Promise((resolve, reject) => {
      this.waiting.set(jobId, [...(this.waiting.get(jobId) ?? []), { resolve, reject }]);
      this.wantTick();
    });
  }

  /**
   * Seals what waits without regard to age, and resolves when no step is left to do and every transaction is mined, the
   * payments included. A process without a prover does not wait for the steps of the zk lane that need one, and nobody
   * waits for orders to expire whose time has not come.
   */
  async drain(): Promise<void> {
    const notHere = ['done', ...this.elsewhere()];
    this.draining = true;
    try {
      for (;;) {
        const [row] = await this.database.query<{ open: number }>(
          `SELECT (SELECT COUNT(*) FROM assay.work WHERE step <> ALL($1::text[]) AND NOT (step = 'expire' AND due_at = $2))::int
                + (SELECT COUNT(*) FROM assay.intents WHERE mined_tx IS NULL)::int AS open`,
          [notHere, WHEN_THE_CHAIN_SAYS],
        );
        if (row!.open === 0) return;
        if (this.closing)
          throw new AssayError('PIPELINE_CLOSED', `The pipeline closed with ${row!.open} steps left to do.`);
        this.wantTick(true);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    } finally {
      this.draining = false;
    }
  }

  /** Can work be done? Asks each part. Work that waits is kept in any case. */
  async readiness(): Promise<Readiness> {
    const ask = async (question: () => Promise<unknown>): Promise<AssayError | null> => {
      try {
        await question();
        return null;
      } catch (error) {
        return asAssayError(error);
      }
    };
    const [database, queue, chain] = await Promise.all([
      ask(() => this.database.query('SELECT 1')),
      ask(() => this.queue.ready()),
      ask(() => this.context.chain.blockNumber()),
    ]);
    return { ready: database === null && queue === null && chain === null, database, queue, chain };
  }

  /** Empties the queue, as the loss of a Redis would. Nothing is lost: every due step is hinted at again. */
  async wipeQueue(): Promise<void> {
    await this.queue.wipe();
    await this.hintAtAll();
  }

  private async hintAtAll(): Promise<void> {
    await this.database.execute('UPDATE assay.work SET hinted_at = 0 WHERE hinted_at <> 0');
    this.wantTick(true);
  }

  /** Ends the steps at hand, then closes everything. What is left is taken up at the next start. */
  async close(): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    for (const timer of this.timers) clearTimeout(timer);
    for (const [jobId, waiters] of this.waiting) for (const { reject } of waiters) reject(closedBefore(jobId));
    this.waiting.clear();
    await this.tickRunning;
    await this.queue.close();
    await this.database.execute('DELETE FROM assay.instances WHERE id = $1', [this.instance]).catch(() => undefined);
    await this.posting.release();
    await this.database.close();
  }

  private start(): void {
    const elsewhere = this.elsewhere();
    for (const step of ACTIVE_STEPS) {
      if (CHAIN_STEPS.includes(step) || elsewhere.includes(step)) continue;
      // Proofs wait for a prover in the queue: there, waiting is no failure and takes nobody's place.
      const concurrency =
        step === 'prove' ? this.context.provers.length : step === 'wrap' ? 1 : this.settings.concurrency;
      this.queue.work(step, concurrency, (hint) => this.runner.run(hint));
    }
    if (this.posting.held) this.startChainWork();
    this.queue.onReturn(() => void this.hintAtAll().catch((error: unknown) => this.trouble(asAssayError(error))));
    const beat = (): void => {
      this.wantTick(true);
      this.after(this.settings.sweepMs, beat);
    };
    beat();
  }

  /** Steps that this process has nobody for. */
  private elsewhere(): ActiveStep[] {
    const { provers, batchProver } = this.context;
    return [...(provers.length === 0 ? PROOF_STEPS : []), ...(batchProver === null ? BATCH_PROOF_STEPS : [])];
  }

  private startChainWork(): void {
    this.chainWork = CHAIN_STEPS.map((step) =>
      this.queue.work(step, CHAIN_CONCURRENCY, async (hint) => {
        // A hint that was taken while the lock was being lost: the sweeper gives it again.
        if (this.posting.held) await this.runner.run(hint);
      }),
    );
  }

  private stopChainWork(): void {
    const stops = this.chainWork;
    this.chainWork = [];
    for (const stop of stops) stop().catch((error: unknown) => this.trouble(asAssayError(error)));
  }

  /** Where the process that posted has ended, or this one has lost the lock: takes it, and with it the chain steps. */
  private async takePosting(): Promise<void> {
    if (!this.posting.held && (await this.posting.take())) this.startChainWork();
  }

  private changed(claim: Claim, dueInMs: number): void {
    this.events.emit('progress', {
      subject: claim.subject as Hex,
      kind: claim.kind,
      step: claim.step,
      attempt: claim.attempt,
    });
    // Others may come to be opened with it, until then.
    if (claim.step === 'accept') this.after(this.settings.openAgeMs + 1, () => this.wantTick(true));
    if (dueInMs === 0) this.wantTick();
    // A millisecond more: the row is due at that time, not before.
    else this.after(dueInMs + 1, () => this.wantTick(true));
  }

  private after(delayMs: number, work: () => void): void {
    if (this.closing) return;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      work();
    }, delayMs);
    this.timers.add(timer);
  }

  /** Hands on what is in the outbox soon, and sweeps too where asked; many wishes while one is running make one more. */
  private wantTick(sweepToo = false): void {
    if (this.closing) return;
    this.tickWanted = true;
    this.sweepWanted ||= sweepToo;
    this.tickRunning ??= this.ticks().finally(() => {
      this.tickRunning = null;
    });
  }

  private async ticks(): Promise<void> {
    while (this.tickWanted && !this.closing) {
      const sweepToo = this.sweepWanted;
      this.tickWanted = this.sweepWanted = false;
      if (sweepToo) {
        await this.tried(() => this.takePosting());
        await this.tried(() => this.sweepDue());
      }
      await this.tried(() => this.answerWaiting());
      await this.tried(() => relayOutbox(this.database, this.queue));
      // Last: an outage of the chain must hold up nothing else.
      if (sweepToo) await this.tried(() => this.watch.look(this.posting.held));
      if (sweepToo && this.posting.held) await this.tried(() => this.context.journal.settleOpen());
    }
  }

  /** A part of a tick: its failure is told, and holds up no other part. */
  private async tried(part: () => Promise<unknown>): Promise<void> {
    try {
      await part();
    } catch (error) {
      this.trouble(asAssayError(error));
    }
  }

  private async sweepDue(): Promise<void> {
    const { context, settings } = this;
    if (this.posting.held) {
      const ageMs = (most: number): number => (this.draining ? 0 : most);
      while ((await sealOpening(context, { ageMs: ageMs(settings.openAgeMs) })) !== null);
      const rule = { size: settings.batchSize, ageMs: ageMs(settings.batchAgeMs) };
      while ((await sealBatch(context, rule)) !== null);
    }
    const { deadAfterMs, hintAgainMs } = settings;
    await sweep(
      this.database,
      { instance: this.instance, atWork: [...this.runner.atWork], deadAfterMs, hintAgainMs },
      context.clock(),
    );
  }

  private async answerWaiting(): Promise<void> {
    if (this.waiting.size === 0) return;
    const ended = await this.database.query<{ order_hash: Hex }>(
      'SELECT order_hash FROM assay.orders WHERE outcome IS NOT NULL AND order_hash = ANY($1::text[])',
      [[...this.waiting.keys()]],
    );
    for (const { order_hash } of ended) {
      let answer: (waiter: Waiter) => void;
      try {
        const view = (await this.job(order_hash))!;
        answer = ({ resolve }) => resolve(view);
      } catch (error) {
        const why = asAssayError(error);
        this.trouble(why);
        // An outage ends, and the next tick asks again. What is unreadable stays so.
        if (why.kind === 'infrastructure' && why.code !== 'STORE_CORRUPT') continue;
        answer = ({ reject }) => reject(why);
      }
      this.waiting.get(order_hash)?.forEach(answer);
      this.waiting.delete(order_hash);
    }
  }

  private trouble(error: AssayError): void {
    this.events.emit('trouble', error);
  }
}

/** What is opened must be judged by somebody, and proved by somebody. */
function requireLanes({ openLanes }: PipelineSettings, { chain, provers = [] }: PipelinePorts): void {
  const invalid = (what: string) => new AssayError('CONFIG_INVALID', `openLanes: ${what}.`);
  for (const lane of openLanes) {
    if (judgeOf(chain.policy, lane) === null)
      throw invalid(`the policy ${chain.policyHash} has nobody to judge the lane \`${lane}\``);
  }
  if (openLanes.includes('zk') && provers.length === 0)
    throw invalid('the lane `zk` needs a prover, and none is connected');
}

/** A key, and with it a proof, is of one reference string: whichever prover an order comes to must have that one. */
function requireOneSrs(provers: readonly ProverPort[]): void {
  const ids = new Set(provers.map(({ srs }) => bytesToHex(srsIdOf(srs))));
  if (ids.size > 1) {
    throw new AssayError(
      'CONFIG_INVALID',
      `provers: they must share one reference string, and have ${ids.size}: ${[...ids].join(', ')}.`,
    );
  }
}

const closedBefore = (jobId: Hex): AssayError =>
  new AssayError('PIPELINE_CLOSED', `The pipeline closed before job ${jobId} had its outcome.`, { meta: { jobId } });

async function queueHome(database: Database, settings: PipelineSettings): Promise<QueueHome> {
  if (settings.redisUrl === undefined) return { kind: 'postgres', pool: database.pool };
  const [deployment] = await database.query<{ id: string }>('SELECT id FROM assay.deployment');
  return { kind: 'redis', url: settings.redisUrl, namespace: deployment!.id };
}

/** The nodes that work here, so that the audit knows whose engine and operator a receipt came from. */
async function registerNodes(
  database: Database,
  nodes: readonly { address: Hex; engineName: string; operator: string }[],
  executes: boolean,
): Promise<void> {
  for (const { address, engineName, operator } of nodes) {
    await database.execute(
      `INSERT INTO assay.nodes AS n (address, engine, operator, executes) VALUES ($1, $2, $3, $4)
       ON CONFLICT (address) DO UPDATE SET engine = $2, operator = $3, executes = n.executes OR $4`,
      [address, engineName, operator, executes],
    );
  }
}
