/** The simulator against the formulas. Seeds are fixed, and every tolerance is a number of standard deviations. */
import { describe, expect, it } from 'vitest';
import { checkerProfit } from './checkers.js';
import { batchDetection } from './detection.js';
import { bondForJobs, expectedProfit, findingChance, leastStake, PERFECT_CHECKERS } from './incentives.js';
import { RandomStream } from './random-stream.js';
import { parseRational, rational, toNumber } from './rational.js';
import { seasonDetection, simulateSeason, simulateSeasons, type MarketTerms } from './simulate.js';

const refused = expect.objectContaining({ code: 'ECONOMICS_INVALID' });
/** Two-sided, less than one in 15,000 for one comparison by chance. */
const SIGMAS = 4;

const market: MarketTerms = {
  price: 100n,
  work: 80n,
  gain: 80n,
  stake: 2_500n,
  bond: 'job',
  jobs: 2_500,
  receipts: 16,
  ratePpm: 50_000,
  collusion: 0,
  miss: 0,
  falseAlarm: 0,
  lazy: 0,
  canaryRate: 0,
  positionsCatch: 0,
};

describe('random numbers', () => {
  it('are those of the published generator, in bigints', () => {
    // xoshiro128** from the state 1, 2, 3, 4, as its authors give it.
    const published = reference([1n, 2n, 3n, 4n]);
    expect(Array.from({ length: 4 }, () => published())).toEqual([11520n, 0n, 5927040n, 70819200n]);
    for (const seed of [0, 1, 7, 2 ** 32 - 1]) {
      const stream = new RandomStream(seed);
      const slow = reference(splitmix(BigInt(seed)));
      for (let i = 0; i < 200; i++) expect(BigInt(stream.word())).toBe(slow());
    }
  });

  it('are uniform enough', () => {
    const stream = new RandomStream(7);
    const n = 100_000;
    const counts = new Uint32Array(10);
    for (let i = 0; i < n; i++) counts[stream.below(10)]!++;
    const chiSquare = counts.reduce((sum, count) => sum + (count - n / 10) ** 2 / (n / 10), 0);
    // Nine degrees of freedom: above 33.7 in one of 10,000 cases.
    expect(chiSquare).toBeLessThan(33.7);
  });
});

const word = (value: bigint): bigint => BigInt.asUintN(32, value);

function splitmix(seed: bigint): bigint[] {
  let mixed = seed;
  return [0, 1, 2, 3].map(() => {
    mixed = word(mixed + 0x9e3779b9n);
    let z = mixed;
    z = word((z ^ (z >> 16n)) * 0x21f0aaadn);
    z = word((z ^ (z >> 15n)) * 0x735a2d97n);
    return z ^ (z >> 15n);
  });
}

function reference(s: bigint[]): () => bigint {
  const rotate = (value: bigint, by: bigint): bigint => word(value << by) | (value >> (32n - by));
  return () => {
    const result = word(rotate(word(s[1]! * 5n), 7n) * 9n);
    const shifted = word(s[1]! << 9n);
    s[2]! ^= s[0]!;
    s[3]! ^= s[1]!;
    s[1]! ^= s[2]!;
    s[0]! ^= s[3]!;
    s[2]! ^= shifted;
    s[3] = rotate(s[3]!, 11n);
    return result;
  };
}

