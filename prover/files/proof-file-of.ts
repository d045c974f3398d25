import { modelKeyDigest } from '../verifier/model-key.js';
import type { Statement } from '../verifier/statement.js';
import { encodeProofFile } from './proof-file.js';

/**
 * The file of a proof that was just made.
 * @param bound what the prover was told to tie it to.
 */
export function proofFileOf(
  { groups }: Statement,
  proof: Uint8Array,
  bound: Uint8Array = new Uint8Array(0),
): Uint8Array {
  return encodeProofFile({
    bound,
    proof,
    groups: groups.map(({ key, items, inputs, outputs }) => ({
      modelDigest: modelKeyDigest(key),
      items,
      inputs,
      outputs,
    })),
  });
}
