/** What `assay economics` is asked: numbers from a JSON file, from flags, or both; a flag wins. */
import { z } from 'zod';
import { AssayError } from '../common/errors.js';
import {
  checkCount,
  checkShare,
  colludingShare,
  parseRational,
  toNumber,
  type CheckerPay,
  type JobTerms,
  type LockShares,
  type MarketTerms,
  type Rational,
} from '../sampler/economics/index.js';
import { readInputFile } from './files.js';

/** Digits behind the point of an amount; one more than any token has would change no answer. */
const DECIMALS = 18;

/** Every number of a question, with its default and what it is. An amount is in whatever unit the asker counts in. */
export const FIELDS = {
  price: { kind: 'amount', least: null, what: 'R: what a job brings' },
  work: { kind: 'amount', least: null, what: 'C: what honest work on it costs' },
  gain: {
    kind: 'amount',
    least: null,
    what: 'G: what a lie brings that is not found (default: the work that it saves)',
  },
  stake: { kind: 'amount', least: null, what: 'what an executor stakes on a job' },
  recoverable: {
    kind: 'share',
    least: '0',
    what: 'share of the stake that a cheat gets back by giving himself up: the open bounty',
  },
  gasRefund: { kind: 'amount', least: '0', what: 'what he gets back beside it for the gas of the call' },
  rate: { kind: 'share', least: null, what: 'p: share of jobs that are drawn' },
  collusion: { kind: 'share', least: '0', what: 'r: share of checkers that collude' },
  checkers: { kind: 'count', least: '1', what: 'independent checkers of a drawn job, who must all collude' },
  miss: { kind: 'share', least: '0', what: 'beta: chance that a check misses a lie' },
  falseAlarm: { kind: 'share', least: '0', what: 'alpha: chance that a check condemns honest work' },
  lazy: { kind: 'share', least: '0', what: 'share of checkers that copy instead of computing' },
  jobs: { kind: 'count', least: '1', what: 'jobs that one bond is to cover' },
  checkCost: { kind: 'amount', least: null, what: 'what a re-execution costs: asks for the pay of checkers too' },
  fee: { kind: 'amount', least: '0', what: 'fee of an audit' },
  bounty: { kind: 'amount', least: '0', what: 'for a checker who finds a lie' },
  deposit: { kind: 'amount', least: '0', what: 'what a checker loses when found out' },
  canaries: { kind: 'share', least: '0', what: 'share of audits that are canaries' },
  positions: { kind: 'share', least: '0', what: 'chance that drawn positions find out a copied answer' },
  seasonJobs: { kind: 'count', least: '2500', what: 'simulation: jobs of the executor in one season' },
  batch: { kind: 'count', least: '16', what: 'simulation: its receipts in one batch' },
  lies: { kind: 'count', least: '25', what: 'simulation: lies in one season' },
  seed: { kind: 'count', least: '1', what: 'simulation: the first seed' },
} as const satisfies Record<string, { kind: 'amount' | 'share' | 'count'; least: string | null; what: string }>;

export type Field = keyof typeof FIELDS;
export type Given = Partial<Record<Field, string>>;

const NAMES = Object.keys(FIELDS) as Field[];
const file = z.strictObject(
  Object.fromEntries(NAMES.map((name) => [name, z.union([z.string(), z.number()]).optional()])),
);

export interface Question {
  readonly job: JobTerms;
  /** Gross of what is recoverable; null where it is asked for. */
  readonly stake: bigint | null;
  readonly shares: LockShares;
  readonly rate: Rational | null;
  readonly jobs: number;
  /** Null where nothing is asked about checkers. */
  readonly pay: CheckerPay | null;
  readonly season: { readonly jobs: number; readonly batch: number; readonly lies: number; readonly seed: number };
}

