/** A receipt as a stranger checks it, in every lane: against the chain, or by its proof, or both. */
import { Command, Option } from 'commander';
import type { JsonRpcProvider } from 'ethers';
import { decodeBundle, makeBundle, outputRoot, type Bundle } from '../../../graph/index.js';
import { inputRootOf } from '../../../pipeline/zk/input-root-of.js';
import { readerChecks } from '../../../pipeline/zk/reader-checks.js';
import {
  decodeModelKey,
  modelKeyDigest,
  modelKeyHash,
  requireProductionSrs,
  type ModelKeyFile,
} from '../../../prover/index.js';
import {
  SETTLEMENTS,
  verifyReceipt,
  type Hex,
  type ReceiptFile,
  type ReceiptStatus,
  type Settlement,
  type VerifyReceiptOptions,
} from '../../../receipts/index.js';
import { AssayError } from '../../../common/errors.js';
import { connectChain } from '../../../verifier-contracts/connect-chain.js';
import { RollupClient } from '../../../verifier-contracts/rollup-client.js';
import { EXIT, exitCodeOfVerdict } from '../../exit-codes.js';
import { readInputFile } from '../../files.js';
import { describeSrs, keyOfBundle, withSrsOptions, type SrsFlags } from '../../reference-string.js';
import { address } from '../../settlement/open-deployment.js';
import { readReceipt } from '../../settlement/placed-receipt.js';
import { terminalOf } from '../common-options.js';

interface VerifyFlags extends SrsFlags {
  rpc?: string;
  rollup?: Hex;
  bundle?: string;
  key?: string;
  settlement: Settlement;
}

export function verifyCommand(): Command {
  const command = new Command('verify')
    .description(
      'Check signature, terms, path and status on chain, or the proof. Needs the file and an RPC endpoint or the key of the model, nothing of ours.',
    )
    .addHelpText(
      'after',
      '\nExample: assay receipt verify receipt.json --rpc http://127.0.0.1:8545 --rollup 0x... --bundle model.assay',
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
      const checkedOnChain =
        key === undefined && (await chainStatus(receiptFile, flags, provider, flags.settlement)) === 'final-zk';
      const check = await verifyReceipt(receiptFile, {
        provider,
        rollup,
        settlement: flags.settlement,
        ...model,
        ...(checkedOnChain ? { zkProof: shownByTheChain } : {}),
      });
      const { verdict, status } = check;
      const depth = await depthOf(receiptFile, status, flags, provider);
      const srs = key === undefined ? undefined : describeSrs(key);
      const lines = Object.entries(check.checks).map(
        ([name, result]) => `  ${name.padEnd(10)} ${result.verdict}${'reason' in result ? `: ${result.reason}` : ''}`,
      );
      if (srs !== undefined) lines.push(`  ${srs.text}`);
      const onChain = status ?? (receiptFile.batch === undefined ? 'not posted' : 'not answered');
      terminal.result(
        {
          file,
          rollup,
          ...check,
          depth,
          ...(srs === undefined ? {} : { srsId: srs.srsId, development: srs.development }),
        },
        `${verdict.verdict}${'reason' in verdict ? `: ${verdict.reason}` : ''}\n${lines.join('\n')}\n  on chain   ${onChain}${depth === null ? '' : `, ${depth}`}`,
      );
      process.exitCode = exitCodeOfVerdict(verdict);
    } finally {
      provider?.destroy();
    }
  });
}

/** What the contract says at that depth; null where there is nothing to ask, or no answer. */
async function chainStatus(
  { receipt, domain, batch }: ReceiptFile,
  { rollup }: VerifyFlags,
  provider: JsonRpcProvider | undefined,
  depth: Settlement,
): Promise<ReceiptStatus | null> {
  if (batch === undefined || provider === undefined || rollup === undefined) return null;
  const client = new RollupClient({ provider, domain: { ...domain, verifyingContract: rollup }, fromBlock: 0 });
  try {
    return await client.statusOf(receipt, batch.index, batch.path, batch.header, SETTLEMENTS[depth]);
  } catch (error) {
    // Older than the contract, or a node without that head: `checks.status` says what is the matter.
    if (error instanceof AssayError) return null;
    throw error;
  }
}

/**
 * A receipt that the chain calls final in the zk lane was posted with a proof that the policy's verifier has checked: this
 * model gives the receipt's output root on its input root. A reader without a key of the model has that word for it.
 */
const shownByTheChain: NonNullable<VerifyReceiptOptions['zkProof']> = ({ outputs }) =>
  outputs === undefined
    ? { verdict: 'undetermined', reason: 'the file does not carry the outputs that the chain vouches for' }
    : { outputs };

/**
 * How deep in the chain that status lies: finalized, safe, or soft, which a reorganisation may still take back.
 * @returns null where the chain did not give that status, or does not answer now
 */
async function depthOf(
  file: ReceiptFile,
  status: ReceiptStatus | null,
  flags: VerifyFlags,
  provider: JsonRpcProvider | undefined,
): Promise<Settlement | null> {
  if (status === null) return null;
  for (const depth of ['finalized', 'safe', 'soft'] as const)
    if ((await chainStatus(file, flags, provider, depth)) === status) return depth;
  return null;
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
    inputRoot: inputRootOf(graph),
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
