/** A Groth16 proof that a circuit accepts its inputs, by snarkjs in a process of its own, with a thread per core. */
import { AssayError } from '../../common/errors.js';
import type { OnProgress } from '../run-apart.js';
import { isProved, runSnarkjs } from '../snarkjs/run-snarkjs.js';
import type { CircuitInputs } from '../snarkjs/types.js';
import { decodeProofObject, type Groth16Proof } from './groth16-proof.js';

export interface ProveOptions {
  /** Path of the .zkey. */
  readonly provingKey: string;
  readonly witnessProgram: Uint8Array;
  readonly inputs: CircuitInputs;
  /** Told snarkjs's lines. */
  readonly onProgress?: OnProgress;
}

export interface CircuitProof {
  readonly proof: Groth16Proof;
  /** Outputs first, then public inputs, in the order of the circuit. */
  readonly publicSignals: readonly bigint[];
  readonly witnessMs: number;
  readonly proveMs: number;
  /** Of all cores together. */
  readonly cpuSeconds: number;
  /** Largest resident memory of the process that proved. */
  readonly peakBytes: number;
}

/** @throws AssayError PROOF_INVALID where the circuit refuses the inputs; INTERNAL where the process ended early. */
export async function proveCircuit({ onProgress, ...task }: ProveOptions): Promise<CircuitProof> {
  const result = await runSnarkjs({ kind: 'prove', ...task }, onProgress);
  if (!isProved(result)) throw new AssayError('INTERNAL', 'snarkjs was asked for a proof and gave none');
  const { proof, publicSignals, witnessMs, proveMs, cpuSeconds, peakBytes } = result;
  return {
    proof: decodeProofObject(proof),
    publicSignals: publicSignals.map(BigInt),
    witnessMs,
    proveMs,
    cpuSeconds,
    peakBytes,
  };
}
