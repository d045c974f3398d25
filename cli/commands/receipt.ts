import type { JsonRpcProvider } from 'ethers';
import { Command, InvalidArgumentError, Option } from 'commander';
import { decodeBundle, inputRoot, outputRoot } from '../../graph/index.js';
import {
  parseReceiptFile,
  SETTLEMENTS,
  verifyReceipt,
  type Hex,
  type ReceiptFile,
  type Settlement,
} from '../../receipts/index.js';
import { AssayError } from '../../common/errors.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { EXIT, exitCodeOfVerdict } from '../exit-codes.js';
import { readInputFile } from '../files.js';
import { terminalOf } from './common-options.js';

interface VerifyFlags {
  rpc: string;
  rollup: Hex;
  bundle?: string;
  settlement: Settlement;
}

export function receiptCommand(): Command {
  return new Command('receipt')
    .description('Show a receipt, or check it against the chain.')
    .addCommand(showCommand())
    .addCommand(verifyCommand());
}

function showCommand(): Command {
  return new Command('show')
    .description('Print what a receipt says; checks nothing.')
    .argument('<file>', 'a receipt file (.json)')
    .action((file: string, _flags: unknown, command: Command) => {
      const receiptFile = readReceipt(file);
      const { receipt, domain, batch } = receiptFile;
      const lines = Object.entries({ ...receipt, issuedAt: new Date(receipt.issuedAt * 1000).toISOString() }).map(
        ([field, value]) => `  ${field.padEnd(14)} ${String(value)}`,
      );
      const where =
        batch === undefined
          ? 'not posted yet'
          : `leaf ${batch.index} of ${batch.header.count} in batch root ${batch.header.batchRoot}`;
      terminalOf(command).result(
        receiptFile,
        `receipt for chain ${domain.chainId}, rollup ${domain.verifyingContract}\n${lines.join('\n')}\n  ${where}`,
      );
    });
}

function verifyCommand(): Command {
  return new Command('verify')
    .description(
      'Check signature, terms, path and status on chain. Needs the file and an RPC endpoint, nothing of ours.',
    )
    .argument('<file>', 'a receipt file (.json)')
    .requiredOption('--rpc <url>', 'JSON-RPC endpoint of the chain')
    .requiredOption('--rollup <address>', 'the rollup contract that you trust; never taken from the file', address)
    .option('--bundle <file>', 'the model: recompute the roots of the tensors in the file, and the model digest')
    .addOption(
      new Option('--settlement <depth>', 'how deep in the chain the answer must lie')
        .choices(Object.keys(SETTLEMENTS))
        .default('finalized'),
    )
    .action(async (file: string, flags: VerifyFlags, command: Command) => {
      const terminal = terminalOf(command);
      const receiptFile = readReceipt(file);
      const bundle = flags.bundle === undefined ? undefined : decodeBundle(readInputFile(flags.bundle), flags.bundle);
      const { rollup } = flags;
      let provider: JsonRpcProvider;
      try {
        provider = await connectChain(flags.rpc);
      } catch (error) {
        // Nobody answers: that says nothing about the receipt.
        if (!(error instanceof AssayError) || error.code !== 'CHAIN_UNAVAILABLE') throw error;
        const verdict = { verdict: 'undetermined', reason: error.message } as const;
        terminal.result({ file, rollup, verdict, status: null, checks: {} }, `${verdict.verdict}: ${verdict.reason}`);
        process.exitCode = EXIT.undetermined;
        return;
      }
      try {
        const check = await verifyReceipt(receiptFile, {
          provider,
          rollup,
          settlement: flags.settlement,
          ...(bundle === undefined
            ? {}
            : {
                inputRoot: (tensors, items) =>
                  inputRoot(
                    bundle.graph,
                    tensors.map((t) => Int32Array.from(t)),
                    items,
                  ) as Hex,
                outputRoot: (tensors, items) =>
                  outputRoot(
                    bundle.graph,
                    tensors.map((t) => Int32Array.from(t)),
                    items,
                  ) as Hex,
              }),
        });
        const model =
          bundle === undefined || bundle.digest === receiptFile.receipt.modelDigest
            ? null
            : `model: ${flags.bundle} has digest ${bundle.digest}, the receipt says ${receiptFile.receipt.modelDigest}`;
        const verdict = model === null ? check.verdict : { verdict: 'invalid' as const, reason: model };
        const lines = Object.entries(check.checks).map(
          ([name, result]) => `  ${name.padEnd(10)} ${result.verdict}${'reason' in result ? `: ${result.reason}` : ''}`,
        );
        terminal.result(
          { file, rollup, ...check, verdict },
          `${verdict.verdict}${'reason' in verdict ? `: ${verdict.reason}` : ''}\n${lines.join('\n')}\n  on chain   ${check.status ?? 'not answered'}`,
        );
        process.exitCode = exitCodeOfVerdict(verdict);
      } finally {
        provider.destroy();
      }
    });
}

function readReceipt(file: string): ReceiptFile {
  return parseReceiptFile(new TextDecoder().decode(readInputFile(file)), file);
}

function address(flag: string): Hex {
  if (!/^0x[0-9a-fA-F]{40}$/.test(flag))
    throw new InvalidArgumentError(`expected 0x and 40 hex digits, found "${flag}"`);
  return flag.toLowerCase() as Hex;
}
