/** The `assay` command: parses the line, runs one command, turns a typed error into a message and an exit code. */
import { Command, CommanderError } from 'commander';
import { asAssayError } from '../common/errors.js';
import { accountCommand } from './commands/account.js';
import { answerCommand } from './commands/answer.js';
import { auditCommand } from './commands/audit.js';
import { benchCommand } from './commands/bench.js';
import { compileCommand } from './commands/compile.js';
import { demoCommand } from './commands/demo.js';
import { deployCommand } from './commands/deploy.js';
import { doctorCommand } from './commands/doctor.js';
import { drillCommand } from './commands/drill.js';
import { economicsCommand } from './commands/economics.js';
import { inspectCommand } from './commands/inspect.js';
import { keyCommand } from './commands/key.js';
import { orderCommand } from './commands/order.js';
import { proveCommand } from './commands/prove.js';
import { receiptCommand } from './commands/receipt/index.js';
import { runCommand } from './commands/run.js';
import { srsCommand } from './commands/srs.js';
import { verifyCommand } from './commands/verify.js';
import { watchCommand } from './commands/watch.js';
import { EXIT, exitCodeOfError } from './exit-codes.js';
import { toJson } from './terminal.js';
import { version } from './version.js';

const FOOTER = `
Start here:
  assay demo                                          the whole way of a job, on this machine alone
  assay compile model.onnx --calibration data.npz     ONNX file -> bundle, with a report of what it costs
  assay run model.assay --input input.npy             run it; prints output and commitments
  assay prove model.assay --input input.npy --srs powers.srs --out result.assayproof
                                                      the same with a proof of the output
  assay receipt verify receipt.json --rpc URL --rollup ADDRESS
                                                      check a receipt against the chain
  assay deploy, account, order, receipt               settle on a chain of your own: docs/settlement.md
  assay watch, answer, drill                          disputes of the optimistic lane: docs/watcher.md
  assay economics                                     rates and stakes at which honesty pays: docs/economics.md

Exit codes: 0 valid or done, 1 invalid, 2 wrong input, 3 undetermined, 4 something outside failed, 70 a defect of ours.
Every command takes --json. Errors have stable codes: docs/errors.md.`;

export function program(): Command {
  const assay = new Command('assay')
    .description('Run an ONNX model and get a receipt that a stranger can check.')
    .version(version())
    .option('--json', 'print one JSON object on stdout, nothing else')
    .option('--quiet', 'no progress and no notes')
    .addHelpText('after', FOOTER)
    .showHelpAfterError('(assay --help lists the commands)')
    .exitOverride();
  for (const command of [
    demoCommand,
    compileCommand,
    inspectCommand,
    runCommand,
    keyCommand,
    proveCommand,
    verifyCommand,
    auditCommand,
    receiptCommand,
    orderCommand,
    accountCommand,
    deployCommand,
    watchCommand,
    answerCommand,
    drillCommand,
    economicsCommand,
    srsCommand,
    benchCommand,
    doctorCommand,
  ]) {
    assay.addCommand(command());
  }
  for (const command of assay.commands) inheritExit(command);
  return assay;
}

/** Subcommands must throw too, so that one place decides the exit code. */
function inheritExit(command: Command): void {
  command.exitOverride().showHelpAfterError();
  for (const child of command.commands) inheritExit(child);
}

export async function main(argv: readonly string[]): Promise<number> {
  try {
    process.exitCode = EXIT.ok;
    await program().parseAsync([...argv]);
    return Number(process.exitCode);
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const error = asAssayError(thrown);
    if (argv.includes('--json')) process.stdout.write(`${toJson({ error })}\n`);
    else process.stderr.write(`assay: ${error.message}\n  ${error.mend}\n  (${error.code})\n`);
    if (error.kind === 'internal' && thrown instanceof Error) process.stderr.write(`${thrown.stack ?? ''}\n`);
    return exitCodeOfError(error);
  }
}
