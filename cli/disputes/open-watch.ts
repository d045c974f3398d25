/** A watcher with everything that its flags name, for as long as a command needs it. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseUnits, type Wallet } from 'ethers';
import type { Command } from 'commander';
import { AssayError } from '../../common/errors.js';
import { ENGINE_NAMES } from '../../executor/index.js';
import type { ProductionEngineName } from '../../executor/engines.js';
import { AnsweringService } from '../../fraud-proofs/answer/answering-service.js';
import { ChainScan } from '../../fraud-proofs/watch/chain-scan.js';
import { Judge } from '../../fraud-proofs/watch/judge.js';
import { MemoryKeep, type Keep } from '../../fraud-proofs/watch/keep.js';
import { Metrics } from '../../fraud-proofs/watch/metrics.js';
import { readOrder } from '../../fraud-proofs/watch/read-order.js';
import { Sender } from '../../fraud-proofs/watch/sender.js';
import { traceServer, type FileSource } from '../../fraud-proofs/watch/sources.js';
import { Watcher } from '../../fraud-proofs/watch/watcher.js';
import type { Hex } from '../../receipts/types.js';
import { accountKey, withKeyOption, type KeyFlags } from '../settlement/account-key.js';
import {
  address,
  withChainOptions,
  withDeployment,
  type ChainFlags,
  type Deployment,
} from '../settlement/open-deployment.js';
import { wholeNumber } from '../commands/common-options.js';
import { readBundles, type KnownBundles } from './bundles.js';
import { openEngineOf } from './engine-of.js';
import { FileKeep } from './file-keep.js';
import { inputFolder } from './file-sources.js';
import { readFloor } from './floor-file.js';
import { stepLimits } from './step-limits.js';

export type Act = 'challenge' | 'defend';

export interface SourceFlags extends ChainFlags {
  bundles: string[];
  inputs?: string;
  traces: string[];
  engine?: ProductionEngineName;
  fromBlock: number;
}

export interface WatchFlags extends SourceFlags, KeyFlags {
  act?: Act;
  dryRun?: boolean;
  as?: Hex;
  state: string;
  maxFee?: string;
}

export interface OpenedWatch {
  readonly deployment: Deployment;
  readonly scan: ChainScan;
  readonly watcher: Watcher;
  readonly metrics: Metrics;
  readonly bundles: KnownBundles;
  readonly engine: { readonly name: string; readonly deviceClass: string };
  /** In whose name moves are planned; null: none are. */
  readonly own: Hex | null;
}

const collect = (value: string, previous: string[]): string[] => [...previous, value];

export const withSourceOptions = (command: Command): Command =>
  withChainOptions(command)
    .option('--bundles <paths...>', 'models that you hold: bundles (.assay), and folders of them', [])
    .option('--inputs <folder>', 'inputs by their root, as in 3f..9a.input')
    .option('--traces <url>', 'a server of traces and inputs (`assay answer --serve`); may be given again', collect, [])
    .option('--engine <name>', `re-executes on it: ${ENGINE_NAMES.join(', ')} (default: the first that works here)`)
    .option('--from-block <number>', 'first block to look at: that of the deployment', wholeNumber, 0);

export const withWatchOptions = (command: Command): Command =>
  withKeyOption(withSourceOptions(command))
    .option('--act <side>', 'challenge: demand, prove and collect; defend: answer for claims that are right')
    .option('--dry-run', 'with --act: say what would be sent, what it costs and earns, and send nothing')
    .option('--as <address>', 'with --dry-run: the account that would act, without its key', address)
    .option('--state <folder>', 'salts of announcements and the cursor', join('.assay', 'watch'))
    .option('--max-fee <gwei>', 'most that is offered for a unit of gas');

/** @throws AssayError CONFIG_INVALID */
export function checkFlags(flags: WatchFlags): void {
  const refuse = (flag: string, why: string, mend: string): AssayError =>
    new AssayError('CONFIG_INVALID', `${flag}: ${why}`, { mend, meta: { flag } });
  if (flags.act !== undefined && flags.act !== 'challenge' && flags.act !== 'defend')
    throw refuse(
      '--act',
      `expected challenge or defend, found "${String(flags.act).slice(0, 80)}"`,
      'Give one of the two.',
    );
  if (flags.engine !== undefined && !ENGINE_NAMES.includes(flags.engine))
    throw refuse(
      '--engine',
      `there is no engine "${String(flags.engine).slice(0, 80)}"`,
      `Give one of ${ENGINE_NAMES.join(', ')}.`,
    );
  if (flags.dryRun === true && flags.act === undefined)
    throw refuse('--dry-run', 'without --act nothing would be sent anyway', 'Give --act too, or leave it out.');
  if (flags.as !== undefined && flags.dryRun !== true)
    throw refuse('--as', 'an account without its key cannot act', 'Give --dry-run too, or the key with --key-file.');
}

