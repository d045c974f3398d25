/** The slow, obvious SRS of a given tau, for tests of up to a few hundred points. */
import { encodeG1, G1_BYTES, G1_GENERATOR } from '../../curve/g1.js';
import { encodeG2, G2_GENERATOR } from '../../curve/g2.js';
import { powers } from '../../field/fr.js';
import type { Srs } from '../srs.js';

export function referenceSrs(tau: bigint, size: number): Srs {
  const points = new Uint8Array(size * G1_BYTES);
  powers(tau, size).forEach((power, i) => points.set(encodeG1(G1_GENERATOR.multiply(power)), i * G1_BYTES));
  return {
    tauG1: points.slice(G1_BYTES, 2 * G1_BYTES),
    tauG2: encodeG2(G2_GENERATOR.multiply(tau)),
    points,
  };
}
