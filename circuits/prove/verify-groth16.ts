/**
 * The Groth16 verifier over BN254:
 *
 *   e(A, B) = e(alpha G, beta H) e(sum_i x_i P_i, gamma H) e(C, delta H),   x_0 = 1, x_1 .. x_l the public signals
 *
 * Everything that a stranger may have made is checked: coordinates below q, points on the curve and in their groups,
 * signals below r (x + r would be the same statement under another name), as many signals as the key has points.
 * Source: Groth 2016, section 3.2.
 */
import { bn254 } from '@noble/curves/bn254.js';
import { AssayError } from '../../common/errors.js';
import { FQ_MODULUS, FR_MODULUS } from '../../prover/field/bn254.params.js';
import type { VerificationKey } from '../setup/read-zkey.js';
import type { G1Coordinates, G2Coordinates, Groth16Proof } from './groth16-proof.js';

const invalid = (message: string): never => {
  throw new AssayError('PROOF_INVALID', `Groth16: ${message}`);
};

function point<P extends { assertValidity(): void }>(what: string, coordinates: readonly bigint[], make: () => P): P {
  if (coordinates.some((value) => value < 0n || value >= FQ_MODULUS)) invalid(`a coordinate of ${what} is not below q`);
  try {
    const made = make();
    made.assertValidity();
    return made;
  } catch {
    return invalid(`${what} is no point of its group`);
  }
}

const g1 = (what: string, [x, y]: G1Coordinates) => point(what, [x, y], () => bn254.G1.Point.fromAffine({ x, y }));

const g2 = (what: string, [[x0, x1], [y0, y1]]: G2Coordinates) =>
  point(what, [x0, x1, y0, y1], () => bn254.G2.Point.fromAffine({ x: { c0: x0, c1: x1 }, y: { c0: y0, c1: y1 } }));

/** @throws AssayError PROOF_INVALID naming what does not hold. */
export function verifyGroth16(key: VerificationKey, publicSignals: readonly bigint[], proof: Groth16Proof): void {
  if (publicSignals.length + 1 !== key.publicPoints.length)
    invalid(`${publicSignals.length} public signals, the key has ${key.publicPoints.length - 1}`);
  if (publicSignals.some((signal) => signal < 0n || signal >= FR_MODULUS)) invalid('a public signal is not below r');
  const [a, b, c] = [g1('A', proof.a), g2('B', proof.b), g1('C', proof.c)];
  const statement = publicSignals.reduce(
    (sum, signal, i) =>
      signal === 0n ? sum : sum.add(g1('a key point', key.publicPoints[i + 1]!).multiplyUnsafe(signal)),
    g1('a key point', key.publicPoints[0]!),
  );
  const pairs = [
    { g1: a.negate(), g2: b },
    { g1: g1('alpha', key.alphaG1), g2: g2('beta', key.betaG2) },
    { g1: statement, g2: g2('gamma', key.gammaG2) },
    { g1: c, g2: g2('delta', key.deltaG2) },
  ].filter((pair) => !pair.g1.is0());
  const { Fp12 } = bn254.fields;
  if (!Fp12.eql(bn254.pairingBatch(pairs), Fp12.ONE)) invalid('the pairing equation does not hold');
}
