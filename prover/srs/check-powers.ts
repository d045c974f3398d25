/**
 * Are the points of an SRS the powers of one tau, the one of tau H?
 *
 *   1. Every P_i is a point of G1; P_0 is the generator, P_1 the stated tau G1; tau H is in the subgroup of G2, and
 *      e(P_1, H) = e(G1, tau H) (srs.ts).
 *   2. For a random rho: A = sum_i rho^i P_i and B = sum_i rho^i P_{i+1} over i = 0..N-2 satisfy e(B, H) = e(A, tau H).
 *      If some P_{i+1} is not tau P_i, that holds for fewer than N of the r values of rho.
 *   3. tau is neither 0 nor 1: a ceremony file without any contribution has tau = 1.
 * A wrong SRS costs a prover its proofs and a verifier nothing but step 1; step 2 finds a damaged or foreign file early.
 */
import { AssayError } from '../../common/errors.js';
import { decodeG1, G1_BYTES, G1_GENERATOR } from '../curve/g1.js';
import { pairingHolds } from '../curve/pairing.js';
import { FR_MODULUS } from '../field/bn254.params.js';
import { fromBytes, powers } from '../field/fr.js';
import { openingKey, srsSize, type Srs } from './srs.js';

/** sum_i scalars[i] P_i for encoded points: the backend's way of computing it. */
export type MultiScalarMultiplication = (points: Uint8Array, scalars: readonly bigint[]) => Uint8Array;

/** @throws AssayError SRS_INVALID naming the step that fails. */
export function checkPowers(srs: Srs, msm: MultiScalarMultiplication): void {
  const size = srsSize(srs);
  if (!Number.isInteger(size) || size < 2)
    throw new AssayError(
      'SRS_INVALID',
      `SRS: expected at least two points of 64 bytes, found ${srs.points.length} bytes`,
    );
  const point = (i: number) =>
    decodeG1(srs.points.subarray(i * G1_BYTES, (i + 1) * G1_BYTES), `SRS: point ${i}`, 'SRS_INVALID');
  for (let i = 0; i < size; i++) point(i);
  if (!point(0).equals(G1_GENERATOR)) throw new AssayError('SRS_INVALID', 'SRS: point 0 is not the generator of G1');
  if (!point(1).equals(decodeG1(srs.tauG1, 'SRS: tau G1', 'SRS_INVALID')))
    throw new AssayError('SRS_INVALID', 'SRS: point 1 is not the stated tau G1');
  if (point(1).equals(G1_GENERATOR))
    throw new AssayError('SRS_INVALID', 'SRS: tau is 1, nobody has contributed to this file yet');
  const { lines } = openingKey(srs);

  const rho = fromBytes(crypto.getRandomValues(new Uint8Array(32))) % FR_MODULUS;
  const weights = powers(rho, size - 1);
  const upTo = (from: number) =>
    decodeG1(msm(srs.points.subarray(from * G1_BYTES, (from + size - 1) * G1_BYTES), weights), 'SRS: sum');
  if (!pairingHolds(upTo(1), upTo(0), lines))
    throw new AssayError('SRS_INVALID', 'SRS: the points are not the powers of one tau');
}
