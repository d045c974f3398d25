/** A Groth16 proof over BN254: three points, as affine coordinates below q. */
import type { Proof } from 'snarkjs';

export type G1Coordinates = readonly [x: bigint, y: bigint];
/** x = x[0] + x[1] i, y likewise. */
export type G2Coordinates = readonly [x: readonly [bigint, bigint], y: readonly [bigint, bigint]];

export interface Groth16Proof {
  readonly a: G1Coordinates;
  readonly b: G2Coordinates;
  readonly c: G1Coordinates;
}

/** From the object that snarkjs gives. */
export function decodeProofObject({ pi_a, pi_b, pi_c }: Proof): Groth16Proof {
  const pair = (of: readonly string[]): [bigint, bigint] => [BigInt(of[0]!), BigInt(of[1]!)];
  return { a: pair(pi_a), b: [pair(pi_b[0]!), pair(pi_b[1]!)], c: pair(pi_c) };
}