describe('detection', () => {
  it.each([
    [16, 1, 62_500, 0, 0],
    [64, 3, 100_000, 0, 0],
    [64, 20, 100_000, 0.3, 0.2],
    [200, 5, 20_000, 0.1, 0.5],
    [8, 8, 125_000, 0.5, 0],
  ])(
    '%i receipts, %i lies, %i ppm, r = %d, beta = %d: as often as the formula says',
    (jobs, lies, ratePpm, collusion, miss) => {
      const terms = { ...market, jobs, receipts: jobs, ratePpm, collusion, miss };
      const seeds = 20_000;
      const { caught } = simulateSeasons(terms, lies, seeds);
      const drawn = Math.ceil((jobs * ratePpm) / 1e6);
      const q = batchDetection({ receipts: jobs, lies, drawn }, (1 - collusion) * (1 - miss));
      expect(Math.abs(caught / seeds - q)).toBeLessThan(SIGMAS * Math.sqrt((q * (1 - q)) / seeds));
      expect(seasonDetection(terms, lies)).toBeCloseTo(q, 12);
    },
  );

  it('a season of many batches is one urn', () => {
    const terms = { ...market, jobs: 250, collusion: 0.2 };
    const { caught, seeds } = simulateSeasons(terms, 7, 20_000);
    const q = seasonDetection(terms, 7);
    expect(Math.abs(caught / seeds - q)).toBeLessThan(SIGMAS * Math.sqrt((q * (1 - q)) / seeds));
  });
});

describe('the condition for honesty', () => {
  it.each([
    ['5%', '0', '0', '0'],
    ['10%', '20%', '10%', '0'],
    ['20%', '10%', '0', '1%'],
  ])(
    'p = %s, r = %s, beta = %s, alpha = %s: profits are as expected, and cross at the least stake',
    (p, r, beta, alpha) => {
      const share = (text: string) => parseRational('share', text);
      const job = {
        ...PERFECT_CHECKERS,
        price: 100n,
        work: 80n,
        gain: 80n,
        collusion: share(r),
        miss: share(beta),
        falseAlarm: share(alpha),
      };
      const least = leastStake(job, share(p))!;
      // A batch of 20 with one lie is drawn from at exactly p.
      const seeds = 40_000;
      for (const [stake, sign] of [
        [(least * 13n) / 10n, -1],
        [(least * 7n) / 10n, 1],
      ] as const) {
        const terms: MarketTerms = {
          ...market,
          stake,
          jobs: 20,
          receipts: 20,
          ratePpm: Math.round(1e6 * toNumber(share(p))),
          collusion: toNumber(share(r)),
          miss: toNumber(share(beta)),
          falseAlarm: toNumber(share(alpha)),
        };
        const { seasons } = simulateSeasons(terms, 1, seeds);
        const { honest, cheating } = expectedProfit(job, share(p), stake);
        // The other 19 work honestly.
        const expected = 19 * toNumber(honest) + toNumber(cheating);
        const profits = seasons.map(({ profit }) => Number(profit));
        const mean = profits.reduce((a, b) => a + b, 0) / seeds;
        const sd = Math.sqrt(profits.reduce((sum, profit) => sum + (profit - mean) ** 2, 0) / (seeds - 1));
        const error = sd / Math.sqrt(seeds);
        // The formula has no false alarm on a lie that the audit missed, and the simulator none either.
        expect(Math.abs(mean - expected)).toBeLessThan(SIGMAS * error);
        expect(Math.sign(mean - 20 * toNumber(honest))).toBe(sign);
      }
    },
  );

  it('one bond over a batch: whatever number of lies a cheat chooses, none brings more than the sampling error', () => {
    const jobs = 20;
    const q = findingChance(PERFECT_CHECKERS, rational(1n, 10n));
    const bond = bondForJobs(80n, q, jobs)!;
    const terms: MarketTerms = {
      ...market,
      price: 0n,
      work: 0n,
      stake: bond,
      bond: 'batch',
      jobs,
      receipts: jobs,
      ratePpm: 100_000,
    };
    const seeds = 4_000;
    for (let lies = 1; lies <= jobs; lies++) {
      const mean = Number(simulateSeasons(terms, lies, seeds).meanGain);
      const found = batchDetection({ receipts: jobs, lies, drawn: 2 });
      const error = (Number(bond) * Math.sqrt(found * (1 - found))) / Math.sqrt(seeds);
      expect(mean).toBeLessThanOrEqual(SIGMAS * error + 1);
    }
    // With half of the bond, all lies at once pay.
    expect(simulateSeasons({ ...terms, stake: bond / 2n }, jobs, seeds).meanGain).toBeGreaterThan(0n);
  });
});

