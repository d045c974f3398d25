import { Command } from 'commander';
import { AssayError } from '../../../common/errors.js';
import { openOutput } from '../../../graph/commitment/open-output.js';
import { decodeBundle, outputRoot } from '../../../graph/index.js';
import type { OutputOpening } from '../../../verifier-contracts/escrow-client.js';
import { EXIT } from '../../exit-codes.js';
import { readInputFile } from '../../files.js';
import { accountKey, withKeyOption, type KeyFlags } from '../../settlement/account-key.js';
import { demandsOf } from '../../settlement/demands.js';
import {
  sendStep,
  withChainOptions,
  withDeployment,
  type ChainFlags,
  type Step,
} from '../../settlement/open-deployment.js';
import { boundOrder, readReceipt } from '../../settlement/placed-receipt.js';
import { terminalOf } from '../common-options.js';
import { checkModel } from './demand.js';

export function answerCommand(): Command {
  const command = new Command('answer')
    .description(
      'Answer the demands for an output with the outputs in the receipt file. Anybody may; the table cost comes back when the order ends well.',
    )
    .argument('<file>', 'a receipt file with its order and outputs (.json)')
    .requiredOption('--bundle <file>', 'the model (.assay): it says how the outputs are committed to')
    .addHelpText(
      'after',
      '\nExample: assay receipt answer receipt.json --bundle model.assay --rpc http://127.0.0.1:8545 --rollup 0x... --key-file executor.key',
    );
  return withKeyOption(withChainOptions(command)).action(
    async (file: string, flags: ChainFlags & KeyFlags & { bundle: string }, own: Command) => {
      const terminal = terminalOf(own);
      const content = readReceipt(file);
      const { graph, ...bundle } = decodeBundle(readInputFile(flags.bundle), flags.bundle);
      const { receipt, outputs: lists } = content;
      checkModel(flags.bundle, { graph, ...bundle }, receipt.modelDigest);
      if (lists === undefined)
        throw new AssayError('RECEIPT_FILE_MALFORMED', `${file}: carries no outputs to answer with`, {
          mend: 'Give the file of the executor or the service, which holds the outputs.',
          meta: { file },
        });
      const outputs = lists.map((values) => Int32Array.from(values));
      const root = outputRoot(graph, outputs, receipt.items);
      if (root !== receipt.outputRoot)
        throw new AssayError(
          'OPENING_INVALID',
          `${file}: its outputs have root ${root}, the receipt ${receipt.outputRoot}`,
          {
            mend: 'Only the outputs that the receipt commits to can answer.',
            meta: { file, expected: receipt.outputRoot, found: root },
          },
        );
      await withDeployment(
        flags,
        async (deployment) => {
          const { escrow } = deployment;
          const bound = await boundOrder(file, content, deployment);
          const now = await escrow.clock();
          const open = (await demandsOf(deployment, receipt.orderHash)).filter(({ answered }) => answered === null);
          const late = open.filter(({ answerBy }) => now > answerBy);
          const steps: Step[] = [];
          for (const { range } of open.filter(({ answerBy }) => now <= answerBy)) {
            const opening = openOutput(graph, outputs, receipt.items, range) as OutputOpening;
            const what = `answering output ${range.tensor} from chunk ${range.firstChunk}`;
            steps.push(await sendStep(terminal, escrow, escrow.answerOutputCall(bound, range, opening), what));
          }
          terminal.result(
            { answered: steps.length, late: late.length, steps },
            open.length === 0
              ? 'no demand waits for an answer'
              : `${steps.length} answered${late.length === 0 ? '' : `, ${late.length} too late: the order will be refunded`}`,
          );
          if (late.length > 0) process.exitCode = EXIT.invalid;
        },
        accountKey(flags),
      );
    },
  );
}
