/** The slow, obvious backend: BigInt vectors and one multiplication per point. It decides what the fast one must equal. */
import { AssayError } from '../../common/errors.js';
import { decodeG1, encodeG1, G1_BYTES, linearCombination } from '../curve/g1.js';
import { add, mul, sub } from '../field/fr.js';
import { srsIdOf, srsSize, type Srs } from '../srs/srs.js';
import type { PolynomialBackend } from './types.js';

export type BigIntVector = readonly bigint[];

export function referenceBackend(srs: Srs): PolynomialBackend<BigIntVector> {
  const points = Array.from({ length: srsSize(srs) }, (_, i) =>
    decodeG1(srs.points.subarray(i * G1_BYTES, (i + 1) * G1_BYTES), `SRS: point ${i}`, 'SRS_INVALID'),
  );
  const evaluate = (v: BigIntVector, at: bigint) => v.reduceRight((sum, value) => add(mul(sum, at), value), 0n);
  return {
    srsId: srsIdOf(srs),
    fromScalars: (values) => values,
    toScalars: (vector) => [...vector],
    commit(vector) {
      if (vector.length > points.length)
        throw new AssayError('SRS_TOO_SMALL', `the SRS has ${points.length} points, ${vector.length} are needed`);
      return encodeG1(linearCombination(points.slice(0, vector.length), vector));
    },
    evaluate(vector, at) {
      return evaluate(vector, at);
    },
    fold(vector, x) {
      return Array.from({ length: vector.length / 2 }, (_, j) =>
        add(mul(sub(1n, x), vector[2 * j]!), mul(x, vector[2 * j + 1]!)),
      );
    },
    combine(vectors, weights) {
      return Array.from({ length: Math.max(...vectors.map((v) => v.length)) }, (_, k) =>
        vectors.reduce((sum, v, i) => add(sum, mul(v[k] ?? 0n, weights[i]!)), 0n),
      );
    },
    quotient(vector, root) {
      // Coefficient k of the quotient is the value at `root` of what stands above X^k.
      return Array.from({ length: vector.length - 1 }, (_, k) => evaluate(vector.slice(k + 1), root));
    },
    rowProducts(vector, weights) {
      return Array.from({ length: vector.length / weights.length }, (_, row) =>
        weights.reduce((sum, weight, j) => add(sum, mul(weight, vector[row * weights.length + j]!)), 0n),
      );
    },
    divideByBinomial(vector, b, alpha) {
      const rest = [...vector];
      for (let k = rest.length - 1; k >= b; k--) rest[k - b] = add(rest[k - b]!, mul(alpha, rest[k]!));
      // rest[k], k >= b, is what X^k was replaced by X^(k-b) alpha with: the quotient's coefficient of X^(k-b).
      return { quotient: rest.slice(b), remainder: rest.slice(0, b) };
    },
    mark: () => 0,
    release: () => undefined,
  };
}
