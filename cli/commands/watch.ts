/** The watcher of the optimistic lane: docs/watcher.md. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { asAssayError } from '../../common/errors.js';
import { checkEvidence, formatEvidenceFile, parseEvidenceFile } from '../../fraud-proofs/watch/evidence-file.js';
import { serveMetrics } from '../../fraud-proofs/watch/metrics.js';
import { claimNamed, type PollReport } from '../../fraud-proofs/watch/watcher.js';
import { describeExplanation, explain } from '../disputes/explain.js';
import { evidenceOf } from '../disputes/evidence-of.js';
import { writeFloor } from '../disputes/floor-file.js';
import { monitorOf, monitorText } from '../disputes/monitor.js';
import {
  withSourceOptions,
  withWatch,
  withWatchOptions,
  type OpenedWatch,
  type SourceFlags,
  type WatchFlags,
} from '../disputes/open-watch.js';
import { watchFindings, type DoctorFlags } from '../disputes/watch-doctor.js';
import {
  alertText,
  claimsTable,
  claimText,
  dryRunText,
  moveText,
  pollJson,
  type TextContext,
} from '../disputes/watch-text.js';
import { EXIT, exitCodeOfVerdict } from '../exit-codes.js';
import { checkWritable, readInputFile, writeOutputFile } from '../files.js';
import { clockModeOf } from '../settlement/clock-text.js';
import { table, toJson, type Terminal } from '../terminal.js';
import { secondsFlag, terminalOf, wholeNumber } from './common-options.js';

interface LoopFlags extends WatchFlags {
  once?: boolean;
  poll: number;
  metrics?: number;
}

/** Between polls where nothing else is said: a block of twelve seconds. */
const POLL_SECONDS = 12;

const FOOTER = `
Example: assay watch --rpc http://127.0.0.1:8545 --rollup 0x... --bundles models/ --inputs inputs/
         assay watch ... --act challenge --key-file watcher.key

Exit codes with --once: 0 all claims are valid, 1 one is invalid, 3 one has no verdict, 4 the chain does not answer.
Everything is derived from the chain: it can be killed anywhere and started again. docs/watcher.md`;

export function watchCommand(): Command {
  const watch = new Command('watch').description(
    'Watch the optimistic lane: re-execute every claim; told to, challenge what is wrong.',
  );
  for (const command of [explainCommand, exportCommand, checkCommand, monitorCommand, doctorCommand])
    watch.addCommand(command());
  // `assay watch` itself: a command of its own, so that the others need not have its options.
  return watch.addCommand(runCommand(), { isDefault: true });
}

function runCommand(): Command {
  return withWatchOptions(new Command('run'))
    .description('Watch; what `assay watch` does without another command.')
    .option('--once', 'one poll, with a verdict of every claim, then end')
    .option('--poll <seconds>', 'time between polls', secondsFlag, POLL_SECONDS)
    .option('--metrics <port>', 'serve Prometheus metrics on 127.0.0.1', wholeNumber)
    .addHelpText('after', FOOTER)
    .action(async (flags: LoopFlags, own: Command) => {
      const terminal = terminalOf(own);
      await withWatch(flags, (opened) =>
        flags.once === true ? once(flags, opened, terminal) : forever(flags, opened, terminal),
      );
    });
}

async function once(flags: LoopFlags, opened: OpenedWatch, terminal: Terminal): Promise<void> {
  const report = await settledPoll(opened);
  const context = await contextOf(opened);
  const dry = flags.dryRun === true;
  terminal.result(
    pollJson(report, dry),
    [
      claimsTable(report.claims, context),
      ...report.claims.map(claimText),
      ...report.moves.map((move) => (dry ? dryRunText(move, context) : moveText(move))),
      ...report.alerts.map(alertText),
    ].join('\n'),
  );
  process.exitCode = exitCodeOf(report);
}

/** Polls until no claim is being re-executed. */
async function settledPoll({ watcher }: OpenedWatch): Promise<PollReport> {
  for (;;) {
    const report = await watcher.poll();
    if (report.claims.every(({ step }) => step.kind !== 'pending')) return report;
    await sleep(100);
  }
}

export function exitCodeOf({ claims, world }: PollReport): number {
  if (claims.some(({ verdict }) => verdict === 'invalid')) return EXIT.invalid;
  const unknown = world.unreadable.length > 0 || claims.some(({ verdict }) => verdict === 'unknown');
  return unknown ? EXIT.undetermined : EXIT.ok;
}

/** Ends with the process alone: what can fail for a while is told and tried again. */
async function forever(flags: LoopFlags, opened: OpenedWatch, terminal: Terminal): Promise<void> {
  const { watcher, scan, deployment, metrics } = opened;
  if (flags.metrics !== undefined) await serveMetrics(metrics, flags.metrics);
  const told = new Set<string>();
  const context = await contextOf(opened);
  terminal.note(
    `watching ${deployment.rollup.address} on chain ${deployment.domain.chainId} with ${opened.engine.name}`,
  );
  for (;;) {
    try {
      const report = await watcher.poll();
      if (terminal.json) process.stdout.write(`${lineOf(pollJson(report, flags.dryRun === true))}\n`);
      else tell(report, told, flags.dryRun === true ? context : null);
      await writeFloor(flags.state, deployment, scan.floor);
    } catch (thrown) {
      const error = asAssayError(thrown);
      if (error.kind !== 'infrastructure') throw error;
      if (terminal.json) process.stdout.write(`${lineOf({ error })}\n`);
      else terminal.note(`${error.message}; trying again (${error.code})`);
    }
    await sleep(flags.poll * 1000);
  }
}

