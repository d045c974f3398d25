/**
 * The file of a proof: the proof and all that it is about, to be checked with the keys of its models and nothing else.
 *
 *   "assayprv" | uint32 version 1 | uint32 length of what the proof is bound to | those bytes (an order's hash; or none)
 *   | uint32 groups | per group: model digest (32) | uint32 items
 *                     | uint32 inputs | inputs (files/integers.ts) | uint32 outputs | outputs
 *   | uint32 length of the proof | proof (verifier/proof.ts)
 *
 * Outputs are the published tensors: where a model ends in an ArgMax, its operand. There is one file for one content.
 */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { MAX_GROUPS, MAX_ITEMS } from '../plan/plan.js';
import { readProofHeader } from '../verifier/proof.js';
import { ByteReader, ByteWriter } from './bytes.js';
import { readIntegers, writeIntegers } from './integers.js';

const MAGIC = 'assayprv';
const VERSION = 1;
const HASH_BYTES = 32;
/** What a proof may be bound to. */
const MAX_BOUND_BYTES = 1024;
/** Inputs or outputs of one model. */
const MAX_TENSORS = 256;

/** One model and a batch: integers item-major, row-major inside an item. */
export interface ProofFileGroup {
  /** 0x-hex of 32 bytes. */
  readonly modelDigest: string;
  readonly items: number;
  readonly inputs: readonly Int32Array[];
  readonly outputs: readonly Int32Array[];
}

export interface ProofFile {
  /** What the proof is tied to, such as the hash of an order; empty where nothing is. */
  readonly bound: Uint8Array;
  readonly groups: readonly ProofFileGroup[];
  readonly proof: Uint8Array;
}

export function encodeProofFile({ bound, groups, proof }: ProofFile): Uint8Array {
  const out = new ByteWriter()
    .raw(new TextEncoder().encode(MAGIC))
    .u32(VERSION)
    .u32(bound.length)
    .raw(bound)
    .u32(groups.length);
  for (const { modelDigest, items, inputs, outputs } of groups) {
    out.raw(hexToBytes(modelDigest.slice(2))).u32(items);
    for (const tensors of [inputs, outputs]) {
      out.u32(tensors.length);
      for (const values of tensors) writeIntegers(out, values);
    }
  }
  return out.u32(proof.length).raw(proof).done();
}

/**
 * Reads the form; whether the proof holds is for checkProof().
 * @param name of the file, for messages.
 * @throws AssayError PROOF_INVALID where the bytes are not exactly a proof file.
 */
export function decodeProofFile(file: Uint8Array, name: string): ProofFile {
  const input = new ByteReader(
    file,
    (message) => new AssayError('PROOF_INVALID', `${name}: ${message}`, { meta: { file: name } }),
  );
  const count = (what: string, least: number, most: number): number => {
    const found = input.u32(what);
    if (found < least || found > most) throw input.refuse(`${what} is ${found}; expected ${least} to ${most}`);
    return found;
  };
  input.head(MAGIC, VERSION, 'a proof file of Assay');
  const bound = input.raw(
    count('the length of what the proof is bound to', 0, MAX_BOUND_BYTES),
    'what the proof is bound to',
  );
  const groups = Array.from({ length: count('the number of groups', 1, MAX_GROUPS) }, (_, g): ProofFileGroup => {
    const modelDigest = `0x${bytesToHex(input.raw(HASH_BYTES, `the model digest of group ${g}`))}`;
    const items = count(`the number of items of group ${g}`, 1, MAX_ITEMS);
    const tensors = (kind: string): Int32Array[] =>
      Array.from({ length: count(`the number of ${kind}s of group ${g}`, 0, MAX_TENSORS) }, (_tensor, i) =>
        readIntegers(input, `${kind} ${i} of group ${g}`),
      );
    return { modelDigest, items, inputs: tensors('input'), outputs: tensors('output') };
  });
  const proof = input.raw(input.u32('the length of the proof'), 'the proof');
  input.end();
  readProofHeader(proof);
  return { bound, groups, proof };
}
