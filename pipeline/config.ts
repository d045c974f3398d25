/** Settings of the pipeline, checked once at the boundary. */
import { z } from 'zod';
import { AssayError } from '../common/errors.js';

const positive = z.number().int().positive();

export const pipelineSettings = z.strictObject({
  /** Holds the embedded database, and inputs, outputs and traces in any case. */
  dataDirectory: z.string().min(1),
  /** PostgreSQL instead of the embedded database. */
  databaseUrl: z.string().min(1).optional(),
  /** Redis for the queue instead of the database. */
  redisUrl: z.string().min(1).optional(),
  openLanes: z
    .array(z.enum(['sampled', 'optimistic', 'zk'], { error: 'the lanes are `sampled`, `optimistic` and `zk`' }))
    .min(1)
    .default(['sampled']),
  /** An order that can be opened waits at most this long for others to be opened with. */
  openAgeMs: positive.default(500),
  batchSize: positive.max(256).default(64),
  /** A receipt waits at most this long for its batch to fill. */
  batchAgeMs: positive.default(2_000),
  /** Jobs that run at once in this process. */
  concurrency: positive.max(256).default(4),
  /** An executor or checker that takes longer on one job has vanished. */
  executeTimeoutMs: positive.default(600_000),
  /** A prover that takes longer on one job is stopped, and jobs that are predicted to take longer are refused. */
  proveTimeoutMs: positive.default(300_000),
  /** Blocks, a transaction's own included, before anything is built on it: an opening, a commit, a verdict, a payment. */
  confirmations: positive.default(1),
  /** How long a step sleeps when the chain is not ready. */
  pollMs: positive.default(250),
  /** A transaction unmined for this long is replaced by a dearer one. */
  replaceAfterMs: positive.default(60_000),
  /** How often due steps are looked for. */
  sweepMs: positive.default(500),
  /** A process whose heartbeat is older is dead, and its steps are taken up. */
  deadAfterMs: positive.default(15_000),
  /** A hint that nobody has answered for this long is given again. */
  hintAgainMs: positive.default(10_000),
});

export type PipelineSettings = z.output<typeof pipelineSettings>;
export type PipelineSettingsInput = z.input<typeof pipelineSettings>;

/** @throws AssayError CONFIG_INVALID naming the first wrong setting. */
export function parseSettings(input: unknown): PipelineSettings {
  const parsed = pipelineSettings.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const name = issue.path.join('.') || 'settings';
  throw new AssayError('CONFIG_INVALID', `${name}: ${issue.message}.`, { meta: { setting: name } });
}

/** Environment variables and the settings that they set. */
const VARIABLES = {
  ASSAY_DATA_DIR: 'dataDirectory',
  DATABASE_URL: 'databaseUrl',
  REDIS_URL: 'redisUrl',
  ASSAY_OPEN_LANES: 'openLanes',
  ASSAY_OPEN_AGE_MS: 'openAgeMs',
  ASSAY_BATCH_SIZE: 'batchSize',
  ASSAY_BATCH_AGE_MS: 'batchAgeMs',
  ASSAY_CONCURRENCY: 'concurrency',
  ASSAY_EXECUTE_TIMEOUT_MS: 'executeTimeoutMs',
  ASSAY_PROVE_TIMEOUT_MS: 'proveTimeoutMs',
  ASSAY_CONFIRMATIONS: 'confirmations',
} as const satisfies Record<string, keyof PipelineSettings>;

/**
 * Settings from environment variables, over the given defaults. An empty variable counts as unset.
 * @throws AssayError CONFIG_INVALID
 */
export function settingsFromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  defaults: Partial<PipelineSettingsInput> = {},
): PipelineSettings {
  const input: Record<string, unknown> = { ...defaults };
  for (const [variable, setting] of Object.entries(VARIABLES)) {
    const text = environment[variable];
    if (text === undefined || text === '') continue;
    if (setting === 'openLanes') input[setting] = text.split(',').map((lane) => lane.trim());
    else if (pipelineSettings.shape[setting].safeParse(text).success) input[setting] = text;
    else input[setting] = Number(text);
  }
  return parseSettings(input);
}
