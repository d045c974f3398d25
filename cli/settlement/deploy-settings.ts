/**
 * The settings of a deployment as a JSON file, which `assay deploy --print-policy` writes; README.md says what they mean.
 * Times are spans of the contract's clock (seconds, or blocks), amounts the smallest unit of the settlement token as
 * decimal strings.
 */
import { z } from 'zod';
import { AssayError } from '../../common/errors.js';
import { DEVELOPMENT_CHAIN_ID } from '../../common/development-keys.js';
import type { CourtTerms } from '../../verifier-contracts/court-terms.js';
import type { GameTerms } from '../../verifier-contracts/game-terms.js';
import type { PolicyParameters } from '../../verifier-contracts/deploy.js';
import { readInputFile } from '../files.js';
import { toJson } from '../terminal.js';

const number = z.int().min(0);
const amount = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,77})$/, 'expected a decimal string in the smallest unit of the token')
  .transform((text) => BigInt(text));

const schema = z.strictObject({
  clock: z.enum(['timestamp', 'blocknumber']),
  policyDelay: number,
  maxFreeze: number,
  coolDown: number,
  court: z.strictObject({ beaconDelay: number, auditWindow: number, drawRatePpm: number }),
  game: z.strictObject({ window: number, maxContraction: number }),
  policy: z.strictObject({
    deliveryWindow: number,
    answerTime: number,
    responseTime: number,
    precommitDelay: number,
    minDeliver: number,
    bountyOpenBps: number,
    bountyAuditBps: number,
    protocolFeeBps: number,
    lockFactorBps: number,
    minLock: amount,
    noShowFee: amount,
    auditFee: amount,
    unitPrice: amount,
    gasKill: number,
    gasAnswer: number,
    gasAnswerByte: number,
  }),
});

export interface DeploySettings {
  readonly clock: 'timestamp' | 'blocknumber';
  readonly policyDelay: number;
  readonly maxFreeze: number;
  readonly coolDown: number;
  /** Of the sampled lane's court, if it has one. */
  readonly court: Omit<CourtTerms, 'quorum' | 'auditors'>;
  /** Of the optimistic lane's game, if it has one. */
  readonly game: GameTerms & {
    /** Products that one step on chain may have; a longer contraction is judged by stated sums. */
    readonly maxContraction: number;
  };
  readonly policy: PolicyParameters;
}

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** For a token of 18 decimals that is worth what gas is paid in, at about 2 gwei: a lock of at least two hundredths. */
export const DEFAULT_SETTINGS: DeploySettings = {
  clock: 'timestamp',
  policyDelay: 7 * DAY,
  maxFreeze: 7 * DAY,
  coolDown: 30 * DAY,
  // A twentieth is audited; three blocks behind the commit nobody can have known the draw.
  court: { beaconDelay: 3, auditWindow: DAY, drawRatePpm: 50_000 },
  // 16,384 products cost about 2 M gas, an eighth of the largest transaction.
  game: { window: DAY, maxContraction: 16_384 },
  policy: {
    deliveryWindow: DAY,
    answerTime: 6 * HOUR,
    responseTime: HOUR,
    precommitDelay: 60,
    minDeliver: HOUR,
    bountyOpenBps: 1_000,
    bountyAuditBps: 5_000,
    protocolFeeBps: 100,
    // Found out with a chance of a twentieth, a lie must cost more than twenty prices.
    lockFactorBps: 500_000,
    minLock: 2n * 10n ** 16n,
    noShowFee: 10n ** 15n,
    auditFee: 10n ** 14n,
    unitPrice: 2n * 10n ** 9n,
    // A fault of a small model, proved; larger ones cost their finder more than comes back as gas, and less than the bounty.
    gasKill: 700_000,
    gasAnswer: 150_000,
    gasAnswerByte: 100,
  },
};

export const formatSettings = (settings: DeploySettings): string => `${toJson(settings)}\n`;

/** @throws AssayError FILE_NOT_FOUND, POLICY_INVALID naming the field */
export function readSettings(path: string): DeploySettings {
  const invalid = (found: string): AssayError =>
    new AssayError('POLICY_INVALID', `${path}: ${found}`, {
      mend: '`assay deploy --print-policy` prints a complete one.',
      meta: { file: path },
    });
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(readInputFile(path)));
  } catch (cause) {
    if (cause instanceof AssayError) throw cause;
    throw invalid(`not JSON: ${(cause as Error).message}`);
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw invalid(`${issue.path.join('.') || 'file'}: ${issue.message.slice(0, 300)}`);
}

/** Block numbers are the clock of chains with slots of twelve seconds. */
const SLOT_SECONDS = 12;

/**
 * The escrow's limits outside the development chain, before any gas is spent.
 * @throws AssayError POLICY_INVALID
 */
export function checkTimes({ clock, policyDelay, maxFreeze, coolDown }: DeploySettings, chainId: bigint): void {
  if (chainId === DEVELOPMENT_CHAIN_ID) return;
  const days = (span: number): number => (span * (clock === 'timestamp' ? 1 : SLOT_SECONDS)) / DAY;
  const check = (field: string, holds: boolean, expected: string): void => {
    if (!holds)
      throw new AssayError('POLICY_INVALID', `${field}: expected ${expected} on chain ${chainId}`, { meta: { field } });
  };
  check('policyDelay', days(policyDelay) >= 7, 'at least 7 days');
  check('maxFreeze', days(maxFreeze) <= 7, 'at most 7 days');
  check('coolDown', days(coolDown) >= 30, 'at least 30 days');
}
