/** What both schemes do with a claim before their own first message, on the prover's and on the verifier's side. */
import { AssayError } from '../../common/errors.js';
import { decodeG1, encodeG1, linearCombination, type G1 } from '../curve/g1.js';
import { FR_MODULUS } from '../field/bn254.params.js';
import type { Transcript } from '../transcript/transcript.js';
import { MAX_VARIABLES, type OpeningClaim } from './types.js';

const isCanonical = (value: bigint) => value >= 0n && value < FR_MODULUS;

const refuse = (what: string) => new AssayError('PROOF_INVALID', `opening claim: ${what}`);

/** @throws AssayError PROOF_INVALID naming the field. */
function checkClaim({ n, commitments, coefficients, point, value }: OpeningClaim): void {
  if (!Number.isInteger(n) || n < 1 || n > MAX_VARIABLES)
    throw refuse(`expected 1 to ${MAX_VARIABLES} variables, found ${n}`);
  if (point.length !== n) throw refuse(`expected a point of ${n} coordinates, found ${point.length}`);
  if (commitments.length !== coefficients.length)
    throw refuse(`${commitments.length} commitments but ${coefficients.length} coefficients`);
  if (!point.every(isCanonical)) throw refuse('a coordinate of the point is not an element of Fr');
  if (!coefficients.every(isCanonical)) throw refuse('a coefficient is not an element of Fr');
  if (!isCanonical(value)) throw refuse('the value is not an element of Fr');
}

/**
 * Checks a claim and absorbs it.
 * @param tag scheme and version.
 * @returns G = sum_c e_c C_c.
 * @throws AssayError PROOF_INVALID naming the field that is malformed.
 */
export function absorbClaim(tag: string, transcript: Transcript, claim: OpeningClaim, srsId: Uint8Array): G1 {
  checkClaim(claim);
  const points = claim.commitments.map((bytes, i) => decodeG1(bytes, `opening claim: commitment ${i}`));
  const combined = linearCombination(points, claim.coefficients);
  transcript.absorbBytes('opening scheme', new TextEncoder().encode(tag));
  transcript.absorbBytes('opening srs', srsId);
  transcript.absorbScalars('opening n', [BigInt(claim.n)]);
  transcript.absorbPoints('opening commitment', [encodeG1(combined)]);
  transcript.absorbScalars('opening point', claim.point);
  transcript.absorbScalars('opening value', [claim.value]);
  return combined;
}