describe('lazy checkers', () => {
  it('let lies pass until canaries or positions have found them out', () => {
    const lazy = { ...market, jobs: 40_000, lazy: 1, ratePpm: 500_000 };
    const without = simulateSeason(lazy, 400, 1);
    expect(without).toMatchObject({ foundLies: 0, lazyFoundOut: 0, copied: without.audits });
    const canaries = simulateSeason({ ...lazy, canaryRate: 0.05 }, 400, 1);
    expect(canaries.lazyFoundOut).toBeGreaterThan(500);
    expect(canaries.foundLies).toBeGreaterThan(0);
    expect(canaries.copied).toBeLessThan(without.copied);
    // Canaries are that share of all checks.
    const share = canaries.canaries / (canaries.canaries + canaries.audits);
    expect(Math.abs(share - 0.05)).toBeLessThan(SIGMAS * Math.sqrt((0.05 * 0.95) / canaries.audits));
    const positions = simulateSeason({ ...lazy, positionsCatch: 0.95 }, 400, 1);
    expect(positions.foundLies).toBeGreaterThan(canaries.foundLies);
  });

  it('lose what the formula says: found out once in m + (1 - m) s of their checks', () => {
    // So many lazy ones that none is missed: the pool of 1,000 is refilled by taking a short season.
    const [m, s] = [0.02, 0.1];
    let [foundOut, checks] = [0, 0];
    for (let seed = 1; seed <= 2_000; seed++) {
      const season = simulateSeason(
        { ...market, jobs: 32, receipts: 32, ratePpm: 1_000_000, lazy: 1, canaryRate: m, positionsCatch: s },
        0,
        seed,
      );
      foundOut += season.lazyFoundOut;
      checks += season.copied + season.canaries;
    }
    const u = m + (1 - m) * s;
    expect(Math.abs(foundOut / checks - u)).toBeLessThan(SIGMAS * Math.sqrt((u * (1 - u)) / checks) + 0.002);
    const pay = { fee: 100n, checkCost: 10n, bounty: 0n, deposit: 900n };
    const { computing, copying } = checkerProfit({
      ...pay,
      canaryRate: rational(2n, 100n),
      positionsCatch: rational(1n, 10n),
    });
    expect(toNumber(copying)).toBeCloseTo(100 * (1 - u) - 900 * u, 9);
    expect(toNumber(computing)).toBe(90);
  });
});

describe('a season of 10,000 requests over four executors, of which one lies on 1 %', () => {
  const lies = 25;

  it('at 30 %: the cheat ends poorer in every one of 100 seeds', () => {
    const seasons = simulateSeasons({ ...market, ratePpm: 300_000 }, lies, 100);
    expect(seasons).toMatchObject({ poorer: 100, caught: 100 });
    expect(seasonDetection({ ...market, ratePpm: 300_000 }, lies)).toBeGreaterThan(0.9999);
  });

  it('at 5 %: in as many as the formula says, and much poorer on average', () => {
    const seasons = simulateSeasons(market, lies, 1_000);
    const { caught, poorer, meanGain, seeds } = seasons;
    expect(poorer).toBe(caught);
    const q = seasonDetection(market, lies);
    expect(Math.abs(caught / seeds - q)).toBeLessThan(SIGMAS * Math.sqrt((q * (1 - q)) / seeds));
    expect(meanGain).toBeLessThan(0n);
  });
});

it('refuses numbers that are no market', () => {
  expect(() => simulateSeason({ ...market, ratePpm: 0 }, 1, 1)).toThrow(refused);
  expect(() => simulateSeason(market, 2_501, 1)).toThrow(/^lies: expected a whole number from 0 to 2500/);
  expect(() => simulateSeason({ ...market, miss: 1.5 }, 1, 1)).toThrow(/^miss/);
  expect(() => simulateSeason({ ...market, canaryRate: 1 }, 1, 1)).toThrow(/^canaryRate/);
  expect(() => simulateSeasons(market, 1, 0)).toThrow(/^seeds/);
});
