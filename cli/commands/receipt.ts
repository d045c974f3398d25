import type { JsonRpcProvider } from 'ethers';
import { Command, InvalidArgumentError, Option } from 'commander';
import { decodeBundle, inputRoot, makeBundle, outputRoot, type Bundle } from '../../graph/index.js';
import { readerChecks } from '../../pipeline/zk/reader-checks.js';
import {
  decodeModelKey,
  modelKeyDigest,
  modelKeyHash,
  requireProductionSrs,
  type ModelKeyFile,
} from '../../prover/index.js';
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
import { describeSrs, keyOfBundle, withSrsOptions, type SrsFlags } from '../reference-string.js';
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
    .addOption(
      new Option(
        '--key <file>',
        'the key of the model (.assaykey): checks the proof of a receipt of the zk lane; --bundle with --srs or --dev-srs makes it anew',
      ).conflicts('srs'),
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
    const key = await keyOf(flags, bundle);
    const model = modelChecks(flags, key, bundle);
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
      const { verdict } = check;
      const srs = key === undefined ? undefined : describeSrs(key);
      const lines = Object.entries(check.checks).map(
        ([name, result]) => `  ${name.padEnd(10)} ${result.verdict}${'reason' in result ? `: ${result.reason}` : ''}`,
      );
      if (srs !== undefined) lines.push(`  ${srs.text}`);
      terminal.result(
        { file, rollup, ...check, ...(srs === undefined ? {} : { srsId: srs.srsId, development: srs.development }) },
        `${verdict.verdict}${'reason' in verdict ? `: ${verdict.reason}` : ''}\n${lines.join('\n')}\n  on chain   ${check.status ?? (receiptFile.batch === undefined ? 'not posted' : 'not answered')}`,
      );
      process.exitCode = exitCodeOfVerdict(verdict);
    } finally {
      provider?.destroy();
    }
  });
}

/**
 * @throws AssayError CONFIG_INVALID where the chain has to be asked, and a flag for that is missing; and for a flag that
 * would check a proof, where none is promised.
 */
function checkFlags({ receipt: { lane } }: ReceiptFile, { rpc, rollup, key, srs, devSrs }: VerifyFlags): void {
  const isZk = lane === 'zk';
  if (rpc === undefined ? !isZk : rollup === undefined) {
    const missing = rpc === undefined ? '--rpc' : '--rollup';
    throw new AssayError(
      'CONFIG_INVALID',
      `a receipt of the ${lane} lane is checked against the chain: ${missing} is missing`,
      { mend: 'Give --rpc URL and --rollup ADDRESS.', meta: { flag: missing } },
    );
  }
  const needless = key !== undefined ? '--key' : srs !== undefined ? '--srs' : devSrs ? '--dev-srs' : undefined;
  if (!isZk && needless !== undefined)
    throw new AssayError('CONFIG_INVALID', `a receipt of the ${lane} lane has no proof that ${needless} could check`, {
      mend: `Leave out ${needless}.`,
      meta: { flag: needless },
    });
}

/** What can be checked with the files of the model that the reader has. */
function modelChecks(
  { rpc, devSrs }: VerifyFlags,
  key: ModelKeyFile | undefined,
  bundle: Bundle | undefined,
): Pick<VerifyReceiptOptions, 'modelDigest' | 'inputRoot' | 'outputRoot' | 'zkProof'> {
  if (key !== undefined) {
    // The chain that the receipt names is the word of its writer as long as no endpoint is asked for its id.
    if (rpc === undefined && devSrs !== true) requireProductionSrs(key.key.srsId, undefined);
    return readerChecks(key, bundle);
  }
  if (bundle === undefined) return {};
  const { graph, digest } = bundle;
  const integers = (tensors: readonly (readonly number[])[]) => tensors.map((values) => Int32Array.from(values));
  return {
    modelDigest: digest as Hex,
    inputRoot: (tensors, items) => inputRoot(graph, integers(tensors), items) as Hex,
    outputRoot: (tensors, items) => outputRoot(graph, integers(tensors), items) as Hex,
  };
}

/**
 * The key from its file, or made from the bundle.
 * @throws AssayError CONFIG_INVALID for the files of two models.
 */
async function keyOf(flags: VerifyFlags, bundle: Bundle | undefined): Promise<ModelKeyFile | undefined> {
  if (flags.key === undefined) {
    if (bundle === undefined || (flags.srs === undefined && flags.devSrs !== true)) return undefined;
    return keyOfBundle(flags, bundle);
  }
  const key = decodeModelKey(readInputFile(flags.key), flags.key);
  const digest = modelKeyDigest(key.key);
  if (bundle !== undefined && makeBundle({ ...bundle, modelKeyHash: modelKeyHash(key.key) }).digest !== digest)
    throw new AssayError('CONFIG_INVALID', `${flags.key} is the key of another model than ${flags.bundle}`, {
      mend: 'Give the key and the bundle of one model, or one of the two.',
      meta: { flag: '--key', modelDigest: digest },
    });
  return key;
}

function readReceipt(file: string): ReceiptFile {
  return parseReceiptFile(new TextDecoder().decode(readInputFile(file)), file);
}

function address(flag: string): Hex {
  if (!/^0x[0-9a-fA-F]{40}$/.test(flag))
    throw new InvalidArgumentError(`expected 0x and 40 hex digits, found "${flag}"`);
  return flag.toLowerCase() as Hex;
}
