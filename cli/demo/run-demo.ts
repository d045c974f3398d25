/**
 * The main job on real input, on this machine alone: compile a model; open orders, run them, commit to their traces, anchor
 * the receipts, audit them, pay or slash; prove one more and let a contract check it; count the money.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { batchInputRoot } from '../../circuits/batch/input-root.js';
import { AssayError } from '../../common/errors.js';
import {
  committedTensors,
  compileModel,
  encodeBundle,
  evaluateGraph,
  makeBundle,
  outputRoot,
  readOnnx,
  traceRoot,
  type Bundle,
} from '../../graph/index.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import {
  inputRootOf,
  Pipeline,
  ProverNode,
  receiptFileOf,
  type JobView,
  type Progress as PipelineProgress,
} from '../../pipeline/index.js';
import { encodeModelKey, modelKeyHash, predictJob } from '../../prover/index.js';
import { formatReceiptFile, hashOrder, MAX_BATCH, verifyReceipt, type Hex, type Lane } from '../../receipts/index.js';
import type { Tamper } from '../../fraud-proofs/step/inject.js';
import { takeOwnership } from '../../pipeline/database/owner-lock.js';
import { compareOutputs } from '../../sampler/index.js';
import { startAnvil } from '../../verifier-contracts/anvil.js';
import { compileContracts } from '../../verifier-contracts/build.js';
import type { Progress, Terminal } from '../terminal.js';
import { chainFolder, startCast, type Cast, type Player } from './cast.js';
import { DEMO_COURT, DEMO_LOCK, DEMO_POLICY, DEMO_WINDOW } from './deployment.js';
import { disputeOne, type DisputedOne } from './dispute-one.js';
import { gasOfCalls, type CallGas } from './gas.js';
import { ordersFor, type DemoJob } from './jobs.js';
import { balancesOf, moneyOf, type Money } from './money.js';
import { BATCH_DIGITS, prepareCircuit, proveBatch, type ProvedBatch } from './prove-batch.js';
import { proveOne, type ProvedOne } from './prove-one.js';

export interface DemoOptions {
  /** Wiped at the start. */
  readonly folder: string;
  /** Digits for the honest executor. */
  readonly jobs: number;
  /** Digits for each of the three cheats. */
  readonly cheatJobs: number;
  /** What the executor alters that cheats in the optimistic lane. */
  readonly lie: Tamper;
  /** Leave the chain running, so that the receipts can be verified against it afterwards. */
  readonly keepChain: boolean;
}

export interface PlayerSummary {
  readonly executor: string;
  readonly address: Hex;
  readonly honest: boolean;
  readonly jobs: number;
  /** Answers or traces that differ from the model's own, found by running the reference on every input. */
  readonly lies: number;
  /** Receipts that were drawn for re-execution. */
  readonly audited: number;
  /** Receipts that the chain calls final and all checks accept. */
  readonly valid: number;
  /** Receipts that the audit or the watcher killed. */
  readonly invalid: number;
  /** Neither. */
  readonly undetermined: number;
  /** Digits read right. */
  readonly right: number;
  /** Orders that ended with the price, or with the loss of the lock. */
  readonly paid: number;
  readonly slashed: number;
}

export interface DemoSummary {
  readonly model: {
    readonly name: string;
    readonly digest: string;
    readonly parameters: number;
    readonly macs: number;
    readonly agreement: number | null;
  };
  readonly chain: {
    readonly id: string;
    readonly rollup: Hex;
    readonly rpc: string | null;
    readonly batches: number;
  };
  readonly settlement: {
    readonly token: Hex;
    /** Of every order, in the token's smallest unit. */
    readonly price: bigint;
    readonly surcharge: bigint;
    readonly lock: bigint;
    readonly fee: bigint;
    /** Seconds by which the chain's clock was put forward, so that nobody waits for windows to end. */
    readonly skippedS: number;
    readonly money: Money;
    readonly gas: readonly CallGas[];
  };
  readonly players: readonly PlayerSummary[];
  /** In the optimistic lane. */
  readonly disputed: DisputedOne;
  /** One digit more, in the lane of proofs. */
  readonly proved: ProvedOne;
  /** Digits that were proved together, in a recursive batch. */
  readonly together: ProvedBatch;
  /** Every true receipt is valid and paid, every lie invalid and slashed, also where a proof decides; the money adds up. */
  readonly success: boolean;
  readonly receipts: string;
  readonly seconds: number;
}

