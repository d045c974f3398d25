/**
 * The one pairing equation of the verifier: e(L, H) = e(R, tau H), with H and tau H fixed by the SRS.
 *
 * It is checked as e(L, H) * e(-R, tau H) = 1: two Miller loops that share their squarings, one final exponentiation.
 * The lines of the loops depend on H and tau H only and are computed once per SRS. e(0, Q) = 1.
 */
import { bn254 } from '@noble/curves/bn254.js';
import type { G1 } from './g1.js';
import type { G2 } from './g2.js';

type Lines = ReturnType<typeof bn254.utils.calcPairingPrecomputes>;

/** The lines of H and tau H. */
export interface PairingLines {
  readonly h: Lines;
  readonly tauH: Lines;
}

/** @param h,tauH points of the subgroup, not infinity (decodeG2 checks). */
export function pairingLines(h: G2, tauH: G2): PairingLines {
  return { h: bn254.utils.calcPairingPrecomputes(h), tauH: bn254.utils.calcPairingPrecomputes(tauH) };
}

/** Does e(left, H) = e(right, tau H) hold? */
export function pairingHolds(left: G1, right: G1, lines: PairingLines): boolean {
  const pairs = [
    { point: left, lines: lines.h },
    { point: right.negate(), lines: lines.tauH },
  ].filter(({ point }) => !point.is0());
  const product = bn254.millerLoopBatch(
    pairs.map(({ point, lines: ofPoint }) => {
      const { x, y } = point.toAffine();
      return [ofPoint, x, y];
    }),
  );
  const { Fp12 } = bn254.fields;
  return Fp12.eql(Fp12.finalExponentiate(product), Fp12.ONE);
}
