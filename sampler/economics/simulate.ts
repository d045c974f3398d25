/**
 * A market in miniature, played many times: what the formulas say must come out, and nobody may do better by choosing.
 *
 * One season is one executor's `jobs`, in batches of `receipts`; of each batch ceil(p * receipts) are drawn without
 * replacement. Each draw meets one checker of a pool:
 *
 *   colluding   reports a match, whatever it sees (share r of the pool)
 *   lazy        copies the executor's answer, so it reports a match (share l of the others); a canary or an opened position
 *               finds it out, and a computing checker takes its place
 *   computing   misses a lie with chance beta, condemns honest work with chance alpha
 *
 * Between audits come canaries, one for every audit with chance m / (1 - m), so that m is their share of all checks.
 * A lie that is found kills the batch's other lies too: everything of the batch is then checked (pipeline, step `audit`).
 *
 * Money is counted, not averaged: how many jobs ended in which way, times whole amounts.
 */
import { AssayError } from '../../common/errors.js';
import { drawnCount, PPM } from '../draw-jobs.js';
import { batchDetection, checkChance } from './detection.js';
import { checkAmount, checkCount } from './incentives.js';
import { RandomStream } from './random-stream.js';

export interface MarketTerms {
  readonly price: bigint;
  readonly work: bigint;
  /** What one lie brings that is not found. */
  readonly gain: bigint;
  /** Lost with every job that is condemned, beside its price; or once for a batch, as `bond` says. */
  readonly stake: bigint;
  /**
   * `job`: every job is an order of its own, with a lock of its own. `batch`: the jobs of a batch are one order; a lie among
   * them costs its lock, once, and all its prices.
   */
  readonly bond: 'job' | 'batch';
  readonly jobs: number;
  readonly receipts: number;
  readonly ratePpm: number;
  /** Shares, as doubles: they are only drawn by. */
  readonly collusion: number;
  readonly miss: number;
  readonly falseAlarm: number;
  /** At the start; who is found out computes from then on. */
  readonly lazy: number;
  readonly canaryRate: number;
  readonly positionsCatch: number;
}

/** What one season came to. */
export interface Season {
  readonly lies: number;
  readonly drawnLies: number;
  /** Killed, drawn or found in the same batch as a drawn one. */
  readonly foundLies: number;
  /** Batches with a lie, and those of them in which one was found. */
  readonly lyingBatches: number;
  readonly foundBatches: number;
  readonly audits: number;
  readonly falseAlarms: number;
  readonly canaries: number;
  /** Audits that a checker copied. */
  readonly copied: number;
  readonly lazyFoundOut: number;
  /** Of the executor: prices of what was not condemned, less stakes and the work on what is true; with what lies brought. */
  readonly profit: bigint;
}

/** Checkers that may be lazy: each that is found out is so much less laziness. */
const POOL = 1_000;

/** @throws AssayError ECONOMICS_INVALID */
export function checkMarket(terms: MarketTerms): void {
  for (const name of ['price', 'work', 'gain', 'stake'] as const) checkAmount(name, terms[name]);
  checkCount('jobs', terms.jobs, 1, 100_000_000);
  checkCount('receipts', terms.receipts, 1, 65_536);
  checkCount('ratePpm', terms.ratePpm, 1, PPM);
  for (const name of ['collusion', 'miss', 'falseAlarm', 'lazy', 'canaryRate', 'positionsCatch'] as const)
    checkChance(name, terms[name]);
  if (terms.canaryRate === 1)
    throw new AssayError('ECONOMICS_INVALID', 'canaryRate: expected less than 1: somebody must check real work');
}

/**
 * One season.
 * @param lies told in it, at random places
 * @param seed its lowest 32 bits count
 * @throws AssayError ECONOMICS_INVALID
 */
export function simulateSeason(terms: MarketTerms, lies: number, seed: number): Season {
  checkMarket(terms);
  checkCount('lies', lies, 0, terms.jobs);
  const random = new RandomStream(seed);
  const lying = placeLies(terms.jobs, lies, random);
  const pool = new CheckerPool(terms, random);
  const tally = { drawnLies: 0, foundLies: 0, lyingBatches: 0, foundBatches: 0, audits: 0, falseAlarms: 0 };
  let [lostPrices, lostStakes] = [0, 0];
  let places = new Uint32Array(0);
  for (let start = 0; start < terms.jobs; start += terms.receipts) {
    const size = Math.min(terms.receipts, terms.jobs - start);
    // What an earlier draw has left in another order serves as well.
    if (places.length !== size) places = Uint32Array.from({ length: size }, (_, i) => i);
    const drawn = drawnCount(size, terms.ratePpm);
    random.draw(places, drawn);
    let told = 0;
    for (let i = 0; i < size; i++) told += lying[start + i]!;
    let found = false;
    let alarms = 0;
    for (let i = 0; i < drawn; i++) {
      const isLie = lying[start + places[i]!] === 1;
      tally.audits++;
      tally.drawnLies += Number(isLie);
      const condemned = pool.check(isLie);
      if (condemned && isLie) found = true;
      if (condemned && !isLie) alarms++;
    }
    tally.lyingBatches += Number(told > 0);
    tally.falseAlarms += alarms;
    if (found) {
      tally.foundBatches++;
      tally.foundLies += told;
    }
    lostPrices += !found ? 0 : terms.bond === 'job' ? told : size;
    lostStakes += terms.bond === 'job' ? alarms + (found ? told : 0) : Number(found || alarms > 0);
  }
  const { price, work, gain, stake } = terms;
  const profit =
    BigInt(terms.jobs) * (price - work) + BigInt(lies) * gain - BigInt(lostPrices) * price - BigInt(lostStakes) * stake;
  return { lies, ...tally, ...pool.tally, profit };
}

