/** The proof of a receipt of the zk lane as the contract that checks it wants it. */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { decodeBundle, makeBundle, type Bundle } from '../../graph/index.js';
import { directEvidenceOf, readerChecks } from '../../pipeline/index.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import { publicationOf, type Publication } from '../../prover/files/direct-evidence.js';
import { decodeModelKey, modelKeyDigest, modelKeyHash, type ModelKeyFile } from '../../prover/index.js';
import { verifyReceipt, type Hex, type ReceiptFile } from '../../receipts/index.js';
import { readInputFile } from '../files.js';
import { keyOfBundle, type SrsFlags } from '../reference-string.js';

export interface EvidenceFlags extends SrsFlags {
  /** File of the model's key. */
  key?: string;
  /** File of the model. */
  bundle?: string;
}

export interface PostableProof {
  readonly evidence: Hex;
  /** What the verifier must have before. */
  readonly publication: Publication;
}

/**
 * The same from a receipt file, whose proof is checked first: a proof that does not hold costs no gas.
 * @param path for the message
 * @throws AssayError CONFIG_INVALID where the model is not given, PROOF_INVALID, FILE_NOT_FOUND ...
 */
export async function proofEvidence(path: string, file: ReceiptFile, flags: EvidenceFlags): Promise<PostableProof> {
  const { receipt, evidence, inputs } = file;
  const missing = (what: string, mend: string): AssayError =>
    new AssayError('CONFIG_INVALID', `${path}: ${what}`, { mend, meta: { file: path } });
  if (evidence === undefined || inputs === undefined)
    throw missing('carries no proof with its inputs', 'Wait until the receipt is proved, and fetch its file again.');
  if (flags.bundle === undefined)
    throw missing('a receipt of the zk lane is posted with its model: --bundle is missing', 'Give --bundle FILE.');
  const given = decodeBundle(readInputFile(flags.bundle), flags.bundle);
  const key = await keyFor(flags, given);
  const digest = modelKeyDigest(key.key);
  if (digest !== receipt.modelDigest)
    throw missing(
      `it is of model ${receipt.modelDigest}, the key and bundle given of ${digest}`,
      'Give those of its model.',
    );
  const published = evidence.published ?? file.outputs;
  if (published === undefined) throw missing('carries no outputs', 'Give the file with its outputs.');
  const { checks } = await verifyReceipt(file, readerChecks(key, given));
  if (checks.proof?.verdict !== 'valid')
    throw new AssayError('PROOF_INVALID', `${path}: ${checks.proof?.reason ?? 'the proof was not checked'}`, {
      meta: { file: path },
    });
  const integers = (tensors: readonly (readonly number[])[]) => tensors.map((values) => Int32Array.from(values));
  const proof = hexToBytes(evidence.proof.slice(2));
  const bytes = directEvidenceOf({
    key,
    graph: given.graph,
    receipt,
    inputs: integers(inputs),
    published: integers(published),
    proof,
  });
  const program = encodeProgram(key.key.program);
  return { evidence: `0x${bytesToHex(bytes)}`, publication: publicationOf(program, receipt.items, proof) };
}

async function keyFor(flags: EvidenceFlags, bundle: Bundle): Promise<ModelKeyFile> {
  if (flags.key === undefined) return keyOfBundle(flags, bundle);
  const key = decodeModelKey(readInputFile(flags.key), flags.key);
  if (makeBundle({ ...bundle, modelKeyHash: modelKeyHash(key.key) }).digest !== modelKeyDigest(key.key))
    throw new AssayError('CONFIG_INVALID', `${flags.key} is the key of another model than ${flags.bundle}`, {
      mend: 'Give the key and the bundle of one model.',
      meta: { flag: '--key' },
    });
  return key;
}
