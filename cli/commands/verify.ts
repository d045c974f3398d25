import { Command, Option } from 'commander';
import { hexToBytes } from '@noble/hashes/utils.js';
import { decodeBundle, inputRoot, outputRoot, type Bundle } from '../../graph/index.js';
import {
  checkProof,
  decodeModelKey,
  isDevelopmentSrs,
  openArithmetic,
  predictJob,
  requireProductionSrs,
  ZkProver,
  type ModelKeyFile,
  type ProofVerdict,
} from '../../prover/index.js';
import { parseReceiptFile, type ReceiptFile, type Verdict } from '../../receipts/index.js';
import { AssayError } from '../../common/errors.js';
import { exitCodeOfVerdict } from '../exit-codes.js';
import { readInputFile } from '../files.js';
import { outputsText, readableOutputs } from '../outputs.js';
import { openSrs, withSrsOptions, type SrsFlags } from '../reference-string.js';
import { terminalOf } from './common-options.js';

interface VerifyFlags extends SrsFlags {
  key?: string;
  bundle?: string;
  receipt?: string;
}

export function verifyCommand(): Command {
  const command = new Command('verify')
    .description('Check a proof with the key of its model, or with the model itself.')
    .argument('<proof>', 'a proof file (.assayproof)')
    .addOption(new Option('--key <file>', 'the key of the model (.assaykey)').conflicts('bundle'))
    .option(
      '--bundle <file>',
      'the model (.assay): its key is made again, from --srs or --dev-srs, and must be the one meant',
    )
    .option('--receipt <file>', 'a receipt that the proof must belong to');
  return withSrsOptions(command).action(async (file: string, flags: VerifyFlags, own: Command) => {
    const proof = readInputFile(file);
    const receipt =
      flags.receipt === undefined
        ? undefined
        : parseReceiptFile(new TextDecoder().decode(readInputFile(flags.receipt)), flags.receipt);
    const { key, bundle } = await openKey(flags);
    // The development reference string counts only where the user or the chain of the receipt says so.
    if (flags.devSrs !== true) requireProductionSrs(key.key.srsId, receipt?.domain.chainId);
    const startedAt = performance.now();
    const checked = checkProof(proof, [key], {
      acceptDevelopmentSrs: true,
      ...(receipt === undefined ? {} : { bound: hexToBytes(receipt.receipt.orderHash.slice(2)) }),
    });
    const verifyMs = performance.now() - startedAt;
    const verdict: Verdict =
      checked.verdict === 'invalid'
        ? checked
        : receipt === undefined
          ? { verdict: 'valid' }
          : receiptVerdict(receipt, checked, bundle);
    const groups = checked.verdict === 'valid' ? checked.groups : [];
    const lines = groups.flatMap(({ modelDigest, items, outputs }) => [
      `  model ${modelDigest}, ${items} item${items === 1 ? '' : 's'}`,
      bundle === undefined
        ? outputs.map((values, i) => `  output ${i} as integers: ${values.join(', ')}`).join('\n')
        : outputsText(readableOutputs(bundle, outputs, items), items),
    ]);
    if (isDevelopmentSrs(key.key.srsId))
      lines.push('  under the development reference string: anybody can forge such a proof');
    terminalOf(own).result(
      {
        file,
        verdict,
        verifyMs,
        development: isDevelopmentSrs(key.key.srsId),
        groups: groups.map(({ modelDigest, items, inputs, outputs }) => ({
          modelDigest,
          items,
          inputs: inputs.map((values) => [...values]),
          outputs: outputs.map((values) => [...values]),
        })),
      },
      [`${verdict.verdict}${'reason' in verdict ? `: ${verdict.reason}` : ''}`, ...lines].join('\n'),
    );
    process.exitCode = exitCodeOfVerdict(verdict);
  });
}

async function openKey(flags: VerifyFlags): Promise<{ key: ModelKeyFile; bundle?: Bundle }> {
  if (flags.key !== undefined) return { key: decodeModelKey(readInputFile(flags.key), flags.key) };
  if (flags.bundle === undefined)
    throw new AssayError('MODEL_KEY_INVALID', 'no key was given to check the proof with', {
      mend: 'Give --key FILE (`assay key` writes it), or --bundle FILE with --srs or --dev-srs.',
    });
  const bundle = decodeBundle(readInputFile(flags.bundle), flags.bundle);
  const arithmetic = await openArithmetic();
  try {
    const srs = openSrs(flags, predictJob(bundle.graph, 1).srsPoints, arithmetic);
    return { key: { key: new ZkProver({ arithmetic, srs }).keyOf(bundle), srs }, bundle };
  } finally {
    await arithmetic.close();
  }
}

/** Whether a proof that holds says what the receipt says; the signature and the chain are for `assay receipt verify`. */
function receiptVerdict(
  { receipt }: ReceiptFile,
  { groups }: Extract<ProofVerdict, { verdict: 'valid' }>,
  bundle: Bundle | undefined,
): Verdict {
  const invalid = (reason: string): Verdict => ({ verdict: 'invalid', reason });
  const [group] = groups;
  if (groups.length !== 1) return invalid(`the proof is about ${groups.length} jobs, a receipt about one`);
  if (receipt.lane !== 'zk') return invalid(`the receipt is of the ${receipt.lane} lane, which promises no proof`);
  if (group!.modelDigest !== receipt.modelDigest)
    return invalid(`the proof is about the model ${group!.modelDigest}, the receipt about ${receipt.modelDigest}`);
  if (group!.items !== receipt.items)
    return invalid(`the proof has ${group!.items} items, the receipt ${receipt.items}`);
  if (bundle === undefined)
    return {
      verdict: 'undetermined',
      reason:
        'the proof holds and names model and order of the receipt; its input and output roots need the model: --bundle',
    };
  const roots = {
    input: [inputRoot(bundle.graph, group!.inputs, group!.items), receipt.inputRoot],
    output: [outputRoot(bundle.graph, group!.outputs, group!.items), receipt.outputRoot],
  };
  for (const [what, [found, expected]] of Object.entries(roots))
    if (found !== expected) return invalid(`the ${what} of the proof has root ${found}, the receipt ${expected}`);
  return { verdict: 'valid' };
}
