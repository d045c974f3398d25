/**
 * The public face of the prover room (Node; for checking alone, also in a browser, there is verifier/index.ts):
 *
 *   const arithmetic = await openArithmetic();
 *   const prover = new ZkProver({ arithmetic, srs: decodeSrs(await readFile('ceremony.srs'), 'ceremony.srs') });
 *   const key = encodeModelKey({ key: prover.keyOf(bundle), srs });            // once per model
 *   const { statement, proof } = prover.prove([{ bundle, items, inputs }]);
 *   const file = proofFileOf(statement, proof);
 *   checkProof(file, [decodeModelKey(key, 'key')]);
 */
export * from './verifier/index.js';
export { encodeModelKey } from './files/model-key-file.js';
export { encodeProofFile } from './files/proof-file.js';
export { proofFileOf } from './files/proof-file-of.js';
export { predictJob } from './predict-job.js';
export type { ProofPrediction } from './prover/predict.js';
export { PROOF_PHASES, type ProofPhase } from './prover/prove.js';
export { ZkProver, type Proved, type ProveJob, type SchemeName, type ZkProverOptions } from './prover/zk-prover.js';
export { developmentSrs } from './srs/development-cache.js';
export { isDevelopmentSrs } from './srs/development-srs.js';
export { requireProductionSrs } from './srs/require-production-srs.js';
export { decodeSrs } from './srs/srs-file.js';
export { srsIdOf, srsSize, type Srs, type SrsHead } from './srs/srs.js';
export type { Arithmetic } from './wasm/arithmetic.js';
export { openArithmetic, type NodeArithmeticOptions } from './wasm/node-arithmetic.js';