const lineOf = (value: unknown): string => JSON.stringify(JSON.parse(toJson(value)));

/** What is new since it was told last. @param dry not null: moves are shown with all that sending them would take */
function tell({ claims, moves, alerts }: PollReport, told: Set<string>, dry: TextContext | null): void {
  const lines = [
    ...claims.map(claimText),
    ...moves.map((move) => (dry === null ? moveText(move) : dryRunText(move, dry))),
    ...alerts.map(alertText),
  ];
  for (const line of lines) {
    if (told.has(line)) continue;
    told.add(line);
    process.stdout.write(`${new Date().toISOString()} ${line}\n`);
  }
}

async function contextOf({ deployment: { escrow, unit } }: OpenedWatch): Promise<TextContext> {
  return { clock: clockModeOf(await escrow.clockMode()), unit };
}

const readOnly = (flags: SourceFlags): WatchFlags => ({ ...flags, state: '' });

function explainCommand(): Command {
  return withSourceOptions(new Command('explain'))
    .description(
      'Where a claim is wrong: operator, element, what was committed, what is right, and what showing it costs.',
    )
    .argument('<claim>', 'its id, or batch hash and index as in 0x3f..9a:0')
    .action(async (name: string, flags: SourceFlags, own: Command) => {
      await withWatch(readOnly(flags), async (opened) => {
        const report = await settledPoll(opened);
        const explanation = explain(claimNamed(report.claims, name));
        terminalOf(own).result(explanation, describeExplanation(explanation, await contextOf(opened)));
        process.exitCode = exitCodeOf({ ...report, claims: [explanation.report] });
      });
    });
}

function exportCommand(): Command {
  return withSourceOptions(new Command('export-evidence'))
    .description('Write the proof of a fault as a file that anybody checks offline.')
    .argument('<claim>', 'its id, or batch hash and index as in 0x3f..9a:0')
    .requiredOption('--out <file>', 'where to write it')
    .action(async (name: string, flags: SourceFlags & { out: string }, own: Command) => {
      checkWritable(flags.out);
      await withWatch(readOnly(flags), async (opened) => {
        const file = await evidenceOf(claimNamed((await settledPoll(opened)).claims, name), opened);
        writeOutputFile(flags.out, formatEvidenceFile(file));
        terminalOf(own).result(
          { out: flags.out, fault: file.fault, place: file.place },
          `${flags.out}: ${file.fault} at ${file.place.operator}`,
        );
      });
    });
}

function checkCommand(): Command {
  return new Command('check-evidence')
    .description(
      'Check a file of `export-evidence`: signatures, openings, and the step again. Needs no chain and no model.',
    )
    .argument('<file>', 'evidence (.json)')
    .action((file: string, _flags: unknown, own: Command) => {
      const evidence = parseEvidenceFile(new TextDecoder().decode(readInputFile(file)), file);
      const verdict = checkEvidence(evidence);
      const { fault, place, receipt } = evidence;
      terminalOf(own).result(
        { verdict, fault, place, executor: receipt.receipt.executor, orderHash: receipt.receipt.orderHash },
        verdict.verdict === 'valid'
          ? `valid: executor ${receipt.receipt.executor} signed a wrong result (${fault} at ${place.operator})`
          : `${verdict.verdict}: ${verdict.reason}`,
      );
      process.exitCode = exitCodeOfVerdict(verdict);
    });
}

function doctorCommand(): Command {
  return withWatchOptions(new Command('doctor'))
    .description('Is everything there to win a dispute? Keys, money, models, clock, inputs, engine, step contract.')
    .option('--disputes <count>', 'full disputes that the money must be enough for', wholeNumber, 3)
    .option(
      '--home <folder>',
      "an executor's data folder: are the traces of its open claims kept, could it answer for all?",
    )
    .action(async (flags: DoctorFlags, own: Command) => {
      const findings = await watchFindings(flags);
      terminalOf(own).result(
        findings,
        table(
          ['part', 'state', 'detail'],
          findings.map(({ part, state, detail }) => [part, state, detail]),
        ),
      );
      if (findings.some(({ state }) => state === 'broken')) process.exitCode = EXIT.invalid;
    });
}

function monitorCommand(): Command {
  return withSourceOptions(new Command('monitor'))
    .description('Look on: claims by state and forecast, demands by clock, bonds, alerts. Sends nothing, has no key.')
    .action(async (flags: SourceFlags, own: Command) => {
      await withWatch(readOnly(flags), async (opened) => {
        const report = await settledPoll(opened);
        const seen = monitorOf(report);
        terminalOf(own).result(seen, monitorText(seen, report, await contextOf(opened)));
        process.exitCode = report.alerts.length > 0 ? EXIT.invalid : exitCodeOf(report);
      });
    });
}
