/** Checking openings: one at once, or many with one pairing. */
import { AssayError } from '../../common/errors.js';
import { encodeG1, linearCombination } from '../curve/g1.js';
import { pairingHolds } from '../curve/pairing.js';
import { powers } from '../field/fr.js';
import type { Transcript } from '../transcript/transcript.js';
import type { OpeningClaim, OpeningKey, OpeningScheme, PairingClaim } from './types.js';

/**
 * Returns if the proof holds.
 * @throws AssayError PROOF_INVALID naming the part that is malformed or wrong.
 */
export function verifyOpening(
  scheme: OpeningScheme,
  transcript: Transcript,
  claim: OpeningClaim,
  proof: Uint8Array,
  key: OpeningKey,
): void {
  const { left, right } = scheme.reduce(transcript, claim, proof, key.srsId);
  if (!pairingHolds(left, right, key.lines))
    throw new AssayError('PROOF_INVALID', `${scheme.name} proof: the pairing equation does not hold`);
}

/**
 * Checks many reduced openings with one pairing: sum_i w^i L_i against sum_i w^i R_i for a challenge w that depends on
 * all of them. Says only that all hold or that some do not.
 * @param transcript need not be the one that the openings ran on: the pairs themselves are absorbed.
 * @throws AssayError PROOF_INVALID; INTERNAL for an empty list.
 */
export function verifyPairings(transcript: Transcript, claims: readonly PairingClaim[], key: OpeningKey): void {
  if (claims.length === 0) throw new AssayError('INTERNAL', 'there is no opening to check');
  transcript.absorbPoints(
    'pairing claims',
    claims.flatMap(({ left, right }) => [encodeG1(left), encodeG1(right)]),
  );
  const weights = powers(transcript.challenge('pairing weight'), claims.length);
  const combined = (side: keyof PairingClaim) =>
    linearCombination(
      claims.map((claim) => claim[side]),
      weights,
    );
  if (!pairingHolds(combined('left'), combined('right'), key.lines))
    throw new AssayError('PROOF_INVALID', `the pairing equation of ${claims.length} openings together does not hold`);
}
