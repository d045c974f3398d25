/**
 * The fast backend: vectors in WebAssembly memory, commitments by the multi-scalar multiplication there.
 *
 * Two steps are serial as written and are done differently: the division by X - root, q_k = v_{k+1} + root q_{k+1}, is
 * q = (1 + root S)(1 + root^2 S^2)(1 + root^4 S^4).. v' with S the shift down by one place and v' = S v, so log2 N
 * passes that threads can share; the division by X^b - alpha goes row by row, Q_i = F_{i+1} + alpha Q_{i+1}.
 */
import { AssayError } from '../../common/errors.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { sliceVector, type FrVector, type IntVector } from '../wasm/fr-vectors.js';
import { mul, sub } from '../field/fr.js';
import { srsIdOf, type Srs } from '../srs/srs.js';
import { scoped } from './scoped.js';
import type { PolynomialBackend } from './types.js';

export interface WasmBackend extends PolynomialBackend<FrVector> {
  /** Points of the SRS that it holds. */
  readonly size: number;
  /** [v]; small integers cost by their largest magnitude. @throws AssayError SRS_TOO_SMALL. */
  commit(vector: FrVector | IntVector): Uint8Array;
}

/**
 * @param srs as many points as the longest vector to commit; they stay in the memory of `arithmetic`, 72 bytes each.
 * @throws AssayError POINT_INVALID for a point that is not on the curve.
 */
export function wasmBackend(arithmetic: Arithmetic, srs: Srs): WasmBackend {
  const { fr, g1, memory } = arithmetic;
  const points = g1.fromBytes(srs.points);
  const backend: WasmBackend = {
    srsId: srsIdOf(srs),
    size: points.length,
    fromScalars: (values) => fr.fromBigInts(values),
    toScalars: (vector) => fr.toBigInts(vector),
    commit(vector) {
      const { length } = vector;
      if (length > points.length)
        throw new AssayError('SRS_TOO_SMALL', `the SRS has ${points.length} points, ${length} are needed`);
      return g1.msm({ pointer: points.pointer, length }, vector);
    },
    evaluate: (vector, at) => scoped(backend, () => fr.dot(vector, fr.powers(at, vector.length))),
    fold(vector, x) {
      const half = fr.zeros(vector.length / 2);
      scoped(backend, () =>
        fr.sparseAlongAxis(
          half,
          vector,
          { rows: Uint32Array.of(0, 0), columns: Uint32Array.of(0, 1), weights: fr.fromBigInts([sub(1n, x), x]) },
          { pre: half.length, outAxis: 1, inAxis: 2, post: 1 },
        ),
      );
      return half;
    },
    combine(vectors, weights) {
      const sum = fr.zeros(Math.max(...vectors.map(({ length }) => length)));
      vectors.forEach((vector, i) => fr.axpy(sliceVector(sum, 0, vector.length), weights[i]!, vector));
      return sum;
    },
    quotient(vector, root) {
      const quotient = fr.copy(sliceVector(vector, 1, vector.length));
      const { length } = quotient;
      scoped(backend, () => {
        const before = fr.allocate(length);
        for (let shift = 1, power = root; shift < length; shift *= 2, power = mul(power, power)) {
          fr.copy(quotient, before);
          fr.axpy(sliceVector(quotient, 0, length - shift), power, sliceVector(before, shift, length));
        }
      });
      return quotient;
    },
    rowProducts(vector, weights) {
      return scoped(backend, () => {
        const row = fr.fromBigInts(weights);
        return Array.from({ length: vector.length / row.length }, (_, i) =>
          fr.dot(sliceVector(vector, i * row.length, (i + 1) * row.length), row),
        );
      });
    },
    divideByBinomial(vector, b, alpha) {
      const quotient = fr.copy(sliceVector(vector, b, vector.length));
      const row = (i: number) => sliceVector(quotient, i * b, (i + 1) * b);
      for (let i = quotient.length / b - 2; i >= 0; i--) fr.axpy(row(i), alpha, row(i + 1));
      const remainder = scoped(backend, () => {
        const lowest = fr.copy(sliceVector(vector, 0, b));
        fr.axpy(lowest, alpha, row(0));
        return fr.toBigInts(lowest);
      });
      return { quotient, remainder };
    },
    mark: () => memory.mark(),
    release: (mark) => memory.release(mark),
  };
  return backend;
}
