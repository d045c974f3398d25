import type { IntegerGraph } from '../graph/integer/types.js';
import { hyperKzg } from './opening/hyperkzg.js';
import { mercury } from './opening/mercury.js';
import { buildProgram } from './program/build-program.js';
import { chooseColumnBits, predictProof, type ProofPrediction } from './prover/predict.js';
import type { SchemeName } from './prover/zk-prover.js';

/**
 * What a proof of one batch of a model will cost; needs neither a reference string nor the prover's arithmetic.
 * @throws AssayError NOT_PROVABLE naming the node; PROOF_LIMITS for a batch beyond the protocol or its verifiers.
 */
export function predictJob(graph: IntegerGraph, items: number, scheme: SchemeName = 'mercury'): ProofPrediction {
  const groups = [{ program: buildProgram(graph).program, items }];
  const { proofBytes } = { mercury, hyperkzg: hyperKzg }[scheme];
  return predictProof(groups, chooseColumnBits(groups), (n) => proofBytes(n));
}
