import { Command } from 'commander';
import { runDemo, type DemoSummary } from '../demo/run-demo.js';
import { EXIT } from '../exit-codes.js';
import { table } from '../terminal.js';
import { terminalOf, wholeNumber } from './common-options.js';

interface DemoFlags {
  data: string;
  jobs: number;
  cheatJobs: number;
  keepChain?: true;
}

export function demoCommand(): Command {
  return new Command('demo')
    .description(
      'The whole way of a job on embedded parts: compile, run, commit, post, audit, verify; cheats are caught.',
    )
    .option('--data <folder>', 'data folder, wiped at the start', '.assay/demo')
    .option('--jobs <count>', 'digits for the honest executor', wholeNumber, 64)
    .option('--cheat-jobs <count>', 'digits for each of the three executors that cheat', wholeNumber, 8)
    .option('--keep-chain', 'leave the chain running, to verify the receipts against it afterwards')
    .action(async (flags: DemoFlags, command: Command) => {
      const terminal = terminalOf(command);
      const { data: folder, jobs, cheatJobs, keepChain = false } = flags;
      const summary = await runDemo({ folder, jobs, cheatJobs, keepChain }, terminal);
      terminal.result(summary, summaryText(summary));
      if (!summary.success) process.exitCode = EXIT.invalid;
    });
}

function summaryText({ model, chain, players, proved, success, receipts, seconds }: DemoSummary): string {
  const rows = players.map((p) => [
    p.executor,
    `${p.jobs}`,
    `${p.lies}`,
    `${p.audited}`,
    `${p.valid}`,
    `${p.invalid}`,
    `${p.undetermined}`,
    `${((100 * p.right) / Math.max(p.jobs, 1)).toFixed(1)} %`,
  ]);
  const total = players.reduce((sum, { jobs }) => sum + jobs, 0);
  const folder = receipts.replace(/receipts$/, '');
  const chainText =
    chain.rpc === null
      ? 'the chain ended with the demo (--keep-chain leaves it running)'
      : `the chain goes on at ${chain.rpc}`;
  const verify =
    chain.rpc === null
      ? 'npx assay demo --keep-chain    (then it says how to verify a receipt)'
      : `npx assay receipt verify ${receipts}/000-rejected.json --rpc ${chain.rpc} --rollup ${chain.rollup} --bundle ${folder}${model.name}.assay`;
  return `
${table(['executor', 'jobs', 'lies', 'audited', 'valid', 'invalid', 'undetermined', 'digits right'], rows)}

${success ? 'Every true receipt is final and valid; every lie is invalid on chain.' : 'NOT as it should be: a true receipt is not valid, or a lie was not drawn.'}
${total} receipts in ${chain.batches} batch${chain.batches === 1 ? '' : 'es'}, ${chain.gasUsed} gas for commit, draw and verdict (${Math.round(Number(chain.gasUsed) / Math.max(total, 1))} a receipt), ${seconds.toFixed(1)} s in all
model ${model.name}, digest ${model.digest}

One digit more was proved: accepted ${proved.seconds.toFixed(1)} s after its order with a proof of ${proved.proofBytes} bytes, which a stranger with the
model's key checks in ${proved.verifyMs.toFixed(0)} ms without a chain: ${proved.verdict}. Forged:
${proved.forgeries.map(({ what, verdict, reason }) => `  ${what}: ${verdict}, ${cut(reason)}`).join('\n')}

Receipts are in ${receipts}; ${chainText}.

Not shown here: anvil's well-known keys and one machine; a draw seeded by a block hash, which a block producer can bias;
auditors named at deployment, who sign what the service's own audit found; no stake, so a cheat loses no money yet; a
reference string for development, under which anybody can forge a proof, and proofs that the chain does not check yet.

Next:
  ${verify}
  npx assay receipt verify ${proved.receipt} --key ${proved.key} --dev-srs
  npx assay inspect ${folder}${model.name}.assay
  npx assay compile your-model.onnx --calibration samples.npz
  npx assay doctor`;
}

/** Reasons name roots and addresses in full; the summary needs the beginning. */
const cut = (reason: string): string => (reason.length <= 90 ? reason : `${reason.slice(0, 90)}...`);
