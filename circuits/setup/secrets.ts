/**
 * The secrets of a Groth16 set-up. Whoever knows them can prove anything, so the ones written here are for development
 * only: tests, the demo and the local development chain. They are the same for every circuit, so alpha G1, beta H and
 * delta H are too, and a verification key made with them is known wherever it turns up (require-production-key.ts).
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { fromBytes } from '../../prover/field/fr.js';

/** Elements of Fr other than 0, gamma and delta different. */
export interface SetupSecrets {
  readonly tau: bigint;
  readonly alpha: bigint;
  readonly beta: bigint;
  readonly gamma: bigint;
  readonly delta: bigint;
}

const everybodyKnows = (name: string): bigint =>
  fromBytes(keccak_256(new TextEncoder().encode(`assay development Groth16 set-up: everybody knows this ${name}`))) %
  FR_MODULUS;

/** For development only: the secrets that nobody may know of a real set-up. */
export const DEVELOPMENT_SECRETS: SetupSecrets = {
  tau: everybodyKnows('tau'),
  alpha: everybodyKnows('alpha'),
  beta: everybodyKnows('beta'),
  // As snarkjs leaves it: in all of its keys gamma H is H, which spares a contract one pairing. Nobody need keep it secret.
  gamma: 1n,
  delta: everybodyKnows('delta'),
};
