import { Command } from 'commander';
import { runDemo, type DemoSummary } from '../demo/run-demo.js';
import { EXIT } from '../exit-codes.js';
import { table } from '../terminal.js';
import { terminalOf, wholeNumber } from './common-options.js';

interface DemoFlags {
  data: string;
  jobs: number;
  cheatJobs: number;
}

export function demoCommand(): Command {
  return new Command('demo')
    .description(
      'The whole way of a job on embedded parts: compile, run, commit, post, audit, verify; cheats are caught.',
    )
    .option('--data <folder>', 'data folder, wiped at the start', '.assay/demo')
    .option('--jobs <count>', 'digits for the honest executor', wholeNumber, 64)
    .option('--cheat-jobs <count>', 'digits for each of the three executors that cheat', wholeNumber, 8)
    .action(async (flags: DemoFlags, command: Command) => {
      const terminal = terminalOf(command);
      const summary = await runDemo({ folder: flags.data, jobs: flags.jobs, cheatJobs: flags.cheatJobs }, terminal);
      terminal.result(summary, summaryText(summary));
      if (!summary.success) process.exitCode = EXIT.invalid;
    });
}

function summaryText({ model, chain, players, success, receipts, seconds }: DemoSummary): string {
  const rows = players.map((p) => [
    p.executor,
    `${p.jobs}`,
    `${p.valid}`,
    `${p.invalid}`,
    `${p.undetermined}`,
    `${((100 * p.right) / Math.max(p.jobs, 1)).toFixed(1)} %`,
  ]);
  const total = players.reduce((sum, p) => sum + p.jobs, 0);
  return `
${table(['executor', 'jobs', 'valid', 'invalid', 'undetermined', 'digits right'], rows)}

${success ? 'Every honest receipt is final and valid; every cheat was caught.' : 'NOT as it should be: an honest receipt is not valid, or a cheat got through.'}
${total} receipts in ${chain.batches} batch${chain.batches === 1 ? '' : 'es'}, ${chain.gasUsed} gas for commit, draw and verdict (${Math.round(Number(chain.gasUsed) / Math.max(total, 1))} a receipt), ${seconds.toFixed(1)} s in all
model ${model.name}, digest ${model.digest}

Receipts are in ${receipts}; the chain is gone, since it lived for the demo alone.

Not shown here: anvil's well-known keys and one machine; a draw seeded by a block hash, which a block producer can bias;
auditors named at deployment; no stake, so a cheat loses no money yet.

Next:
  npx assay receipt show ${receipts}/000-rejected.json
  npx assay inspect ${receipts.replace(/receipts$/, '')}${model.name}.assay
  npx assay compile your-model.onnx --calibration samples.npz
  npx assay doctor`;
}
