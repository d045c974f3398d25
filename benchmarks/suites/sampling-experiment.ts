/**
 * The sampled lane at work, counted: many requests through four executors of which one lies now and then.
 *
 * Statement. A group is what one key of an executor has in one batch: N receipts, w of them lies. The court draws
 * k = ceil(p N) of them; if a lie is among them, all N are checked and every lie of the group is found. So
 *
 *   P(group found) = q = 1 - C(N - w, k) / C(N, k)        (hypergeometric)
 *   E[lies found]  = sum w q,   Var = sum w^2 q (1 - q)   over groups with w > 0
 *
 * 1. Requests go round the four executors; of the cheat's, every hundredth is answered falsely, at places drawn by seed.
 * 2. A key that is caught is suspended on chain for ever; the cheat goes on under the next, and requests that the old one
 *    had taken on and not begun are ordered anew.
 * 3. Every output is held against the plain evaluator: what differs must be the lies, and nothing else.
 * 4. Money is read from the chain before and after: sums, and every party's balance by the terms.
 * 5. The cheat's gain is what its account has more than if it had been honest, with the work that its lies saved
 *    counted in its favour.
 *
 * Everything is the real thing: order signatures, queue and tables on PGlite, onnxruntime in executors' threads, journals
 * and traces on disk, anvil with the contracts, re-execution on other engines.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Balances } from '../../cli/demo/money.js';
import { AssayError } from '../../common/errors.js';
import { encodeInputs, evaluateGraph, inputRoot, type Bundle } from '../../graph/index.js';
import { heldOutSamples } from '../../models/index.js';
import { SeededRandom } from '../../models/random.js';
import { Pipeline, type JobView, type Offer, type OrderRequest } from '../../pipeline/index.js';
import { hashOrder, signOrder, type Hex, type JobOrder } from '../../receipts/index.js';
import {
  countBand,
  seasonDetection,
  simulateSeasons,
  type Band,
  type MarketTerms,
} from '../../sampler/economics/index.js';
import { detectionProbabilityExact, drawnCount } from '../../sampler/index.js';
import { compiledModel } from '../models.js';
import { AUDIT_WINDOW_S, PRICE, startWorld, type World } from './sampling-experiment-world.js';

export interface ExperimentOptions {
  /** Wiped at the start and at the end. */
  readonly folder: string;
  readonly model: string;
  readonly requests: number;
  /** Of one request. */
  readonly items: number;
  /** Share of its requests that the cheat answers falsely. */
  readonly lieShare: number;
  readonly drawRatePpm: number;
  /** What an executor stakes on an order, in prices. */
  readonly lockFactor: number;
  /** What honest work on a request costs its executor, in 1/10,000 of the price: what a lie saves. */
  readonly workBps: number;
  readonly seed: number;
  readonly batchSize: number;
  /** Requests under way at once. */
  readonly window: number;
  readonly onProgress?: (done: number, elapsedMs: number) => void;
}

export interface ExperimentReport {
  readonly requests: number;
  readonly items: number;
  /** Seconds from the first order to the last outcome, and to the last payment. */
  readonly outcomesS: number;
  readonly paidS: number;
  readonly batches: number;
  readonly audited: { readonly honest: number; readonly honestExpected: number; readonly cheat: number };
  readonly lies: { readonly told: number; readonly found: number; readonly expected: number; readonly sd: number };
  /** Keys of the cheat in batches with a lie; the band holds 95 % of all runs with these batches. */
  readonly groups: { readonly withLies: number; readonly found: number; readonly expected: Band };
  readonly wrongOutputs: number;
  readonly keysLost: number;
  readonly orderedAnew: number;
  /** Of those: opened, and never delivered by a key that was suspended. The lock pays a fee for each. */
  readonly undelivered: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly money: {
    readonly supply: string;
    readonly sumBefore: string;
    readonly sumAfter: string;
    readonly balanced: boolean;
    readonly asAgreed: boolean;
    readonly burnt: string;
  };
  readonly cheat: {
    /** Of its account, in prices. */
    readonly change: number;
    /** What an honest executor with the same requests has, less the work. */
    readonly honestProfit: number;
    readonly profit: number;
    readonly gain: number;
    readonly poorer: boolean;
  };
  /** Milliseconds that attempts of each step took, and how many there were. */
  readonly steps: Readonly<Record<string, { readonly count: number; readonly meanMs: number }>>;
}

