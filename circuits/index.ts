/** What other rooms use of the circuits. */
export { circuitSources } from './compile/circuit-sources.js';
export { compileCircuit, type CompileOptions } from './compile/compile-circuit.js';
export type { CircuitSources, CompiledCircuit, Simplification } from './compile/types.js';
export { joiningDigest, joiningValue } from './poseidon/joining.js';
export { PoseidonTranscript } from './poseidon/transcript.js';
export type { Groth16Proof } from './prove/groth16-proof.js';
export { proveCircuit, type CircuitProof, type ProveOptions } from './prove/prove-circuit.js';
export { verifyGroth16 } from './prove/verify-groth16.js';
export { circuitSize, type CircuitSize } from './r1cs/circuit-size.js';
export { readR1cs, type R1cs } from './r1cs/read-r1cs.js';
export { undeterminedWires, type Argument, type UndeterminedWires } from './r1cs/undetermined-wires.js';
export { developmentKey, type CircuitKey, type DevelopmentKeyOptions } from './setup/development-key.js';
export type { SetupProgress } from './setup/make-zkey.js';
export { predictSetup, type SetupCost } from './setup/predict-setup.js';
export {
  contribute,
  finishCeremony,
  startCeremony,
  verifyKey,
  type Beacon,
  type PreparedPowers,
} from './setup/production-setup.js';
export { readZkeyHead, type VerificationKey, type ZkeyHead } from './setup/read-zkey.js';
export { isDevelopmentKey, requireProductionKey } from './setup/require-production-key.js';
export { snarkjsKey } from './setup/snarkjs-key.js';
export type { CircuitInputs, Signal } from './snarkjs/types.js';
