/**
 * Verification alone: small, without a prover, without WebAssembly and without anything of Node, for browsers too.
 *
 *   const key = decodeModelKey(keyBytes, 'lenet5.assaykey');
 *   const verdict = checkProof(proofBytes, [key]);
 *   if (verdict.verdict === 'valid') verdict.groups[0].outputs  // of the model verdict.groups[0].modelDigest
 */
export { decodeModelKey, type ModelKeyFile } from '../files/model-key-file.js';
export { decodeProofFile, type ProofFile, type ProofFileGroup } from '../files/proof-file.js';
export { checkProof, type CheckProofOptions, type ProofVerdict, type ProvedGroup } from './check-proof.js';
export { modelKeyDigest, modelKeyHash, type ModelKey } from './model-key.js';
