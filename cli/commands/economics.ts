import { Command } from 'commander';
import { PPM } from '../../sampler/index.js';
import {
  bondForJobs,
  ceil,
  checkCount,
  checkerProfit,
  conviction,
  countBand,
  coverageOf,
  expectedProfit,
  findingChance,
  floor,
  gainOfLies,
  incentivesOf,
  largestStake,
  leastCanaryRatePpm,
  leastFee,
  leastRatePpm,
  leastStake,
  lockForStake,
  multiply,
  netStake,
  rateForCertainty,
  rational,
  seasonDetection,
  simulateSeasons,
  toNumber,
  type Rational,
} from '../../sampler/economics/index.js';
import {
  amountText,
  FIELDS,
  flagOf,
  marketOf,
  readQuestion,
  type Field,
  type Given,
  type Question,
} from '../economics-question.js';
import { EXIT } from '../exit-codes.js';
import { table } from '../terminal.js';
import { terminalOf, wholeNumber } from './common-options.js';

const EXAMPLES = `
Examples:
  assay economics --price 1 --work 0.8 --rate 5%               the least stake at which honesty is the better one
  assay economics --price 1 --work 0.8 --stake 25              the least share of jobs to draw
  assay economics --price 1 --work 0.8 --stake 25 --rate 5% --collusion 10% --miss 1%   does that do? exit code 0 or 1
  assay economics --price 1 --work 0.8 --stake 25 --rate 5% --simulate 100   play it: 2,500 jobs, 25 lies, 100 seeds
  assay economics question.json --check-cost 0.05 --fee 0.05 --bounty 12 --deposit 1 --canaries 1%

Amounts are decimal numbers of one unit, whichever; shares are 0.05, 5% or 1/20. A file holds the same names in camelCase,
as in {"price": "1", "falseAlarm": "1/100000"}. docs/economics.md has the formulas.

Exit codes: 0 honesty is the better one, or no stake and rate were given together; 1 it is not; 2 wrong input.`;

/** Rates of the table, in percent. */
const RATES = [1, 2, 5, 10, 20, 30, 50, 100];
/** The chance with which the simulated number of lies may all escape, in the line on certainty. */
const ESCAPE = 1e-4;
/** Of the band beside what was simulated. */
const CONFIDENCE = 0.99;
const MOST_SEEDS = 10_000;
/** Some ten million jobs are played in a second. */
const MOST_PLAYED = 1_000_000_000;

export function economicsCommand(): Command {
  const command = new Command('economics')
    .description('When honesty pays in the sampled lane: least rate, least stake, what a bond covers, pay of checkers.')
    .argument('[file]', 'the question as JSON; flags win')
    .addHelpText('after', EXAMPLES);
  for (const [name, { least, what }] of Object.entries(FIELDS) as [Field, (typeof FIELDS)[Field]][])
    command.option(
      `--${flagOf(name)} <number>`,
      least === null || least === '0' ? what : `${what} (default: ${least})`,
    );
  return command
    .option('--simulate <seeds>', 'play so many seasons with a cheat in them', wholeNumber)
    .action((file: string | undefined, flags: Given & { simulate?: number }, own: Command) => {
      const { simulate, ...given } = flags;
      const question = readQuestion(file, given);
      const answer = answerOf(question, simulate);
      terminalOf(own).result(answer, textOf(question, answer));
      if (answer.verdict !== null && !(answer.verdict.honestIsBest && answer.verdict.worthWorking))
        process.exitCode = EXIT.invalid;
    });
}

/** Amounts in the smallest unit, 10^-18; chances as numbers. */
interface Answer {
  /** Null unless both stake and rate were given. */
  readonly verdict: { readonly honestIsBest: boolean; readonly worthWorking: boolean } | null;
  /** With the rate and stake that were given, or else the least ones that do. */
  readonly rate: number | null;
  readonly stake: bigint | null;
  /** Of the stake, what a caught cheat does not get back. */
  readonly netStake: bigint | null;
  readonly leastRatePpm: number | null;
  readonly leastStake: bigint | null;
  /** Null: no limit, or nobody takes the job at any stake. */
  readonly largestStake: bigint | null;
  readonly findingChance: number | null;
  readonly profit: { readonly honest: bigint; readonly cheating: bigint } | null;
  readonly coverage: { readonly openGain: bigint; readonly jobs: number } | null;
  readonly bondForJobs: bigint | null;
  /** Expected, of a cheat who lies on all jobs under one stake: no other number of lies brings him more than this or 0. */
  readonly gainOfAllLies: bigint | null;
  readonly rates: readonly { readonly rate: number; readonly stake: bigint | null; readonly jobs: number }[];
  readonly ratePpmForCertainty: number | null;
  readonly checkers: {
    readonly computing: bigint;
    readonly copying: bigint;
    readonly leastCanaryRatePpm: number | null;
    readonly leastFee: bigint;
  } | null;
  readonly simulated: Simulated | null;
}