const MODEL = 'lenet5';
const SMALLER_MODEL = 'mnist-mlp';
const CALIBRATION_SAMPLES = 200;
const AGREEMENT_SAMPLES = 200;
/** Digits for the honest executor in the optimistic lane. */
const HONEST_OPTIMISTIC = 2;

export async function runDemo(options: DemoOptions, terminal: Terminal): Promise<DemoSummary> {
  const startedAt = performance.now();
  const receiptFolder = join(options.folder, 'receipts');
  await wipeFolder(options.folder);
  mkdirSync(receiptFolder, { recursive: true });
  writeFileSync(join(options.folder, MARKER), 'Made by assay demo; the next run wipes this folder.\n');

  terminal.note(`Compiling ${shippedModel(MODEL).title} to an exact integer graph`);
  const compiled = compileShipped(MODEL, terminal);
  const smaller = compileShipped(SMALLER_MODEL, terminal);
  const { prover, bundle, keyFile } = await startProver(compiled, options.folder, terminal);
  writeFileSync(join(options.folder, `${MODEL}.assay`), encodeBundle(bundle));

  await compileOnce(terminal);
  const prepared = await prepareCircuit(bundle, terminal);
  const starting = terminal.progress('starting chain, contracts, five executors, two checkers', null);
  const countOf = ({ honest, lane }: Pick<Player, 'honest' | 'lane'>): number => {
    if (lane === 'optimistic') return 1;
    return honest ? options.jobs : options.cheatJobs;
  };
  // More for the honest executor: those that nobody can dispute, and the digits that are proved.
  const orders = (player: Pick<Player, 'honest' | 'lane'>): number =>
    countOf(player) + (player.honest ? HONEST_OPTIMISTIC + 1 + BATCH_DIGITS : 0);
  const cast = await startCast(
    options.folder,
    bundle,
    smaller,
    prover,
    prepared,
    options.lie,
    orders,
    options.keepChain,
  );
  const { client } = cast;
  let pipeline: Pipeline | undefined;
  try {
    const sampled = cast.players.filter(({ lane }) => lane === 'sampled');
    const total = sampled.reduce((sum, player) => sum + countOf(player), 0);
    pipeline = await Pipeline.open(
      // One batch for all jobs where the contract's limit allows it.
      {
        dataDirectory: join(options.folder, PIPELINE),
        batchSize: Math.min(total, MAX_BATCH),
        batchAgeMs: 60_000,
        openLanes: ['sampled', 'optimistic', 'zk'],
      },
      cast.ports,
    );
    starting.done(`rollup ${client.rollup.address} on chain ${client.domain.chainId}`);
    const before = await balancesOf(client, cast.parties);

    const jobs = await signJobs(pipeline, cast, bundle, sampled.map(countOf));
    const views = await runJobs(pipeline, jobs, terminal);
    const honest = cast.players.find((player) => player.honest)!.executor.address;
    const liar = cast.players.find(({ lane }) => lane === 'optimistic')!.executor.address;
    let nonce = jobs.length;
    const more = async (
      executor: Hex,
      lane: Lane,
      count: number,
      rootOf?: typeof batchInputRoot,
    ): Promise<DemoJob[]> => {
      const first = nonce;
      nonce += count;
      return ordersFor(
        { pipeline: pipeline!, ...cast },
        bundle,
        executor,
        heldOutSamples(MODEL, count),
        first,
        lane,
        rootOf,
      );
    };
    const optimistic = [
      ...(await more(liar, 'optimistic', 1)),
      ...(await more(honest, 'optimistic', HONEST_OPTIMISTIC)),
    ];
    const optimisticIds: Hex[] = [];
    for (const [i, { request }] of optimistic.entries())
      optimisticIds.push(await pipeline.submit(request, `demo-optimistic-${i}`));
    const [job] = await more(honest, 'zk', 1);
    const together = await proveBatch(
      { pipeline, client, jobs: await more(honest, 'zk', BATCH_DIGITS, batchInputRoot), receiptFolder },
      terminal,
    );
    let paid: Promise<void> | undefined;
    const proved = await proveOne(
      {
        pipeline,
        job: job!,
        client,
        bundle,
        keyFile,
        receiptFolder,
        drain: () => void (paid = pipeline!.drain()),
      },
      terminal,
    );
    const disputed = await disputeOne(
      cast,
      bundle,
      optimistic[0]!,
      optimistic,
      optimisticIds[0]!,
      options.lie,
      terminal,
    );
    const paying = terminal.progress('waiting until no output can be demanded any more, then paying', null);
    const skippedS = await skipWindows(cast);
    await paid;
    paying.done(`the chain's clock was put forward by ${skippedS} s`);

    const ids = [...views.map(({ jobId }) => jobId), ...optimisticIds];
    const ended = await Promise.all(ids.map(async (jobId) => (await pipeline!.job(jobId))!));
    const endedProof = (await pipeline.job(hashOrder(job!.request.order, client.domain)))!;
    const endedBatch = await Promise.all(together.jobIds.map(async (jobId) => (await pipeline!.job(jobId))!));
    const players = await verifyAll(cast, bundle, [...jobs, ...optimistic], ended, receiptFolder, terminal);
    const money = await moneyOf(
      client,
      cast.parties,
      [before, await balancesOf(client, cast.parties)],
      cast.roles,
      [...ended, endedProof, ...endedBatch],
      DEMO_LOCK,
    );
    const { price, surcharge } = jobs[0]!.request.order;
    return {
      model: {
        name: MODEL,
        digest: bundle.digest,
        parameters: bundle.report.parameters,
        macs: bundle.report.macs,
        agreement: bundle.report.heldOut?.labelAgreement ?? null,
      },
      chain: {
        id: String(client.domain.chainId),
        rollup: client.rollup.address,
        rpc: options.keepChain ? cast.anvil.url : null,
        batches: new Set(ended.map(({ batchHash }) => batchHash)).size,
      },
      settlement: {
        token: client.escrow.token,
        price,
        surcharge,
        lock: DEMO_LOCK,
        fee: (price * BigInt(DEMO_POLICY.protocolFeeBps)) / 10_000n,
        skippedS,
        money,
        gas: await gasOfCalls(client),
      },
      players,
      disputed,
      proved,
      together,
      success:
        proved.success &&
        together.success &&
        endedBatch.every(({ settlement }) => settlement.state === 'paid') &&
        disputed.success &&
        endedProof.settlement.state === 'paid' &&
        money.balanced &&
        money.asAgreed &&
        players.every(
          ({ jobs: count, lies, valid, invalid, paid: paidOrders, slashed }) =>
            valid === count - lies && invalid === lies && paidOrders === valid && slashed === lies,
        ),
      receipts: receiptFolder,
      seconds: (performance.now() - startedAt) / 1000,
    };
  } finally {
    await pipeline?.close();
    await cast.close();
  }
}

