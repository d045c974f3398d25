/** `node dist/benchmarks/suites/sampling-experiment-entry.js`: the experiment, as JSON on stdout; progress on stderr. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { describeMachine } from '../machine.js';
import { runSamplingExperiment, simulatedSeeds, type ExperimentOptions } from './sampling-experiment.js';

const number =
  (least: number, most: number, whole: boolean) =>
  (text: string): number => {
    const value = Number(text);
    if (!(value >= least && value <= most) || (whole && !Number.isInteger(value)))
      throw new InvalidArgumentError(`expected ${whole ? 'a whole number' : 'a number'} from ${least} to ${most}.`);
    return value;
  };

/** Of the simulator, beside the run. */
const SEEDS = 100;

interface Flags {
  requests: number;
  items: number;
  model: string;
  rate: number;
  lies: number;
  lock: number;
  work: number;
  seed: number;
  batch: number;
  window: number;
  simulate?: true;
}

const flags = new Command('sampling-experiment')
  .option('--requests <count>', 'requests', number(4, 100_000, true), 10_000)
  .option('--items <count>', 'items of one request', number(1, 256, true), 8)
  .option('--model <name>', 'shipped model', 'iris')
  .option('--rate <share>', "share of each executor's receipts in a batch that is drawn", number(1e-6, 1, false), 0.3)
  .option('--lies <share>', "share of the cheat's requests that it answers falsely", number(0, 1, false), 0.01)
  .option('--lock <prices>', 'what an executor stakes on a request', number(4, 10_000, true), 25)
  .option('--work <share>', 'what honest work on a request costs, of its price', number(0, 1, false), 0.8)
  .option('--seed <number>', 'of the places of the lies', number(0, 2 ** 32 - 1, true), 1)
  .option('--batch <count>', 'most receipts of a batch', number(1, 256, true), 64)
  .option('--window <count>', 'requests under way at once', number(1, 10_000, true), 400)
  .option('--simulate', 'only the seeds of the simulator, without the run')
  .parse()
  .opts<Flags>();

let shown = 0;
const options: ExperimentOptions = {
  folder: mkdtempSync(join(tmpdir(), 'assay-experiment-')),
  model: flags.model,
  requests: flags.requests,
  items: flags.items,
  lieShare: flags.lies,
  drawRatePpm: Math.round(flags.rate * 1e6),
  lockFactor: flags.lock,
  workBps: Math.round(flags.work * 10_000),
  seed: flags.seed,
  batchSize: flags.batch,
  window: flags.window,
  onProgress: (done, elapsedMs) => {
    if (elapsedMs - shown < 10_000) return;
    shown = elapsedMs;
    process.stderr.write(`${done} of ${flags.requests} after ${(elapsedMs / 1000).toFixed(0)} s\n`);
  },
};
const report = flags.simulate === true ? {} : await runSamplingExperiment(options);
const rates = [...new Set([50_000, 100_000, 200_000, options.drawRatePpm])].sort((a, b) => a - b);
const simulated = rates.map((ratePpm) => simulatedSeeds(options, ratePpm, SEEDS));
process.stdout.write(`${JSON.stringify({ ...describeMachine(), options: flags, ...report, simulated }, null, 2)}\n`);
