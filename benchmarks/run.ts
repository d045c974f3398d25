/** `npm run bench` and `assay bench`: runs the suites that were asked for; a table, one JSON object, or a page. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { AssayError } from '../common/errors.js';
import { describeMachine } from './machine.js';
import type { Suite } from './options.js';
import { comparisonText, keyOf, reportText, type Report, type Result } from './report.js';
import { reportPage } from './page/report-page.js';
import { reportMarkdown } from './page/report-markdown.js';
import { parseReport, parseRows } from './report-schema.js';
import { commitmentSuite } from './suites/commitment.js';
import { contractsSuite } from './suites/contracts.js';
import { fieldSuite } from './suites/field.js';
import { peersSuite } from './suites/peers.js';
import { proverSuite } from './suites/prover.js';
import { recursionSuite } from './suites/recursion.js';
import { samplingSuite } from './suites/sampling-experiment-suite.js';

const SUITES: readonly Suite[] = [
  proverSuite,
  commitmentSuite,
  contractsSuite,
  fieldSuite,
  recursionSuite,
  peersSuite,
  { ...samplingSuite, onlyNamed: true },
];
const NAMES = SUITES.map(({ name }) => name);

interface Flags {
  only?: string[];
  model?: string[];
  batch: number[];
  threads: number[];
  repeat: number;
  json?: true;
  baseline?: string;
  resume?: string;
  html?: string;
  markdown?: string;
}

const positive = (flag: string): number => {
  if (!/^[1-9]\d*$/.test(flag))
    throw new InvalidArgumentError(`expected a whole number of at least 1, found "${flag}"`);
  return Number(flag);
};
const numbers = (flag: string): number[] => flag.split(',').map(positive);
const words = (flag: string, previous: string[] = []): string[] => [...previous, ...flag.split(',')];

/** The command with its flags; what it reports goes to stdout, progress to stderr. */
export function benchCommand(onReport: (report: Report) => void = () => undefined): Command {
  const command = new Command('bench');
  return command
    .description('Measure what proving, committing and settling cost; every answer is checked before its time counts.')
    .addOption(new Option('--only <suite>', `suites: ${NAMES.join(', ')}`).argParser(words))
    .option('--model <name>', 'models of the ladder or .onnx files, separated by commas (default: by suite)', words)
    .option('--batch <counts>', 'batch sizes', numbers, [1, 16, 64])
    .option('--threads <counts>', 'numbers of threads', numbers, [1, 2])
    .option('--repeat <count>', 'measurements of each figure', positive, 5)
    .option('--json', 'print one JSON object on stdout, nothing else')
    .option('--baseline <file>', 'compare with an earlier --json')
    .option('--resume <file>', 'keep each row here as soon as it is measured, and skip those that are there')
    .option('--html <file>', 'write the report as one page with charts')
    .option('--markdown <file>', 'write the report as Markdown tables')
    .action(async () => onReport(await run(command)));
}

/** @returns the report; prints progress to stderr. */
export async function bench(argv: readonly string[]): Promise<Report> {
  let report: Report | undefined;
  await benchCommand((made) => (report = made)).parseAsync(argv);
  return report!;
}

async function run(command: Command): Promise<Report> {
  const flags = command.opts<Flags>();
  const json = flags.json === true || command.optsWithGlobals<{ json?: boolean }>().json === true;
  const before =
    flags.baseline === undefined ? undefined : parseReport(readFileSync(flags.baseline, 'utf8'), flags.baseline);
  const unknown = flags.only?.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) command.error(`there is no suite ${unknown}; there are ${NAMES.join(', ')}`);
  const chosen = SUITES.filter((suite) => flags.only?.includes(suite.name) ?? suite.onlyNamed !== true);
  const stranger = flags.model?.find(
    (name) => !chosen.some(({ models, anyModel }) => anyModel === true || models.includes(name)),
  );
  if (stranger !== undefined)
    throw new AssayError(
      'SHIPPED_MODEL_UNKNOWN',
      `there is no model ${stranger} here; there are ${[...new Set(chosen.flatMap(({ models }) => models))].join(', ')}`,
    );
  const machine = describeMachine();
  const { resume } = flags;
  const results: Result[] =
    resume === undefined || !existsSync(resume) ? [] : parseRows(readFileSync(resume, 'utf8'), resume, machine);
  const taken = new Set(results.map(keyOf));
  for (const suite of chosen) {
    await suite.run(
      {
        models: flags.model?.filter((name) => suite.anyModel === true || suite.models.includes(name)) ?? suite.models,
        batches: flags.batch,
        threads: flags.threads,
        repeat: flags.repeat,
        has: (row) => taken.has(keyOf(row)),
      },
      (result) => {
        if (taken.has(keyOf(result))) return;
        taken.add(keyOf(result));
        results.push(result);
        if (resume !== undefined)
          appendFileSync(resume, `${JSON.stringify({ machine: machine.machine, commit: machine.commit, result })}\n`);
        const { model, batch, threads, peer } = result;
        process.stderr.write(
          `${suite.name}${model === null ? '' : ` ${model}`}${batch === null ? '' : `, batch ${batch}`}` +
            `${peer === null ? '' : `, ${peer}`}, ${threads} threads: measured\n`,
        );
      },
    );
  }
  const report = { ...machine, results: ordered(results, chosen) };
  if (flags.html !== undefined) writeFileSync(flags.html, reportPage(report));
  if (flags.markdown !== undefined) writeFileSync(flags.markdown, reportMarkdown(report));
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : `${reportText(report)}\n`);
  // Beside the JSON, which stays alone on stdout.
  if (before !== undefined) process[json ? 'stderr' : 'stdout'].write(`\n${comparisonText(report, before)}\n`);
  return report;
}

/** By suite and size of the model, Assay before its peers. */
function ordered(results: readonly Result[], suites: readonly Suite[]): Result[] {
  const place = ({ suite, model, params, peer }: Result): (string | number)[] => [
    suites.findIndex(({ name }) => name === suite),
    params ?? 0,
    model ?? '',
    peer ?? '',
  ];
  return [...results].sort((a, b) => {
    const [left, right] = [place(a), place(b)];
    const at = left.findIndex((part, i) => part !== right[i]);
    return at < 0 ? 0 : left[at]! < right[at]! ? -1 : 1;
  });
}