/**
 * Puts the clock of the development chain forward to where nobody can demand an output any more. All is judged by then:
 * what is skipped is waiting, and nothing else.
 */
async function skipWindows({ provider }: Cast): Promise<number> {
  const seconds = Math.max(DEMO_COURT.auditWindow, DEMO_POLICY.deliveryWindow, DEMO_WINDOW) + 1;
  await provider.send('evm_increaseTime', [seconds]);
  return seconds;
}

/** Folder of the pipeline's data, in the demo's. */
const PIPELINE = 'pipeline';
/** Says that a folder is ours to wipe. */
const MARKER = 'assay-demo.txt';

/** @throws AssayError DEMO_FOLDER_FOREIGN for a folder that holds anything but an earlier demo, DATA_DIRECTORY_BUSY. */
async function wipeFolder(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  if (readdirSync(folder).length > 0 && !existsSync(join(folder, MARKER))) {
    throw new AssayError('DEMO_FOLDER_FOREIGN', `${folder}: holds files that no demo made, and would be wiped`, {
      meta: { folder },
    });
  }
  // Another demo may be at work here: its lock says so.
  if (existsSync(join(folder, PIPELINE))) takeOwnership(join(folder, PIPELINE)).release();
  // A chain that an earlier run left going belongs to the folder.
  if (existsSync(chainFolder(folder))) await (await startAnvil({ stateDir: chainFolder(folder) })).stop();
  rmSync(folder, { recursive: true, force: true });
}