/** A bit for each job. */
function placeLies(jobs: number, lies: number, random: RandomStream): Uint8Array {
  const lying = new Uint8Array(jobs);
  // Floyd's way to draw without replacement: no list of all jobs is made.
  for (let j = jobs - lies; j < jobs; j++) {
    const t = random.below(j + 1);
    lying[lying[t] === 1 ? j : t] = 1;
  }
  return lying;
}

class CheckerPool {
  readonly tally = { canaries: 0, copied: 0, lazyFoundOut: 0 };
  #lazy: number;

  constructor(
    private readonly terms: MarketTerms,
    private readonly random: RandomStream,
  ) {
    this.#lazy = terms.lazy * POOL;
  }

  /** Is the receipt condemned? */
  check(isLie: boolean): boolean {
    const { terms, random, tally } = this;
    while (random.chance(terms.canaryRate)) {
      tally.canaries++;
      if (this.#kindOfNext() === 'lazy') this.#foundOut();
    }
    const kind = this.#kindOfNext();
    if (kind === 'lazy') {
      tally.copied++;
      if (random.chance(terms.positionsCatch)) this.#foundOut();
      return false;
    }
    if (kind === 'colluding') return false;
    return isLie ? !random.chance(terms.miss) : random.chance(terms.falseAlarm);
  }

  #kindOfNext(): 'colluding' | 'lazy' | 'computing' {
    if (this.random.chance(this.terms.collusion)) return 'colluding';
    return this.random.chance(this.#lazy / POOL) ? 'lazy' : 'computing';
  }

  #foundOut(): void {
    this.tally.lazyFoundOut++;
    this.#lazy = Math.max(0, this.#lazy - 1);
  }
}

export interface Seasons {
  readonly seeds: number;
  readonly seasons: readonly Season[];
  /** An honest executor's season, exactly, without false alarms. */
  readonly honestProfit: bigint;
  /** Seasons in which lying brought less than honesty would have. */
  readonly poorer: number;
  /** Mean of what lying brought above honesty, rounded down. */
  readonly meanGain: bigint;
  /** Seasons in which at least one lie was found. */
  readonly caught: number;
}

/**
 * One season for each of the seeds `firstSeed`, `firstSeed + 1`, ...
 * @throws AssayError ECONOMICS_INVALID
 */
export function simulateSeasons(terms: MarketTerms, lies: number, seeds: number, firstSeed = 1): Seasons {
  checkCount('seeds', seeds, 1, 1_000_000);
  const seasons = Array.from({ length: seeds }, (_, i) => simulateSeason(terms, lies, firstSeed + i));
  const honestProfit = BigInt(terms.jobs) * (terms.price - terms.work);
  const total = seasons.reduce((sum, { profit }) => sum + profit - honestProfit, 0n);
  const mean = total / BigInt(seeds);
  return {
    seeds,
    seasons,
    honestProfit,
    poorer: seasons.filter(({ profit }) => profit < honestProfit).length,
    meanGain: total < 0n && mean * BigInt(seeds) !== total ? mean - 1n : mean,
    caught: seasons.filter(({ foundLies }) => foundLies > 0).length,
  };
}

/**
 * The chance that a season's lies, placed at random, are found at least once. With chance c per drawn lie, and lies that
 * fall on batches by chance: E[(1 - c)^X] where X counts drawn ones among all. As all jobs of all batches are one urn of
 * which a fixed number is drawn, X is hypergeometric over the season. Exact where no checker that is lazy is found out.
 * @throws AssayError ECONOMICS_INVALID
 */
export function seasonDetection(terms: MarketTerms, lies: number): number {
  checkMarket(terms);
  const whole = Math.floor(terms.jobs / terms.receipts);
  const rest = terms.jobs - whole * terms.receipts;
  const drawn = whole * drawnCount(terms.receipts, terms.ratePpm) + drawnCount(rest, terms.ratePpm);
  const c = (1 - terms.collusion) * (1 - terms.lazy) * (1 - terms.miss);
  return batchDetection({ receipts: terms.jobs, lies, drawn }, c);
}