/** By the chain's clock: longer than the whole run. */
const DELIVER_WITHIN_S = 14_400;
const EXECUTORS = 4;
const isCheats = (request: number): boolean => request % EXECUTORS === EXECUTORS - 1;

export async function runSamplingExperiment(options: ExperimentOptions): Promise<ExperimentReport> {
  const { folder, requests, batchSize } = options;
  const bundle = compiledModel(options.model);
  const cheats = Array.from({ length: requests }, (_, i) => i).filter(isCheats);
  const told = Math.ceil(options.lieShare * cheats.length);
  const places = new SeededRandom(options.seed).permutation(cheats.length).subarray(0, told);
  const lieAt = new Set([...places].map((place) => cheats[place]!));
  const lies = new Set<Hex>();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const world = await startWorld({ ...options, bundle, lies, cheatKeys: told + 1 });
  let pipeline: Pipeline | undefined;
  try {
    pipeline = await Pipeline.open(
      { dataDirectory: join(folder, 'pipeline'), batchSize, batchAgeMs: 5_000, openAgeMs: 1_000, concurrency: 16 },
      world.ports,
    );
    const before = await world.balances();
    const requester = new Requester(options, bundle, world, pipeline, lieAt, lies);
    const startedAt = performance.now();
    const jobs = await requester.askAll();
    const outcomesS = (performance.now() - startedAt) / 1000;
    // All is judged. What is skipped is the time in which an output might be demanded, and the rest of the time that a
    // suspended executor had for orders that nobody runs any more.
    await world.provider.send('evm_increaseTime', [DELIVER_WITHIN_S + AUDIT_WINDOW_S]);
    await pipeline.drain();
    for (const id of requester.abandoned)
      while ((await pipeline.job(id))!.settlement.state === 'open') await sleep(200);
    await pipeline.drain();
    const paidS = (performance.now() - startedAt) / 1000;
    const after = await world.balances();
    const views: JobView[] = [];
    for (const id of jobs.keys()) views.push((await pipeline.job(id))!);
    const abandoned: JobView[] = [];
    for (const id of requester.abandoned) abandoned.push((await pipeline.job(id))!);
    const steps = await stepTimes(pipeline);
    return {
      ...summarise({ options, bundle, world, jobs, lies, views, abandoned, before, after }),
      ...requester.counts(),
      outcomesS,
      paidS,
      steps,
    };
  } finally {
    await pipeline?.close();
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Asks for all requests, so many at once. */
class Requester {
  readonly #jobs = new Map<Hex, number>();
  /** Orders that a suspended key left behind. */
  readonly abandoned: Hex[] = [];
  #deliverBy = 0;
  #cheatKey = 0;
  #orderedAnew = 0;
  #nonce = 0;
  #done = 0;

  constructor(
    private readonly options: ExperimentOptions,
    private readonly bundle: Bundle,
    private readonly world: World,
    private readonly pipeline: Pipeline,
    private readonly lieAt: ReadonlySet<number>,
    private readonly lies: Set<Hex>,
  ) {}

  counts(): Pick<ExperimentReport, 'keysLost' | 'orderedAnew'> {
    return { keysLost: this.#cheatKey, orderedAnew: this.#orderedAnew };
  }

  /** @returns requests by the jobs that served them */
  async askAll(): Promise<ReadonlyMap<Hex, number>> {
    const { requests, window, onProgress } = this.options;
    this.#deliverBy = (await this.world.client.escrow.clock()) + DELIVER_WITHIN_S;
    const { offer } = await this.pipeline.quote({
      modelDigest: this.bundle.digest as Hex,
      items: this.options.items,
      price: PRICE,
      deliverBy: this.#deliverBy,
      lane: 'sampled',
    });
    const startedAt = performance.now();
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < requests) {
        await this.#serve(next++, offer);
        this.#done++;
        onProgress?.(this.#done, performance.now() - startedAt);
      }
    };
    await Promise.all(Array.from({ length: Math.min(window, requests) }, worker));
    return this.#jobs;
  }

  async #serve(request: number, offer: Offer): Promise<void> {
    for (;;) {
      const key = this.#cheatKey;
      const executor = isCheats(request) ? this.world.cheat[key]! : this.world.honest[request % EXECUTORS]!;
      const asked = await this.#order(request, executor, offer);
      const id = hashOrder(asked.order, this.world.client.domain);
      if (this.lieAt.has(request)) this.lies.add(id);
      const view = await this.#outcome(asked, id);
      if (view !== null) {
        this.#jobs.set(id, request);
        return;
      }
      // The key was suspended before this order was run.
      this.lies.delete(id);
      if (key === this.#cheatKey) this.#cheatKey++;
      this.#orderedAnew++;
    }
  }

  /** Null where a suspended key keeps the order from being taken, opened or run. */
  async #outcome(asked: OrderRequest, id: Hex): Promise<JobView | null> {
    let view: JobView;
    try {
      view = await this.pipeline.waitFor(await this.pipeline.submit(asked, id));
    } catch (error) {
      if (error instanceof AssayError && error.code === 'ORDER_INVALID' && error.message.includes('suspended'))
        return null;
      throw error;
    }
    if (view.outcome !== 'failed') return view;
    if (this.world.cheat.includes(asked.order.executor)) {
      this.abandoned.push(id);
      return null;
    }
    throw new AssayError('INTERNAL', `experiment: order ${id} failed: ${view.error?.message ?? 'no reason'}`);
  }

  async #order(request: number, executor: Hex, offer: Offer): Promise<OrderRequest> {
    const { items } = this.options;
    const { requester, client } = this.world;
    const inputs = inputsOf(this.options, this.bundle, request);
    const order: JobOrder = {
      requester: requester.address.toLowerCase() as Hex,
      executor,
      modelDigest: this.bundle.digest as Hex,
      inputRoot: inputRoot(this.bundle.graph, inputs, items) as Hex,
      items,
      lane: 'sampled',
      policyHash: offer.policyHash,
      price: PRICE,
      surcharge: offer.surcharge,
      outputBytes: offer.outputBytes,
      deliverBy: this.#deliverBy,
      validUntil: this.#deliverBy,
      nonce: BigInt(this.#nonce++),
    };
    return { order, inputs, signature: await signOrder(order, client.domain, requester) };
  }
}

/** Held-out samples that follow one another, from a place that is the request's own; they repeat. */
function inputsOf({ model, items }: ExperimentOptions, bundle: Bundle, request: number): Int32Array[] {
  const encoded = encodedSamples(model, bundle);
  const chosen = Array.from({ length: items }, (_, i) => encoded[(request * items + i) % encoded.length]!);
  return bundle.inputs.map((_, input) => Int32Array.from(chosen.flatMap((values) => [...values[input]!])));
}

const SAMPLES = 200;
const samplesByDigest = new Map<string, Int32Array[][]>();

function encodedSamples(model: string, bundle: Bundle): Int32Array[][] {
  const known = samplesByDigest.get(bundle.digest);
  if (known !== undefined) return known;
  const encoded = heldOutSamples(model, SAMPLES).samples.map((sample) => [...encodeInputs(bundle, sample).values]);
  samplesByDigest.set(bundle.digest, encoded);
  return encoded;
}

async function stepTimes({ database }: Pipeline): Promise<ExperimentReport['steps']> {
  const rows = await database.query<{ step: string; count: number; mean: number }>(
    'SELECT step, COUNT(*)::int AS count, AVG(ended_at - started_at)::float AS mean FROM assay.attempts WHERE ended_at IS NOT NULL GROUP BY step ORDER BY step',
  );
  return Object.fromEntries(rows.map(({ step, count, mean }) => [step, { count, meanMs: mean }]));
}

export interface SimulatedSeeds {
  readonly ratePpm: number;
  readonly seeds: number;
  /** Seeds in which lying brought less than honesty, and in which a lie was found. */
  readonly poorer: number;
  readonly caught: number;
  readonly expected: Band;
  /** In prices. */
  readonly meanGain: number;
}

/** The same season, played by the simulator. @param ratePpm instead of the run's own */
export function simulatedSeeds(options: ExperimentOptions, ratePpm: number, seeds: number): SimulatedSeeds {
  const jobs = Math.floor(options.requests / EXECUTORS);
  const lies = Math.ceil(options.lieShare * jobs);
  const work = (PRICE * BigInt(options.workBps)) / 10_000n;
  const market: MarketTerms = {
    price: PRICE,
    work,
    gain: work,
    stake: PRICE * BigInt(options.lockFactor),
    bond: 'job',
    jobs,
    receipts: Math.ceil(options.batchSize / EXECUTORS),
    ratePpm,
    collusion: 0,
    miss: 0,
    falseAlarm: 0,
    lazy: 0,
    canaryRate: 0,
    positionsCatch: 0,
  };
  const { poorer, caught, meanGain } = simulateSeasons(market, lies, seeds);
  const expected = countBand(Array<number>(seeds).fill(seasonDetection(market, lies)));
  return { ratePpm, seeds, poorer, caught, expected, meanGain: Number((meanGain * 10_000n) / PRICE) / 10_000 };
}

interface Ended {
  readonly options: ExperimentOptions;
  readonly bundle: Bundle;
  readonly world: World;
  readonly jobs: ReadonlyMap<Hex, number>;
  readonly lies: ReadonlySet<Hex>;
  readonly views: readonly JobView[];
  /** Orders that a key had taken on when it was suspended, and nobody ran. */
  readonly abandoned: readonly JobView[];
  readonly before: Balances;
  readonly after: Balances;
}

function summarise(ended: Ended): Omit<ExperimentReport, 'outcomesS' | 'paidS' | 'steps' | 'keysLost' | 'orderedAnew'> {
  const { options, views } = ended;
  const outcomes: Record<string, number> = {};
  for (const { outcome, settlement } of views) {
    const name = `${outcome}, ${settlement.state}`;
    outcomes[name] = (outcomes[name] ?? 0) + 1;
  }
  return {
    requests: options.requests,
    items: options.items,
    batches: new Set(views.map(({ batchHash }) => batchHash)).size,
    ...detection(ended),
    wrongOutputs: views.filter((view) => differs(ended, view)).length,
    outcomes,
    undelivered: ended.abandoned.filter(({ settlement }) => settlement.state === 'refunded').length,
    money: money(ended),
    cheat: cheatsGain(ended),
  };
}

/** Does the output differ from the plain evaluator's? */
function differs({ bundle, options }: Ended, { inputs, outputs }: JobView): boolean {
  const values = evaluateGraph(bundle.graph, inputs, options.items);
  return bundle.graph.outputs.some((id, i) => values[id]!.some((value, j) => outputs![i]![j] !== value));
}

/** What was found, beside what the draw finds by the formula. */
function detection({ options, world, views, lies }: Ended): Pick<ExperimentReport, 'audited' | 'lies' | 'groups'> {
  const groups = new Map<string, { cheat: boolean; receipts: number; drawn: number; lies: number; found: number }>();
  for (const { jobId, batchHash, order, outcome, audit } of views) {
    const name = `${batchHash} ${order.executor}`;
    const cheat = world.cheat.includes(order.executor);
    const group = groups.get(name) ?? { cheat, receipts: 0, drawn: 0, lies: 0, found: 0 };
    group.receipts++;
    if (audit !== null) group.drawn++;
    if (lies.has(jobId)) group.lies++;
    if (lies.has(jobId) && outcome === 'rejected') group.found++;
    groups.set(name, group);
  }
  const all = [...groups.values()];
  const sum = (of: (group: (typeof all)[number]) => number): number =>
    all.reduce((total, group) => total + of(group), 0);
  const chance = (group: (typeof all)[number]): number =>
    detectionProbabilityExact(group.receipts, group.lies, drawnCount(group.receipts, options.drawRatePpm));
  return {
    audited: {
      honest: sum(({ cheat, drawn }) => (cheat ? 0 : drawn)),
      honestExpected: sum(({ cheat, receipts }) => (cheat ? 0 : drawnCount(receipts, options.drawRatePpm))),
      cheat: sum(({ cheat, drawn }) => (cheat ? drawn : 0)),
    },
    lies: {
      told: sum((group) => group.lies),
      found: sum((group) => group.found),
      expected: sum((group) => group.lies * chance(group)),
      sd: Math.sqrt(sum((group) => group.lies ** 2 * chance(group) * (1 - chance(group)))),
    },
    groups: {
      withLies: sum((group) => Number(group.lies > 0)),
      found: sum((group) => Number(group.found > 0)),
      expected: countBand(all.filter((group) => group.lies > 0).map(chance)),
    },
  };
}

function money({ world, views, abandoned, before, after }: Ended): ExperimentReport['money'] {
  const { policy, accounts } = world;
  const sumOf = ({ free, reserve, burnt }: Balances): bigint => free.reduce((a, b) => a + b, 0n) + reserve + burnt;
  const [sumBefore, sumAfter] = [sumOf(before), sumOf(after)];
  const expected = new Map<Hex, bigint>();
  const move = (account: Hex, amount: bigint): void =>
    void expected.set(account, (expected.get(account) ?? 0n) + amount);
  for (const { order, receipt, settlement } of views) {
    const account = world.accountOf(order.executor);
    const lock = (order.price * BigInt(policy.lockFactorBps)) / 10_000n;
    if (settlement.state === 'slashed') move(account, -lock);
    if (settlement.state !== 'paid') continue;
    const { amount } = receipt!.receipt;
    const fee = (amount * BigInt(policy.protocolFeeBps)) / 10_000n;
    move(accounts.requester, -(amount + order.surcharge));
    move(account, amount - fee);
  }
  // Opened and never delivered: the lock pays for that.
  for (const { order, settlement } of abandoned) {
    if (settlement.state !== 'refunded') continue;
    move(accounts.requester, policy.noShowFee);
    move(world.accountOf(order.executor), -policy.noShowFee);
  }
  const changeOf = (account: Hex): bigint => {
    const at = world.parties.indexOf(account);
    return after.free[at]! - before.free[at]!;
  };
  return {
    supply: String(after.supply),
    sumBefore: String(sumBefore),
    sumAfter: String(sumAfter),
    balanced:
      sumBefore === sumAfter &&
      sumAfter === after.supply &&
      before.contract === sumBefore - before.burnt &&
      after.contract === sumAfter - after.burnt,
    asAgreed: [accounts.requester, accounts.cheat, ...accounts.honest].every(
      (account) => changeOf(account) === (expected.get(account) ?? 0n),
    ),
    burnt: String(after.burnt - before.burnt),
  };
}

function cheatsGain({ options, world, views, lies, before, after }: Ended): ExperimentReport['cheat'] {
  const at = world.parties.indexOf(world.accounts.cheat);
  const change = after.free[at]! - before.free[at]!;
  const mine = views.filter(({ order }) => world.cheat.includes(order.executor));
  const work = (PRICE * BigInt(options.workBps)) / 10_000n;
  const fee = (PRICE * BigInt(world.policy.protocolFeeBps)) / 10_000n;
  const honestProfit = BigInt(mine.length) * (PRICE - fee - work);
  const worked = mine.filter(({ jobId }) => !lies.has(jobId)).length;
  const profit = change - BigInt(worked) * work;
  const inPrices = (amount: bigint): number => Number((amount * 10_000n) / PRICE) / 10_000;
  return {
    change: inPrices(change),
    honestProfit: inPrices(honestProfit),
    profit: inPrices(profit),
    gain: inPrices(profit - honestProfit),
    poorer: profit < honestProfit,
  };
}