function compileShipped(name: string, terminal: Terminal): Bundle {
  const { file } = shippedModel(name);
  const progress = terminal.progress(name, null);
  const bundle = compileModel(readOnnx(readFileSync(file), file), {
    calibration: calibrationSamples(name, CALIBRATION_SAMPLES),
    heldOut: heldOutSamples(name, AGREEMENT_SAMPLES).samples,
  });
  const { heldOut, parameters, macs } = bundle.report;
  const agreement =
    heldOut?.labelAgreement === undefined || heldOut.labelAgreement === null
      ? ''
      : `, same label as float on ${(100 * heldOut.labelAgreement).toFixed(1)} % of ${heldOut.samples}`;
  progress.done(`${parameters} parameters, ${macs} multiply-accumulates${agreement}`);
  return bundle;
}

/** The contracts, which are compiled when they are first needed and then kept. */
async function compileOnce(terminal: Terminal): Promise<void> {
  let compiling: Progress | undefined;
  await compileContracts({ onCompile: () => (compiling = terminal.progress('compiling the contracts, once', null)) });
  compiling?.done();
}

/** A prover, and the model with the key that proofs about it are checked with, which is written beside it. */
async function startProver(
  compiled: Bundle,
  folder: string,
  terminal: Terminal,
): Promise<{ prover: ProverNode; bundle: Bundle; keyFile: string }> {
  const progress = terminal.progress('starting a prover, committing to the weights', null);
  const { srsPoints } = predictJob(compiled.graph, 1);
  const prover = await ProverNode.start({ srs: { kind: 'development', points: srsPoints } });
  try {
    const key = await prover.keyOf(compiled);
    const keyFile = join(folder, `${MODEL}.assaykey`);
    writeFileSync(keyFile, encodeModelKey({ key, srs: prover.srs }));
    progress.done(`reference string of ${srsPoints} points, for development`);
    return { prover, bundle: makeBundle({ ...compiled, modelKeyHash: modelKeyHash(key) }), keyFile };
  } catch (error) {
    await prover.close();
    throw error;
  }
}

/** The cheats first, so that their lies lie among honest receipts in the same batch. */
async function signJobs(pipeline: Pipeline, cast: Cast, bundle: Bundle, counts: readonly number[]): Promise<DemoJob[]> {
  const digits = heldOutSamples(
    MODEL,
    counts.reduce((a, b) => a + b, 0),
  );
  let first = 0;
  const lists: DemoJob[][] = [];
  const players = cast.players.filter(({ lane }) => lane === 'sampled');
  for (const [i, { executor }] of players.entries()) {
    const last = first + counts[i]!;
    const part = { samples: digits.samples.slice(first, last), labels: digits.labels.slice(first, last) };
    lists.push(await ordersFor({ pipeline, ...cast }, bundle, executor.address, part, first));
    first = last;
  }
  return lists.reverse().flat();
}

