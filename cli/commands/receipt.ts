import type { JsonRpcProvider } from 'ethers';
import { Command, InvalidArgumentError, Option } from 'commander';
import { decodeBundle, inputRoot, outputRoot, type Bundle } from '../../graph/index.js';
import { readerChecks } from '../../pipeline/zk/reader-checks.js';
import { decodeModelKey, openArithmetic, predictJob, ZkProver, type ModelKeyFile } from '../../prover/index.js';
import {
  parseReceiptFile,
  SETTLEMENTS,
  verifyReceipt,
  type Hex,
  type ReceiptFile,
  type Settlement,
  type VerifyReceiptOptions,
} from '../../receipts/index.js';
import { AssayError } from '../../common/errors.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { EXIT, exitCodeOfVerdict } from '../exit-codes.js';
import { readInputFile } from '../files.js';
import { openSrs, withSrsOptions, type SrsFlags } from '../reference-string.js';
import { terminalOf } from './common-options.js';

interface VerifyFlags extends SrsFlags {
  rpc?: string;
  rollup?: Hex;
  bundle?: string;
  key?: string;
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
      const { receipt, domain, batch, evidence } = receiptFile;
      const lines = Object.entries({ ...receipt, issuedAt: new Date(receipt.issuedAt * 1000).toISOString() }).map(
        ([field, value]) => `  ${field.padEnd(14)} ${String(value)}`,
      );
      const where =
        batch === undefined
          ? receipt.lane === 'zk'
            ? `not posted: ${evidence === undefined ? 'its proof is still to come' : `stands by its proof (${evidence.scheme}, ${(evidence.proof.length - 2) / 2} bytes)`}`
            : 'not posted yet'
          : `leaf ${batch.index} of ${batch.header.count} in batch root ${batch.header.batchRoot}`;
      terminalOf(command).result(
        receiptFile,
        `receipt for chain ${domain.chainId}, rollup ${domain.verifyingContract}\n${lines.join('\n')}\n  ${where}`,
      );
    });
}

function verifyCommand(): Command {
  const command = new Command('verify')
    .description(
      'Check signature, terms, path and status on chain, or the proof. Needs the file and an RPC endpoint or the key of the model, nothing of ours.',
    )
    .argument('<file>', 'a receipt file (.json)')
    .option('--rpc <url>', 'JSON-RPC endpoint of the chain; a receipt of the zk lane can do without')
    .option('--rollup <address>', 'the rollup contract that you trust; never taken from the file', address)
    .option('--bundle <file>', 'the model: recompute the roots of the tensors in the file, and the model digest')
    .option(
      '--key <file>',
      'the key of the model (.assaykey): checks the proof of a receipt of the zk lane; --bundle with --srs or --dev-srs makes it anew',
    )
    .addOption(
      new Option('--settlement <depth>', 'how deep in the chain the answer must lie')
        .choices(Object.keys(SETTLEMENTS))
        .default('finalized'),
    );
  return withSrsOptions(command).action(async (file: string, flags: VerifyFlags, own: Command) => {
    const terminal = terminalOf(own);
    const receiptFile = readReceipt(file);
    checkFlags(receiptFile, flags);
    const bundle = flags.bundle === undefined ? undefined : decodeBundle(readInputFile(flags.bundle), flags.bundle);
    const { rollup } = flags;
    const model = await modelChecks(receiptFile, flags, bundle);
    let provider: JsonRpcProvider | undefined;
    try {
      if (flags.rpc !== undefined) provider = await connectChain(flags.rpc);
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
        ...model,
      });
      const otherModel =
        bundle === undefined || bundle.digest === receiptFile.receipt.modelDigest
          ? null
          : `model: ${flags.bundle} has digest ${bundle.digest}, the receipt says ${receiptFile.receipt.modelDigest}`;
      const verdict = otherModel === null ? check.verdict : { verdict: 'invalid' as const, reason: otherModel };
      const lines = Object.entries(check.checks).map(
        ([name, result]) => `  ${name.padEnd(10)} ${result.verdict}${'reason' in result ? `: ${result.reason}` : ''}`,
      );
      terminal.result(
        { file, rollup, ...check, verdict },
        `${verdict.verdict}${'reason' in verdict ? `: ${verdict.reason}` : ''}\n${lines.join('\n')}\n  on chain   ${check.status ?? (receiptFile.batch === undefined ? 'not posted' : 'not answered')}`,
      );
      process.exitCode = exitCodeOfVerdict(verdict);
    } finally {
      provider?.destroy();
    }
  });
}

/** @throws AssayError CONFIG_INVALID where the chain has to be asked, and a flag for that is missing. */
function checkFlags({ receipt }: ReceiptFile, { rpc, rollup }: VerifyFlags): void {
  if (rpc !== undefined && rollup !== undefined) return;
  if (receipt.lane === 'zk' && rpc === undefined) return;
  const missing = rpc === undefined ? '--rpc' : '--rollup';
  throw new AssayError(
    'CONFIG_INVALID',
    `a receipt of the ${receipt.lane} lane is checked against the chain: ${missing} is missing`,
    {
      mend: 'Give --rpc URL and --rollup ADDRESS.',
      meta: { flag: missing },
    },
  );
}

/** What can be checked with the files of the model that the reader has. */
async function modelChecks(
  { receipt }: ReceiptFile,
  flags: VerifyFlags,
  bundle: Bundle | undefined,
): Promise<Pick<VerifyReceiptOptions, 'inputRoot' | 'outputRoot' | 'zkProof'>> {
  const key = receipt.lane === 'zk' ? await keyOf(flags, bundle) : undefined;
  if (key !== undefined) return readerChecks(key, bundle);
  if (bundle === undefined) return {};
  const { graph } = bundle;
  const integers = (tensors: readonly (readonly number[])[]) => tensors.map((values) => Int32Array.from(values));
  return {
    inputRoot: (tensors, items) => inputRoot(graph, integers(tensors), items) as Hex,
    outputRoot: (tensors, items) => outputRoot(graph, integers(tensors), items) as Hex,
  };
}

/** The key from its file, or made from the bundle. */
async function keyOf(flags: VerifyFlags, bundle: Bundle | undefined): Promise<ModelKeyFile | undefined> {
  if (flags.key !== undefined) return decodeModelKey(readInputFile(flags.key), flags.key);
  if (bundle === undefined || (flags.srs === undefined && flags.devSrs !== true)) return undefined;
  const arithmetic = await openArithmetic();
  try {
    const srs = openSrs(flags, predictJob(bundle.graph, 1).srsPoints, arithmetic);
    return { key: new ZkProver({ arithmetic, srs }).keyOf(bundle), srs };
  } finally {
    await arithmetic.close();
  }
}

function readReceipt(file: string): ReceiptFile {
  return parseReceiptFile(new TextDecoder().decode(readInputFile(file)), file);
}

function address(flag: string): Hex {
  if (!/^0x[0-9a-fA-F]{40}$/.test(flag))
    throw new InvalidArgumentError(`expected 0x and 40 hex digits, found "${flag}"`);
  return flag.toLowerCase() as Hex;
}
