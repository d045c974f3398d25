/**
 * A circuit for a shape of batch, ready to wrap joint proofs: compiled and keyed, both from the cache where they are there.
 *
 *   const circuit = await openBatchCircuit(shape);
 *   const joint = proveJoint(prover, shape, groups, place);
 *   const { proof } = await wrapJoint(circuit, joint);
 *   const evidence = encodeEvidence(record, shape, joint, proof, groups);
 */
import { compileCircuit } from '../compile/compile-circuit.js';
import type { CompiledCircuit } from '../compile/types.js';
import { proveCircuit, type CircuitProof } from '../prove/prove-circuit.js';
import { developmentKey } from '../setup/development-key.js';
import type { SetupProgress } from '../setup/make-zkey.js';
import { readZkeyHead, type VerificationKey } from '../setup/read-zkey.js';
import { buildVerifierCircuit } from '../verifier/build-circuit.js';
import { verifierSources } from '../verifier/render-circuit.js';
import type { JointProof } from './prove-joint.js';
import type { BatchShape } from './types.js';
import { AssayError } from '../../common/errors.js';

export interface BatchCircuit {
  readonly shape: BatchShape;
  readonly compiled: CompiledCircuit;
  /** Path of the .zkey. */
  readonly provingKey: string;
  readonly verificationKey: VerificationKey;
}

export interface BatchCircuitOptions {
  /** Path of a .zkey from a ceremony over this circuit. @default a development key, made where the cache has none */
  readonly provingKey?: string;
  /** @default `.cache/circuits` in the package's root */
  readonly cacheDir?: string;
  readonly onProgress?: (step: BatchCircuitStep) => void;
}

export type BatchCircuitStep =
  | { readonly kind: 'compile' }
  /** Of the development key: first what it will take. */
  | { readonly kind: 'key'; readonly progress: SetupProgress };

/** @throws AssayError PROOF_LIMITS, CIRCUIT_BUILD_FAILED, CIRCUIT_KEY_INVALID, FILE_NOT_FOUND. */
export async function openBatchCircuit(
  shape: BatchShape,
  { provingKey, cacheDir, onProgress }: BatchCircuitOptions = {},
): Promise<BatchCircuit> {
  const cache = cacheDir === undefined ? {} : { cacheDir };
  const compiled = await compileCircuit(verifierSources(buildVerifierCircuit(shape)), {
    ...cache,
    onProgress: () => onProgress?.({ kind: 'compile' }),
  });
  if (provingKey !== undefined) {
    const { verificationKey } = await readZkeyHead(provingKey);
    return { shape, compiled, provingKey, verificationKey };
  }
  const key = await developmentKey(compiled, {
    ...cache,
    onProgress: (progress) => onProgress?.({ kind: 'key', progress }),
  });
  return { shape, compiled, provingKey: key.provingKey, verificationKey: key.verificationKey };
}

/**
 * The joint proof in Groth16.
 * @throws AssayError PROOF_INVALID where the circuit refuses the joint proof; INTERNAL where its public signals differ.
 */
export async function wrapJoint(
  { compiled, provingKey }: Pick<BatchCircuit, 'compiled' | 'provingKey'>,
  { inputs, c, e, rho }: Pick<JointProof, 'inputs' | 'c' | 'e' | 'rho'>,
  onProgress?: (line: string) => void,
): Promise<CircuitProof> {
  const { witnessProgram } = compiled;
  const proved = await proveCircuit({
    provingKey,
    witnessProgram,
    inputs,
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  const expected = [c, e, rho];
  if (expected.some((signal, i) => proved.publicSignals[i] !== signal))
    throw new AssayError('INTERNAL', 'the circuit of a batch gives other public signals than its prover');
  return proved;
}