/** @throws AssayError FILE_NOT_FOUND, CONFIG_INVALID (no JSON, or a name that there is not), ECONOMICS_INVALID */
export function readQuestion(path: string | undefined, flags: Given): Question {
  const given: Given = { ...(path === undefined ? {} : readGiven(path)), ...flags };
  const text = (name: Field): string | null => given[name] ?? FIELDS[name].least;
  const amount = (name: Field): bigint | null => {
    const value = text(name);
    return value === null ? null : parseAmount(name, value);
  };
  const share = (name: Field): Rational | null => {
    const value = text(name);
    if (value === null) return null;
    const parsed = parseRational(name, value);
    checkShare(name, parsed);
    return parsed;
  };
  const count = (name: Field, most?: number): number => {
    const value = Number(text(name));
    checkCount(name, value, 1, most);
    return value;
  };
  const needed = <T>(name: Field, value: T | null): T => {
    if (value !== null) return value;
    throw new AssayError('ECONOMICS_INVALID', `${name}: not given`, {
      mend: `Give --${flagOf(name)}, ${FIELDS[name].what}; or "${name}" in the file.`,
    });
  };
  const work = needed('work', amount('work'));
  const [stake, rate] = [amount('stake'), share('rate')];
  if (stake === null && rate === null) {
    throw new AssayError('ECONOMICS_INVALID', 'stake, rate: neither is given', {
      mend: 'Give --rate to be told the least stake, --stake to be told the least rate, or both to be told whether they do.',
    });
  }
  const checkCost = amount('checkCost');
  return {
    job: {
      price: needed('price', amount('price')),
      work,
      gain: amount('gain') ?? work,
      collusion: colludingShare(share('collusion')!, count('checkers', 32)),
      miss: share('miss')!,
      falseAlarm: share('falseAlarm')!,
      lazy: share('lazy')!,
    },
    stake,
    shares: { bountyOpenBps: bpsOf('recoverable', share('recoverable')!), gasRefund: amount('gasRefund')! },
    rate,
    jobs: count('jobs', 100_000),
    pay:
      checkCost === null
        ? null
        : {
            checkCost,
            fee: amount('fee')!,
            bounty: amount('bounty')!,
            deposit: amount('deposit')!,
            canaryRate: share('canaries')!,
            positionsCatch: share('positions')!,
          },
    season: { jobs: count('seasonJobs'), batch: count('batch'), lies: count('lies'), seed: count('seed', 2 ** 32 - 1) },
  };
}

/** The market that a question describes. @param net what a caught cheat loses */
export function marketOf({ job, season, pay }: Question, ratePpm: number, net: bigint): MarketTerms {
  return {
    price: job.price,
    work: job.work,
    gain: job.gain,
    stake: net,
    bond: 'job',
    jobs: season.jobs,
    receipts: season.batch,
    ratePpm,
    collusion: toNumber(job.collusion),
    miss: toNumber(job.miss),
    falseAlarm: toNumber(job.falseAlarm),
    lazy: toNumber(job.lazy),
    canaryRate: pay === null ? 0 : toNumber(pay.canaryRate),
    positionsCatch: pay === null ? 0 : toNumber(pay.positionsCatch),
  };
}

export const flagOf = (name: Field): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function readGiven(path: string): Given {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(readInputFile(path)));
  } catch (cause) {
    if (cause instanceof AssayError) throw cause;
    throw new AssayError('CONFIG_INVALID', `${path}: expected JSON`, { cause, mend: 'Correct the file.' });
  }
  const parsed = file.safeParse(json);
  if (!parsed.success) {
    const { path: at, message } = parsed.error.issues[0]!;
    throw new AssayError('CONFIG_INVALID', `${path}: ${at.join('.') || 'the file'}: ${message}`, {
      mend: `The names are ${NAMES.join(', ')}.`,
    });
  }
  // A number as JSON writes it; one with an exponent is refused where it is read as an amount or a share.
  return Object.fromEntries(Object.entries(parsed.data).map(([name, value]) => [name, String(value)]));
}

function parseAmount(name: Field, text: string): bigint {
  const match = /^(\d{1,40})(?:\.(\d+))?$/.exec(text.trim());
  if (match === null || (match[2]?.length ?? 0) > DECIMALS) {
    throw new AssayError(
      'ECONOMICS_INVALID',
      `${name}: expected an amount such as 52.5, with at most ${DECIMALS} digits behind the point, found "${text}"`,
    );
  }
  return BigInt(match[1]! + (match[2] ?? '').padEnd(DECIMALS, '0'));
}

/** Contracts state shares of a lock in 1/10,000. */
function bpsOf(name: Field, { numerator, denominator }: Rational): number {
  const scaled = numerator * 10_000n;
  if (scaled % denominator === 0n) return Number(scaled / denominator);
  throw new AssayError(
    'ECONOMICS_INVALID',
    `${name}: expected a whole number of 1/10,000, as in 12.34%, found ${numerator}/${denominator}`,
  );
}

/** As in 52.5, without zeros at the end. */
export function amountText(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(DECIMALS + 1, '0');
  const behind = digits.slice(-DECIMALS).replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${behind === '' ? '' : `.${behind}`}`;
}
