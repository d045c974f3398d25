/**
 * Does a proof show what an order's receipt needs? Verifier side only: no prover, no WebAssembly, so that the pipeline,
 * the command line and a browser check the same way. The proof must be of the model that the order names, and tied to
 * this order; what it then shows are the model's outputs on these inputs.
 */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { encodeProofFile } from '../../prover/files/proof-file.js';
import { srsIdOf } from '../../prover/srs/srs.js';
import { checkProof, type ModelKeyFile } from '../../prover/verifier/index.js';
import { SCHEME_CODE } from '../../prover/verifier/kzg-scheme.js';
import { readProofHeader } from '../../prover/verifier/proof.js';
import { ZK_SCHEMES, type ZkEvidence } from '../../receipts/index.js';
import type { Hex } from '../../receipts/types.js';

export interface ProofSubject {
  readonly modelDigest: Hex;
  readonly orderHash: Hex;
  readonly items: number;
  /** One array per graph input, item-major. */
  readonly inputs: readonly Int32Array[];
}

/** `outputs`: one array per graph output, item-major. */
export type ShownOutputs =
  | { readonly verdict: 'valid'; readonly outputs: readonly Int32Array[] }
  | { readonly verdict: 'invalid'; readonly reason: string };

/**
 * Whether the development reference string may be relied on is for the caller to say (`requireProductionSrs`).
 * @param key from anybody: it is held against the digest
 * @param published the integers that the proof is about, one array per output of the key's program
 */
export function checkOrderProof(
  key: ModelKeyFile,
  { modelDigest, orderHash, items, inputs }: ProofSubject,
  proof: Uint8Array,
  published: readonly Int32Array[],
): ShownOutputs {
  if (bytesToHex(key.key.srsId) !== bytesToHex(srsIdOf(key.srs)))
    return {
      verdict: 'invalid',
      reason: 'the model key was made with another reference string than the one given with it',
    };
  const bound = orderBytes(orderHash);
  const file = encodeProofFile({ bound, groups: [{ modelDigest, items, inputs, outputs: published }], proof });
  const checked = checkProof(file, [key], { acceptDevelopmentSrs: true, bound });
  return checked.verdict === 'valid' ? { verdict: 'valid', outputs: checked.groups[0]!.outputs } : checked;
}

/** The bytes that the proof for an order is tied to. */
export const orderBytes = (orderHash: Hex): Uint8Array => hexToBytes(orderHash.slice(2));

/** Which scheme the bytes are of. @throws AssayError PROOF_INVALID */
export function schemeOf(proof: Uint8Array): ZkEvidence['scheme'] {
  const { scheme } = readProofHeader(proof);
  const name = ZK_SCHEMES.find((known) => SCHEME_CODE[known] === scheme);
  if (name === undefined)
    throw new AssayError('PROOF_INVALID', `the proof names the commitment scheme ${scheme}, which there is not`);
  return name;
}
