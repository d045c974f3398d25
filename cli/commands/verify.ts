import { Command, Option } from 'commander';
import { hexToBytes } from '@noble/hashes/utils.js';
import { decodeBundle, type Bundle } from '../../graph/index.js';
import { readerChecks } from '../../pipeline/zk/reader-checks.js';
import {
  checkProof,
  decodeModelKey,
  decodeProofFile,
  modelKeyDigest,
  requireProductionSrs,
  type ModelKeyFile,
  type ProofVerdict,
} from '../../prover/index.js';
import { parseReceiptFile, type ReceiptFile, type Verdict } from '../../receipts/index.js';
import { AssayError } from '../../common/errors.js';
import { isEzklFile } from '../../prover/backends/ezkl/ezkl-file.js';
import { exitCodeOfVerdict } from '../exit-codes.js';
import { verifyWithEzkl } from '../ezkl-proof.js';
import { readInputFile } from '../files.js';
import { outputsText, readableOutputs } from '../outputs.js';
import { describeSrs, keyOfBundle, withSrsOptions, type SrsFlags } from '../reference-string.js';
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
    .addOption(new Option('--key <file>', 'the key of the model (.assaykey)').conflicts(['bundle', 'srs']))
    .option(
      '--bundle <file>',
      'the model (.assay): its key is made again, from --srs or --dev-srs, and must be the one meant',
    )
    .option('--receipt <file>', 'a receipt that the proof must belong to');
  return withSrsOptions(command).action(async (file: string, flags: VerifyFlags, own: Command) => {
    const proof = readInputFile(file);
    if (isEzklFile(proof)) return verifyWithEzkl(file, flags.key ?? null, terminalOf(own));
    const receipt =
      flags.receipt === undefined
        ? undefined
        : parseReceiptFile(new TextDecoder().decode(readInputFile(flags.receipt)), flags.receipt);
    const { key, bundle } = await openKey(flags);
    // Nothing asks a chain here, and the one that a receipt names is the word of its writer.
    if (flags.devSrs !== true) requireProductionSrs(key.key.srsId, undefined);
    const given = modelKeyDigest(key.key);
    const other = otherModel(proof, given);
    const startedAt = performance.now();
    const checked = checkProof(proof, [key], {
      acceptDevelopmentSrs: true,
      name: file,
      ...(receipt === undefined ? {} : { bound: hexToBytes(receipt.receipt.orderHash.slice(2)) }),
    });
    const verifyMs = performance.now() - startedAt;
    const verdict: Verdict =
      other !== undefined
        ? // Not the key of its model: that says nothing about the proof.
          { verdict: 'undetermined', reason: `the key is of model ${given}, the proof is about ${other}` }
        : checked.verdict === 'invalid'
          ? checked
          : receipt === undefined
            ? { verdict: 'valid' }
            : receiptVerdict(receipt, checked, key, bundle);
    const groups = checked.verdict === 'valid' ? checked.groups : [];
    const lines = groups.flatMap(({ modelDigest, items, outputs }) => [
      `  model ${modelDigest}, ${items} item${items === 1 ? '' : 's'}`,
      bundle === undefined
        ? outputs.map((values, i) => `  output ${i} as integers: ${values.join(', ')}`).join('\n')
        : outputsText(readableOutputs(bundle, outputs, items), items),
    ]);
    const { srsId, development, text } = describeSrs(key);
    lines.push(`  ${text}`);
    terminalOf(own).result(
      {
        file,
        verdict,
        verifyMs,
        srsId,
        development,
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
  return { key: await keyOfBundle(flags, bundle), bundle };
}

/** The first model of a proof file that is not the one given; undefined where all are, or the bytes are no proof file. */
function otherModel(file: Uint8Array, given: string): string | undefined {
  try {
    return decodeProofFile(file, 'proof file').groups.find(({ modelDigest }) => modelDigest !== given)?.modelDigest;
  } catch (error) {
    if (error instanceof AssayError && error.code === 'PROOF_INVALID') return undefined;
    throw error;
  }
}

/** Whether a proof that holds says what the receipt says; the signature and the chain are for `assay receipt verify`. */
function receiptVerdict(
  { receipt }: ReceiptFile,
  { groups }: Extract<ProofVerdict, { verdict: 'valid' }>,
  key: ModelKeyFile,
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
  const rootOf = readerChecks(key, bundle);
  let verdict: Verdict = { verdict: 'valid' };
  for (const [what, tensors, root, expected] of [
    ['input', group!.inputs, rootOf.inputRoot, receipt.inputRoot],
    ['output', group!.outputs, rootOf.outputRoot, receipt.outputRoot],
  ] as const) {
    const lists = tensors.map((values) => Array.from(values));
    const found = root(lists, group!.items, expected);
    if (typeof found !== 'string') verdict = { ...found, reason: `${what}: ${found.reason}` };
    else if (found !== expected) return invalid(`the ${what} of the proof has root ${found}, the receipt ${expected}`);
  }
  return verdict;
}
