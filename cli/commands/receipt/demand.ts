import { Command } from 'commander';
import { AssayError } from '../../../common/errors.js';
import { CHUNK_ELEMENTS, decodeBundle, sizeOf, type Bundle } from '../../../graph/index.js';
import type { OutputRange } from '../../../verifier-contracts/escrow-client.js';
import { formatReceiptFile } from '../../../receipts/index.js';
import { checkWritable, readInputFile, writeOutputFile } from '../../files.js';
import { accountKey, withKeyOption, type KeyFlags } from '../../settlement/account-key.js';
import { clockModeOf, timeText } from '../../settlement/clock-text.js';
import { demandsOf } from '../../settlement/demands.js';
import {
  sendStep,
  withChainOptions,
  withDeployment,
  type ChainFlags,
  type Step,
} from '../../settlement/open-deployment.js';
import { boundOrder, readReceipt } from '../../settlement/placed-receipt.js';
import { readAnswers } from '../../settlement/read-answers.js';
import { terminalOf } from '../common-options.js';

/** 16 KiB of elements of four bytes: the most that the contract takes at once. */
const CHUNKS_A_DEMAND = 64;

export function demandCommand(): Command {
  const command = new Command('demand')
    .description(
      'Ask on chain for an output that was never handed over: the executor answers in time, or is not paid. The requester alone may; a deposit stands for each demand until the order ends. Called again, it reads the answers.',
    )
    .argument('<file>', 'a receipt file with its order (.json)')
    .requiredOption('--bundle <file>', 'the model (.assay): it says how large the outputs are')
    .option(
      '-o, --out <file>',
      'where to write the receipt with the output once it is answered (default: over the file)',
    )
    .addHelpText(
      'after',
      '\nExample: assay receipt demand receipt.json --bundle model.assay --rpc http://127.0.0.1:8545 --rollup 0x... --key-file requester.key',
    );
  return withKeyOption(withChainOptions(command)).action(
    async (file: string, flags: ChainFlags & KeyFlags & { bundle: string; out?: string }, own: Command) => {
      const terminal = terminalOf(own);
      const out = flags.out ?? file;
      checkWritable(out);
      const content = readReceipt(file);
      const bundle = decodeBundle(readInputFile(flags.bundle), flags.bundle);
      checkModel(flags.bundle, bundle, content.receipt.modelDigest);
      await withDeployment(
        flags,
        async (deployment) => {
          const { escrow } = deployment;
          const bound = await boundOrder(file, content, deployment);
          const made = await demandsOf(deployment, content.receipt.orderHash);
          const ranges = wholeOutput(bundle, content.receipt.items);
          const missing = ranges.filter(
            ({ tensor, firstChunk }) =>
              !made.some(({ range }) => range.tensor === tensor && range.firstChunk === firstChunk),
          );
          const steps: Step[] = [];
          for (const range of missing) {
            const what = `demanding chunks ${range.firstChunk} to ${range.firstChunk + range.chunkCount - 1} of output ${range.tensor}`;
            steps.push(await sendStep(terminal, escrow, escrow.demandOutputCall(bound, range), what));
          }
          const demands = await demandsOf(deployment, content.receipt.orderHash);
          const outputs = await readAnswers(deployment, demands, bundle.graph, content.receipt);
          if (outputs !== null)
            writeOutputFile(out, formatReceiptFile({ ...content, outputs: outputs.map((values) => [...values]) }));
          const clock = clockModeOf(await escrow.clockMode());
          terminal.result(
            { demands, before: ranges.length - missing.length, outputs: outputs === null ? null : out, steps },
            [
              ...demands.map(
                ({ range, answerBy, answered }) =>
                  `output ${range.tensor}, ${range.chunkCount} chunks from ${range.firstChunk}: ${answered === null ? `to be answered by ${timeText(answerBy, clock)}` : `answered in ${answered}`}`,
              ),
              outputs === null
                ? 'call this again when all is answered: it writes the output'
                : `wrote the output into ${out}`,
            ].join('\n'),
          );
        },
        accountKey(flags),
      );
    },
  );
}

/** @throws AssayError ORDER_MISMATCH */
export function checkModel(path: string, { digest }: Bundle, modelDigest: string): void {
  if (digest !== modelDigest)
    throw new AssayError('ORDER_MISMATCH', `${path} is model ${digest}, the receipt is of model ${modelDigest}`, {
      mend: 'Give the bundle of the model that the receipt names.',
      meta: { file: path, expected: modelDigest, found: digest },
    });
}

function wholeOutput({ graph }: Bundle, items: number): OutputRange[] {
  return graph.outputs.flatMap((id, tensor) => {
    const chunks = Math.ceil((items * sizeOf(graph.tensors[id]!.shape)) / CHUNK_ELEMENTS);
    return Array.from({ length: Math.ceil(chunks / CHUNKS_A_DEMAND) }, (_, part) => ({
      tensor,
      firstChunk: part * CHUNKS_A_DEMAND,
      chunkCount: Math.min(CHUNKS_A_DEMAND, chunks - part * CHUNKS_A_DEMAND),
    }));
  });
}
