/**
 * What joins the circuit of a batch and its contract: the list x of everything that the contract uses of a joint proof, in
 * the order that the verification key fixes, is the same on both sides (templates/joining.circom).
 */
import { add, mul } from '../../prover/field/fr.js';
import { asciiElement, PoseidonHash } from './transcript.js';

/** Where the digest of x starts. */
export const JOINING_START = asciiElement('assay/joining/1');

/** c. @param x field elements below r; their number is a constant of the verification key. */
export function joiningDigest(x: readonly bigint[]): bigint {
  const hash = new PoseidonHash(JOINING_START);
  hash.absorb('scalars', x, x.length);
  return hash.state;
}

/** E = sum of rho^i x_i, i from 1. */
export const joiningValue = (x: readonly bigint[], rho: bigint): bigint =>
  x.reduceRight((sum, value) => mul(add(sum, value), rho), 0n);