/**
 * Opens everything for as long as `use` takes.
 * @throws AssayError CONFIG_INVALID, JOURNAL_LOCKED (another watcher has the folder), CHAIN_UNAVAILABLE, CHAIN_MISMATCH ...
 */
export async function withWatch<T>(flags: WatchFlags, use: (opened: OpenedWatch) => Promise<T>): Promise<T> {
  checkFlags(flags);
  const acts = flags.act !== undefined;
  const signer = acts && flags.as === undefined ? accountKey(flags) : undefined;
  const own = signer === undefined ? (flags.as ?? null) : (signer.address.toLowerCase() as Hex);
  const bundles = readBundles(flags.bundles);
  return withDeployment(
    flags,
    async (deployment) => {
      const sends = acts && flags.dryRun !== true;
      const keep = sends ? await openKeep(flags.state, deployment, own!) : null;
      const engine = await openEngineOf(flags.engine ?? null);
      try {
        const { context, rollup, escrow } = deployment;
        const fromBlock = Math.max(flags.fromBlock, await readFloor(flags.state, deployment));
        const scan = new ChainScan({
          context,
          rollup,
          escrow,
          fromBlock,
          mine: ({ demander, answer }) => own !== null && (demander === own || answer?.sender === own),
        });
        const judge = new Judge({
          models: bundles.models,
          sources: sourcesOf(flags),
          engine: engine.run,
          maxContraction: stepLimits(deployment.provider),
        });
        const metrics = new Metrics();
        const place = {
          provider: deployment.provider,
          domain: deployment.domain,
          escrow: escrow.address,
          fromBlock: flags.fromBlock,
        };
        const sender = sends ? senderOf(signer!, deployment, flags.maxFee) : null;
        const defender =
          flags.act !== 'defend' || sender === null
            ? null
            : new AnsweringService({
                domain: deployment.domain,
                executor: null,
                helps: (seen) => judge.traceOf(seen) !== null,
                traceOf: async (seen) => judge.traceOf(seen),
                maxContraction: stepLimits(deployment.provider),
                sender,
              });
        const watcher = new Watcher({
          scan,
          escrow,
          judge,
          keep: keep ?? new MemoryKeep(),
          orderOf: (orderHash) => readOrder(place, orderHash),
          metrics,
          own: flags.act === 'challenge' ? own : null,
          sender,
          defender,
          dryRun: flags.dryRun === true,
        });
        return await use({ deployment, scan, watcher, metrics, bundles, engine, own });
      } finally {
        await engine.close();
        await keep?.close();
      }
    },
    signer,
  );
}

/** One folder for an account on a deployment. */
async function openKeep(state: string, { domain }: Deployment, own: Hex): Promise<Keep & { close(): Promise<void> }> {
  const folder = join(state, `${domain.chainId}-${domain.verifyingContract.slice(2, 10)}-${own.slice(2, 10)}`);
  mkdirSync(folder, { recursive: true });
  return FileKeep.open(folder);
}

export function sourcesOf({ inputs, traces }: Pick<SourceFlags, 'inputs' | 'traces'>): FileSource[] {
  return [...(inputs === undefined ? [] : [inputFolder(inputs)]), ...traces.map(traceServer)];
}

export function senderOf(signer: Wallet, { provider }: Deployment, maxFee: string | undefined): Sender {
  const limit = maxFee === undefined ? null : gwei(maxFee);
  return new Sender(signer.connect(provider), signer.address.toLowerCase() as Hex, { maxFeeWei: limit });
}

function gwei(text: string): bigint {
  if (/^\d{1,12}(\.\d{1,9})?$/.test(text)) return parseUnits(text, 'gwei');
  throw new AssayError('CONFIG_INVALID', `--max-fee: expected a number of gwei, found "${text.slice(0, 80)}"`, {
    mend: 'Give a decimal number, as in 25 or 0.5.',
    meta: { flag: '--max-fee' },
  });
}
