/** Answers demands of the optimistic lane, and serves traces: docs/watcher.md. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { asAssayError } from '../../common/errors.js';
import { AnsweringService, type AnswerReport } from '../../fraud-proofs/answer/answering-service.js';
import { OpeningJournal } from '../../fraud-proofs/answer/opening-journal.js';
import { serveTraces } from '../../fraud-proofs/answer/serve-traces.js';
import { ChainScan } from '../../fraud-proofs/watch/chain-scan.js';
import type { Hex } from '../../receipts/types.js';
import { readBundles } from '../disputes/bundles.js';
import { openEngineOf } from '../disputes/engine-of.js';
import { FileKeep } from '../disputes/file-keep.js';
import { HeldTraces } from '../disputes/held-traces.js';
import { senderOf } from '../disputes/open-watch.js';
import { stepLimits } from '../disputes/step-limits.js';
import { sentText } from '../disputes/watch-text.js';
import { EXIT } from '../exit-codes.js';
import { accountKey, readKeyFile, withKeyOption, type KeyFlags } from '../settlement/account-key.js';
import { withChainOptions, withDeployment, type ChainFlags } from '../settlement/open-deployment.js';
import { toJson, type Terminal } from '../terminal.js';
import { secondsFlag, terminalOf, wholeNumber } from './common-options.js';

interface AnswerFlags extends ChainFlags, KeyFlags {
  home: string;
  bundles: string[];
  serve?: number;
  host: string;
  once?: boolean;
  poll: number;
  fromBlock: number;
  maxFee?: string;
}

const POLL_SECONDS = 12;

const FOOTER = `
Example: assay answer --rpc http://127.0.0.1:8545 --rollup 0x... --home executor/ --bundles models/ --key-file account.key --serve 8600

Exit codes with --once: 0 nothing is left unanswered, 1 a demand cannot be answered, 4 the chain does not answer.
Whoever only wants to help others answer runs \`assay watch --act defend\`.`;

export function answerCommand(): Command {
  const command = new Command('answer')
    .description(
      'Answer what is demanded of your own claims, first thing after the start and in time; serve your traces.',
    )
    .requiredOption('--home <folder>', "the executor's data folder: executor.key, traces/")
    .requiredOption('--bundles <paths...>', 'its models: bundles (.assay), and folders of them')
    .option('--serve <port>', 'serve traces and inputs of open claims over HTTP', wholeNumber)
    .option('--host <address>', 'with --serve: the address to listen on', '127.0.0.1')
    .option('--once', 'answer what is open, then end')
    .option('--poll <seconds>', 'time between polls', secondsFlag, POLL_SECONDS)
    .option('--from-block <number>', 'first block to look at: that of the deployment', wholeNumber, 0)
    .option('--max-fee <gwei>', 'most that is offered for a unit of gas')
    .addHelpText('after', FOOTER);
  return withKeyOption(withChainOptions(command)).action(async (flags: AnswerFlags, own: Command) => {
    await run(flags, terminalOf(own));
  });
}

async function run(flags: AnswerFlags, terminal: Terminal): Promise<void> {
  const signer = readKeyFile(join(flags.home, 'executor.key'));
  const sending = accountKey(flags);
  const bundles = readBundles(flags.bundles);
  const openings = join(flags.home, 'openings');
  mkdirSync(openings, { recursive: true });
  await withDeployment(
    flags,
    async (deployment) => {
      const { context, rollup, escrow, domain, provider } = deployment;
      const keep = await FileKeep.open(openings);
      const engine = await openEngineOf(null);
      const traces = new HeldTraces(join(flags.home, 'traces'), bundles.models, engine.run);
      const server =
        flags.serve === undefined ? null : await serveTraces(traces.served, { port: flags.serve, host: flags.host });
      try {
        const service = new AnsweringService({
          domain,
          executor: { signer, address: signer.address.toLowerCase() as Hex, openings: new OpeningJournal(keep) },
          helps: null,
          traceOf: (seen) => traces.traceOf(seen),
          maxContraction: stepLimits(provider),
          sender: senderOf(sending, deployment, flags.maxFee),
        });
        const scan = new ChainScan({
          context,
          rollup,
          escrow,
          fromBlock: flags.fromBlock,
          mine: (_, { executor }) => executor === signer.address.toLowerCase(),
        });
        const poll = async (): Promise<AnswerReport> => {
          const world = await scan.read();
          traces.lookAt(world);
          return service.answer(world);
        };
        if (flags.once === true) {
          const report = await poll();
          terminal.result(jsonOf(report), linesOf(report).join('\n') || 'nothing is demanded');
          if (report.unanswerable.length > 0) process.exitCode = EXIT.invalid;
          return;
        }
        terminal.note(`answering for ${signer.address.toLowerCase()} on chain ${domain.chainId}`);
        await forever(poll, flags.poll, terminal);
      } finally {
        server?.close();
        await engine.close();
        await keep.close();
      }
    },
    sending,
  );
}

/** Ends with the process alone. */
async function forever(poll: () => Promise<AnswerReport>, seconds: number, terminal: Terminal): Promise<void> {
  const told = new Set<string>();
  for (;;) {
    try {
      const report = await poll();
      if (terminal.json) process.stdout.write(`${JSON.stringify(JSON.parse(toJson(jsonOf(report))))}\n`);
      else
        for (const line of linesOf(report).filter((one) => !told.has(one))) {
          told.add(line);
          process.stdout.write(`${new Date().toISOString()} ${line}\n`);
        }
    } catch (thrown) {
      const error = asAssayError(thrown);
      if (error.kind !== 'infrastructure') throw error;
      if (terminal.json) process.stdout.write(`${JSON.stringify(JSON.parse(toJson({ error })))}\n`);
      else terminal.note(`${error.message}; trying again (${error.code})`);
    }
    await sleep(seconds * 1000);
  }
}

const jsonOf = ({ moves, unanswerable }: AnswerReport): Record<string, unknown> => ({
  moves: moves.map(({ kind, claim, what, deadline, sent }) => ({ kind, claim, what, deadline, sent })),
  unanswerable,
});

const linesOf = ({ moves, unanswerable }: AnswerReport): string[] => [
  ...moves.map(({ claim, what, sent }) => `claim ${claim}: ${what}: ${sentText(sent)}`),
  ...unanswerable.map(
    ({ claim, nodeId, answerBy, reason }) =>
      `ALERT claim ${claim}: node ${nodeId} must be answered by ${answerBy}: ${reason}`,
  ),
];