interface Simulated {
  readonly seeds: number;
  readonly lies: number;
  readonly poorer: number;
  readonly caught: number;
  readonly caughtByFormula: { readonly mean: number; readonly low: number; readonly high: number };
  readonly meanGain: bigint;
  readonly foundShare: number;
  readonly falseAlarms: number;
}

const ppmRate = (ppm: number): Rational => rational(BigInt(ppm), BigInt(PPM));

function answerOf(question: Question, seeds: number | undefined): Answer {
  const { job, shares, jobs, pay, season } = question;
  const netOf = (stake: bigint): bigint => netStake(stake, shares);
  const gross = (net: bigint | null): bigint | null => (net === null ? null : lockForStake(net, shares));
  const leastPpm = question.stake === null ? null : leastRatePpm(job, netOf(question.stake));
  const rate = question.rate ?? (leastPpm === null ? null : ppmRate(leastPpm));
  const least = rate === null ? null : gross(leastStake(job, rate));
  const stake = question.stake ?? least;
  const net = stake === null ? null : netOf(stake);
  const q = rate === null ? null : findingChance(job, rate);
  const profit = rate === null || net === null ? null : expectedProfit(job, rate, net);
  return {
    verdict:
      question.stake === null || question.rate === null
        ? null
        : incentivesOf(job, question.rate, netOf(question.stake)),
    rate: rate === null ? null : toNumber(rate),
    stake,
    netStake: net,
    leastRatePpm: leastPpm,
    leastStake: least,
    largestStake: rate === null || job.price <= job.work ? null : largestStake(job, rate),
    findingChance: q === null ? null : toNumber(q),
    profit: profit && { honest: floor(profit.honest), cheating: floor(profit.cheating) },
    coverage: q === null || net === null ? null : coverageOf(job.gain, q, net),
    bondForJobs: q === null ? null : gross(bondForJobs(job.gain, q, jobs)),
    gainOfAllLies: q === null || net === null ? null : floor(gainOfLies(job.gain, q, net, jobs)),
    rates: RATES.map((percent) => {
      const at = rational(BigInt(percent), 100n);
      return {
        rate: percent / 100,
        stake: gross(leastStake(job, at)),
        jobs: net === null ? 0 : coverageOf(job.gain, findingChance(job, at), net).jobs,
      };
    }),
    ratePpmForCertainty: rateForCertainty(season.lies, ESCAPE, toNumber(conviction(job))),
    checkers: pay && {
      computing: floor(checkerProfit(pay).computing),
      copying: floor(checkerProfit(pay).copying),
      leastCanaryRatePpm: leastCanaryRatePpm(pay),
      leastFee: leastFee(pay).withCanaries,
    },
    simulated: seeds === undefined || rate === null || net === null ? null : simulated(question, rate, net, seeds),
  };
}

function simulated(question: Question, rate: Rational, net: bigint, seeds: number): Simulated {
  checkCount('simulate', seeds, 1, MOST_SEEDS);
  checkCount('simulate * season-jobs', seeds * question.season.jobs, 1, MOST_PLAYED);
  const market = marketOf(question, Math.max(1, Number(ceil(multiply(rate, rational(BigInt(PPM)))))), net);
  const { lies, seed } = question.season;
  const { poorer, caught, meanGain, seasons } = simulateSeasons(market, lies, seeds, seed);
  const { mean, low, high } = countBand(Array<number>(seeds).fill(seasonDetection(market, lies)), CONFIDENCE);
  const found = seasons.reduce((sum, season) => sum + season.foundLies, 0);
  return {
    seeds,
    lies,
    poorer,
    caught,
    caughtByFormula: { mean, low, high },
    meanGain,
    foundShare: found / (seeds * lies),
    falseAlarms: seasons.reduce((sum, season) => sum + season.falseAlarms, 0),
  };
}