async function runJobs(pipeline: Pipeline, jobs: readonly DemoJob[], terminal: Terminal): Promise<JobView[]> {
  const signed = new Set<Hex>();
  const running = terminal.progress(`opening ${jobs.length} orders, running the digits, signing receipts`, jobs.length);
  let auditing: Progress | undefined;
  const onProgress = ({ step, subject }: PipelineProgress): void => {
    if (step !== 'sign' || signed.has(subject)) return;
    signed.add(subject);
    running.update(signed.size);
    if (signed.size < jobs.length) return;
    running.done();
    auditing = terminal.progress('posting, drawing, re-executing, judging', null);
  };
  pipeline.events.on('progress', onProgress);
  pipeline.events.on('trouble', (error) => terminal.note(`  trouble, tried again: ${error.message}`));
  const ids: Hex[] = [];
  for (const [i, { request }] of jobs.entries()) ids.push(await pipeline.submit(request, `demo-${i}`));
  const views = await Promise.all(ids.map((id) => pipeline.waitFor(id)));
  auditing?.done();
  pipeline.events.off('progress', onProgress);
  return views;
}

async function verifyAll(
  cast: Cast,
  bundle: Bundle,
  jobs: readonly DemoJob[],
  views: readonly JobView[],
  folder: string,
  terminal: Terminal,
): Promise<PlayerSummary[]> {
  // A receipt counts from the finalized head on: two blocks behind the newest on this chain.
  await cast.anvil.mine(2);
  const progress = terminal.progress('verifying every receipt against the chain', jobs.length);
  const tally = new Map(
    cast.players.map(({ title, executor, honest }) => [
      executor.address,
      {
        executor: title,
        address: executor.address,
        honest,
        jobs: 0,
        lies: 0,
        audited: 0,
        valid: 0,
        invalid: 0,
        undetermined: 0,
        right: 0,
        paid: 0,
        slashed: 0,
      },
    ]),
  );
  for (const [i, view] of views.entries()) {
    const { label } = jobs[i]!;
    const file = receiptFileOf(view, cast.client.domain);
    if (file === null) {
      throw new AssayError(
        'INTERNAL',
        `demo job ${i} ended without a receipt: ${view.error?.message ?? view.outcome ?? 'no outcome'}`,
      );
    }
    writeFileSync(join(folder, `${String(i).padStart(3, '0')}-${view.outcome}.json`), formatReceiptFile(file));
    const { verdict } = await verifyReceipt(file, {
      provider: cast.provider,
      rollup: cast.client.rollup.address,
      inputRoot: inputRootOf(bundle.graph),
      outputRoot: (tensors, items) => outputRoot(bundle.graph, integers(tensors), items) as Hex,
    });
    const player = tally.get(file.receipt.executor)!;
    player.jobs += 1;
    if (view.audit !== null) player.audited += 1;
    if (isLie(bundle, view)) player.lies += 1;
    player[verdict.verdict] += 1;
    if (view.settlement.state === 'paid') player.paid += 1;
    if (view.settlement.state === 'slashed') player.slashed += 1;
    if (indexOfLargest(view.outputs![0]!) === label) player.right += 1;
    progress.update(i + 1);
  }
  progress.done();
  return [...tally.values()];
}

/** The reference decides, not the audit or the watcher: the demo must be able to say that a lie got through. */
function isLie({ graph, committedSlots }: Bundle, { inputs, outputs, order, receipt }: JobView): boolean {
  const truth = evaluateGraph(graph, inputs, order.items);
  const slots = committedTensors(graph, committedSlots).map((id) => truth[id]!);
  // An altered element may leave the output as it is.
  if (
    order.lane === 'optimistic' &&
    receipt!.receipt.traceRoot !== traceRoot(graph, slots, order.items, committedSlots)
  )
    return true;
  return graph.outputs.some((id, i) => compareOutputs([truth[id]!], [outputs![i]!]) !== null);
}

function integers(tensors: readonly (readonly number[])[]): Int32Array[] {
  return tensors.map((values) => Int32Array.from(values));
}

function indexOfLargest(values: Int32Array): number {
  return values.reduce((best, value, i) => (value > values[best]! ? i : best), 0);
}
