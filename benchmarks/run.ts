/** `npm run bench`: runs the suites that were asked for and prints a table, or one JSON object with --json. */
import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { AssayError } from '../common/errors.js';
import { describeMachine } from './machine.js';
import type { Suite } from './options.js';
import { comparisonText, reportText, type Report, type Result } from './report.js';
import { commitmentSuite } from './suites/commitment.js';
import { fieldSuite } from './suites/field.js';
import { proverSuite } from './suites/prover.js';

const SUITES: readonly Suite[] = [proverSuite, commitmentSuite, fieldSuite];

interface Flags {
  only?: string[];
  model?: string[];
  batch: number[];
  threads: number[];
  repeat: number;
  json?: true;
  baseline?: string;
}

const positive = (flag: string): number => {
  if (!/^[1-9]\d*$/.test(flag))
    throw new InvalidArgumentError(`expected a whole number of at least 1, found "${flag}"`);
  return Number(flag);
};
const numbers = (flag: string): number[] => flag.split(',').map(positive);
const words = (flag: string, previous: string[] = []): string[] => [...previous, ...flag.split(',')];

/** @returns the report; prints progress to stderr. */
export async function bench(argv: readonly string[]): Promise<Report> {
  const command = new Command('bench')
    .addOption(new Option('--only <suite>', `suites: ${SUITES.map(({ name }) => name).join(', ')}`).argParser(words))
    .option('--model <name>', 'models, separated by commas (default: all)', words)
    .option('--batch <counts>', 'batch sizes', numbers, [1, 16, 64])
    .option('--threads <counts>', 'numbers of threads', numbers, [1, 2])
    .option('--repeat <count>', 'measurements of each figure', positive, 5)
    .option('--json', 'print one JSON object on stdout, nothing else')
    .option('--baseline <file>', 'compare with an earlier --json')
    .parse(argv);
  const flags = command.opts<Flags>();
  const before =
    flags.baseline === undefined ? undefined : (JSON.parse(readFileSync(flags.baseline, 'utf8')) as Report);
  const unknown = flags.only?.find((name) => !SUITES.some((suite) => suite.name === name));
  if (unknown !== undefined)
    command.error(`there is no suite ${unknown}; there are ${SUITES.map(({ name }) => name).join(', ')}`);
  const results: Result[] = [];
  for (const suite of SUITES) {
    if (flags.only !== undefined && !flags.only.includes(suite.name)) continue;
    const stranger = flags.model?.find((name) => !SUITES.some(({ models }) => models.includes(name)));
    if (stranger !== undefined)
      throw new AssayError(
        'SHIPPED_MODEL_UNKNOWN',
        `there is no model ${stranger} here; there are ${suite.models.join(', ')}`,
      );
    await suite.run(
      {
        models: suite.models.filter((name) => flags.model === undefined || flags.model.includes(name)),
        batches: flags.batch,
        threads: flags.threads,
        repeat: flags.repeat,
      },
      (result) => {
        results.push(result);
        const { model, batch, threads } = result;
        process.stderr.write(
          `${suite.name}${model === null ? '' : ` ${model}, batch ${batch}`}, ${threads} threads: measured\n`,
        );
      },
    );
  }
  const report = { ...describeMachine(), results };
  process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : `${reportText(report)}\n`);
  // Beside the JSON, which stays alone on stdout.
  if (before !== undefined) process[flags.json ? 'stderr' : 'stdout'].write(`\n${comparisonText(report, before)}\n`);
  return report;
}