const amountOr = (amount: bigint | null, none: string): string => (amount === null ? none : amountText(amount));
const percentText = (ppm: number | null): string => (ppm === null ? 'none does' : `${ppm / 10_000} %`);

function textOf({ job, jobs, season }: Question, answer: Answer): string {
  const rows: string[][] = [];
  const row = (what: string, value: string): void => void rows.push([what, value]);
  if (answer.leastRatePpm !== null || answer.rate === null)
    row('least rate at this stake', percentText(answer.leastRatePpm));
  row(
    `least stake at ${answer.rate === null ? 'no rate' : percentText(answer.rate * PPM)}`,
    amountOr(answer.leastStake, 'none does'),
  );
  if (answer.netStake !== answer.stake) row('of the stake, lost for good', amountOr(answer.netStake, '-'));
  if (job.falseAlarm.numerator !== 0n)
    row(
      'largest stake that honest work bears',
      amountOr(answer.largestStake, job.price > job.work ? 'no limit' : 'none'),
    );
  if (answer.findingChance !== null) row('chance that a lie is drawn and found', answer.findingChance.toPrecision(6));
  if (answer.profit !== null) {
    row('profit of a job, honest', amountText(answer.profit.honest));
    row('profit of a job, cheating', amountText(answer.profit.cheating));
  }
  if (answer.coverage !== null) {
    row('open gain that one stake covers, however divided', amountText(answer.coverage.openGain));
    row('jobs of this gain that one stake covers', String(answer.coverage.jobs));
  }
  row(`bond over ${jobs} ${jobs === 1 ? 'job' : 'jobs'}`, amountOr(answer.bondForJobs, 'none does'));
  if (answer.gainOfAllLies !== null)
    row(
      `lies on ${jobs === 1 ? 'one job' : `all ${jobs} jobs`} under one stake bring`,
      amountText(answer.gainOfAllLies),
    );
  row(`rate at which ${season.lies} lies escape once in 10,000 seasons`, percentText(answer.ratePpmForCertainty));
  const parts = [
    table(['', ''], rows).split('\n').slice(2).join('\n'),
    table(
      ['rate', 'least stake', 'jobs that the stake covers'],
      answer.rates.map(({ rate, stake, jobs: covered }) => [
        `${rate * 100} %`,
        amountOr(stake, 'none does'),
        answer.netStake === null ? '-' : String(covered),
      ]),
    ),
  ];
  if (answer.checkers !== null) {
    const { computing, copying, leastCanaryRatePpm: canaries, leastFee: fee } = answer.checkers;
    parts.push(
      `A checker earns ${amountText(computing)} an audit by computing, ${amountText(copying)} by copying. ` +
        `Least share of canaries at which it computes: ${percentText(canaries)}; least fee with the share at hand: ${amountText(fee)}.`,
    );
  }
  if (answer.simulated !== null) parts.push(simulatedText(answer.simulated));
  if (answer.verdict !== null) parts.push(verdictText(answer.verdict));
  return parts.join('\n\n');
}

function simulatedText({
  seeds,
  lies,
  poorer,
  caught,
  caughtByFormula: band,
  meanGain,
  foundShare,
  falseAlarms,
}: Simulated): string {
  return (
    `${seeds} seasons with ${lies} lies: the cheat ends poorer than an honest executor in ${poorer}. ` +
    `Caught in ${caught}; by the formula ${band.mean.toFixed(1)}, in ${100 * CONFIDENCE} % of such runs ${band.low} to ${band.high}. ` +
    `Lies found: ${(100 * foundShare).toFixed(1)} %. Mean gain of a season: ${amountText(meanGain)}.` +
    (falseAlarms === 0 ? '' : ` Honest jobs condemned: ${falseAlarms}.`)
  );
}

function verdictText({ honestIsBest, worthWorking }: NonNullable<Answer['verdict']>): string {
  if (!honestIsBest) return 'NO: a lie brings more than honest work.';
  return worthWorking
    ? 'Yes: honest work brings more than a lie.'
    : 'NO: honest work brings nothing; nobody would take the job.';
}
