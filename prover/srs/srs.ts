/**
 * The structured reference string (SRS) of the KZG commitments, its name, and what a verifier needs of it.
 *
 * Symbols. tau: a secret element of Fr. P_i = tau^i G1, i = 0..N-1, commits to vectors of up to N entries. H and tau H
 * are points of G2. G1 and H are the standard generators, so tau G1 and tau H say everything about tau.
 *
 *   srsId = keccak256("assay/srs/1" | H | tau H | P_0 | P_1)
 *
 * names tau and not N: a prefix of an SRS has the same id, as commitments made with either are the same points.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { AssayError } from '../../common/errors.js';
import { decodeG1, encodeG1, G1_BYTES, G1_GENERATOR } from '../curve/g1.js';
import { decodeG2, encodeG2, G2_GENERATOR } from '../curve/g2.js';
import { pairingHolds, pairingLines } from '../curve/pairing.js';
import type { OpeningKey } from '../opening/types.js';

/** What names an SRS and lets a verifier use it. */
export interface SrsHead {
  /** tau G1, 64 bytes (curve/g1.ts). */
  readonly tauG1: Uint8Array;
  /** tau H, 128 bytes (curve/g2.ts). */
  readonly tauG2: Uint8Array;
}

/** What a prover needs. */
export interface Srs extends SrsHead {
  /** P_0 .. P_{N-1}, 64 bytes each, at least two. */
  readonly points: Uint8Array;
}

/** N. */
export const srsSize = (srs: Srs): number => srs.points.length / G1_BYTES;

/** 32 bytes. */
export function srsIdOf({ tauG1, tauG2 }: SrsHead): Uint8Array {
  return keccak_256
    .create()
    .update(new TextEncoder().encode('assay/srs/1'))
    .update(encodeG2(G2_GENERATOR))
    .update(tauG2)
    .update(encodeG1(G1_GENERATOR))
    .update(tauG1)
    .digest();
}

/** The first `size` points. @throws AssayError SRS_TOO_SMALL. */
export function srsPrefix(srs: Srs, size: number): Srs {
  if (size > srsSize(srs))
    throw new AssayError('SRS_TOO_SMALL', `the SRS has ${srsSize(srs)} points, ${size} are needed`);
  return { ...srs, points: srs.points.subarray(0, size * G1_BYTES) };
}

/**
 * The verifier's key.
 * @throws AssayError SRS_INVALID: a point is malformed or infinity, or the two do not hold the same tau.
 */
export function openingKey(head: SrsHead): OpeningKey {
  const tauG1 = decodeG1(head.tauG1, 'SRS: tau G1', 'SRS_INVALID');
  const lines = pairingLines(G2_GENERATOR, decodeG2(head.tauG2, 'SRS: tau H'));
  if (tauG1.is0()) throw new AssayError('SRS_INVALID', 'SRS: tau G1 is infinity, so tau is 0');
  if (tauG1.equals(G1_GENERATOR)) throw new AssayError('SRS_INVALID', 'SRS: tau G1 is the generator, so tau is 1');
  if (!pairingHolds(tauG1, G1_GENERATOR, lines))
    throw new AssayError('SRS_INVALID', 'SRS: tau G1 and tau H do not hold the same tau');
  return { srsId: srsIdOf(head), lines };
}
