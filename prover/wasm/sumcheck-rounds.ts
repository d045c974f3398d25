/**
 * Round polynomials of the prover's sumchecks.
 *
 * Symbols. Vectors of one even length 2h are multilinear polynomials; X is their top variable, x runs over the other
 * h positions: f(X, x) = f[x] + X (f[h + x] - f[x]). Each method returns g(0), g(2), g(3), ... of the round polynomial
 * g(X) = sum over x of a fixed expression; g(1) is what the claim leaves, claim = g(0) + g(1). The vectors are not
 * changed: bind X afterwards with FrVectors.fold.
 */
import { AssayError } from '../../common/errors.js';
import { add, mul, sub, toField } from '../field/fr.js';
import type { Core } from './arithmetic.js';
import { ELEMENT_BYTES, each, eachInt, intBytes, type FrVector, type FrVectors, type IntVector } from './fr-vectors.js';
import type { Argument } from './thread-pool.js';

/** A term A P of a sum of products. */
export interface ProductTerm {
  readonly a: FrVector;
  /** Small integers in the first round, where they are to be had. */
  readonly p: FrVector | IntVector;
}

/** See `lookupWitness`. */
export interface LookupWitnessVectors {
  readonly gw: FrVector;
  readonly y: FrVector;
  readonly r0: FrVector;
  readonly r1: FrVector;
  readonly q: FrVector;
  readonly t: FrVector;
  readonly vr: FrVector;
  readonly vq: FrVector;
  readonly eq: FrVector;
}

/** See `lookupTable`. */
export interface LookupTableVectors {
  readonly gt: FrVector;
  readonly a: FrVector;
  readonly b: FrVector;
  readonly t: FrVector;
  readonly vt: FrVector;
  readonly m: FrVector;
  readonly eq: FrVector;
}

/** See `maximum`. */
export interface MaximumVectors {
  readonly gx: FrVector;
  readonly vx: FrVector;
  readonly y: FrVector;
  readonly x: readonly [FrVector, FrVector, FrVector, FrVector];
  readonly eq: FrVector;
}

/** Number of values of a round polynomial: at 0, 2, 3, 4, 5 and, for 6, at 6. */
export type RoundValues = 5 | 6;

/** Positions of a chunk: some tens of microseconds or more. */
const PRODUCT_GRAIN = 2048;
const GRAIN = 256;

export class SumcheckRounds {
  constructor(
    private readonly core: Core,
    private readonly fr: FrVectors,
  ) {}

  /**
   * g(X) = sum over x and terms of A(X, x) P(X, x), degree 2.
   * @param claim g(0) + g(1): the value of the sum before this round.
   * @returns g(0), g(2).
   */
  products(terms: readonly ProductTerm[], claim: bigint): [bigint, bigint] {
    let [constant, leading] = [0n, 0n];
    for (const { a, p } of terms) {
      const half = halfOf([a, p]);
      const bytes = half * ELEMENT_BYTES;
      const [low, top] =
        p.kind !== undefined
          ? this.#sums(`roundProducts${p.kind}`, half, PRODUCT_GRAIN, 2, [
              each(a),
              eachInt(p),
              bytes,
              half * intBytes(p.kind),
            ])
          : this.#sums('roundProducts', half, PRODUCT_GRAIN, 2, [each(a), each(p), bytes]);
      constant = add(constant, low!);
      leading = add(leading, top!);
    }
    // g(2) = 2 g(1) - g(0) + 2 (coefficient of X^2).
    const one = sub(toField(claim), constant);
    return [constant, toField(2n * (one + leading) - constant)];
  }

  /** g(X) = sum over x of E P Q, degree 3. @returns g(0), g(2), g(3). */
  cubic(e: FrVector, p: FrVector, q: FrVector): bigint[] {
    const half = halfOf([e, p, q]);
    return this.#sums('roundCubic', half, GRAIN, 3, [each(e), each(p), each(q), half * ELEMENT_BYTES]);
  }

  /**
   * g(X) = sum over x of gw + lambda eq (gw D0 D1 D2 - vr (D0 + D1) D2 - vq D0 D1), degree 5, with
   * D0 = alpha - (r0 + f0), D1 = alpha - (r1 + f0), D2 = alpha - (q + beta y + t).
   */
  lookupWitness(
    vectors: LookupWitnessVectors,
    scalars: { readonly alpha: bigint; readonly beta: bigint; readonly f0: bigint; readonly lambda: bigint },
    values: RoundValues,
  ): bigint[] {
    const { gw, y, r0, r1, q, t, vr, vq, eq } = vectors;
    const { alpha, beta, f0, lambda } = scalars;
    const columns = [gw, y, r0, r1, q, t, vr, vq, eq];
    const products = this.#polynomial('roundLookupWitness', columns, [alpha, beta, alpha - f0], values, 1);
    return this.#linear(gw, values).map((sum, i) => add(sum, mul(toField(lambda), products[i]!)));
  }

  /**
   * g(X) = sum over x of -gt + lambda eq (gt D - vt m), degree 3, with D = alpha - (a + beta b + t).
   */
  lookupTable(
    vectors: LookupTableVectors,
    scalars: { readonly alpha: bigint; readonly beta: bigint; readonly lambda: bigint },
    values: RoundValues,
  ): bigint[] {
    const { gt, a, b, t, vt, m, eq } = vectors;
    const { alpha, beta, lambda } = scalars;
    const products = this.#polynomial('roundLookupTable', [gt, a, b, t, vt, m, eq], [alpha, beta], values, 1);
    return this.#linear(gt, values).map((sum, i) => sub(mul(toField(lambda), products[i]!), sum));
  }

  /**
   * g(X) = sum over x of gx + lambda eq (gx E0 E1 E2 E3 - vx (sum over i of the product of the E_j, j != i))
   * + lambda2 eq vx (y - x0)(y - x1)(y - x2)(y - x3), degree 6, with E_i = alpha - (y - x_i + f0).
   * @returns g(0), g(2), g(3), g(4), g(5), g(6).
   */
  maximum(
    vectors: MaximumVectors,
    scalars: { readonly alpha: bigint; readonly f0: bigint; readonly lambda: bigint; readonly lambda2: bigint },
  ): bigint[] {
    const { gx, vx, y, x, eq } = vectors;
    const { alpha, f0, lambda, lambda2 } = scalars;
    // E_i = (alpha - f0) - F_i, F_i = y - x_i; the second sum wants F_i itself, that is E_i for alpha - f0.
    const sums = this.#polynomial('roundMaximum', [gx, vx, y, ...x, eq], [alpha - f0], 6, 2);
    return this.#linear(gx, 6).map((sum, i) => toField(sum + lambda * sums[i]! + lambda2 * sums[6 + i]!));
  }

  // ---- shared by the above

  /** Sum over x of f(X, x) at 0, 2, 3, ... */
  #linear(f: FrVector, values: RoundValues): bigint[] {
    const half = halfOf([f]);
    const low = this.fr.sum({ pointer: f.pointer, length: half });
    const high = this.fr.sum({ pointer: f.pointer + half * ELEMENT_BYTES, length: half });
    return Array.from({ length: values }, (_, i) => toField(low + BigInt(i === 0 ? 0 : i + 1) * (high - low)));
  }

  #polynomial(
    name: string,
    columns: readonly FrVector[],
    constants: readonly bigint[],
    values: RoundValues,
    polynomials: 1 | 2,
  ): bigint[] {
    const half = halfOf(columns);
    return this.core.memory.scoped(() => {
      const { pointer } = this.fr.fromBigInts(constants);
      return this.#sums(name, half, GRAIN, values * polynomials, [
        ...columns.map(each),
        half * ELEMENT_BYTES,
        pointer,
        values,
      ]);
    });
  }

  /** Runs a kernel that writes `count` elements for each chunk, and adds up the chunks. */
  #sums(name: string, n: number, grain: number, count: number, args: readonly Argument[]): bigint[] {
    const { memory, pool } = this.core;
    return memory.scoped(() => {
      const parts = this.fr.allocate(count * Math.ceil(n / grain));
      pool.run(name, n, grain, [{ base: parts.pointer, perChunk: count * ELEMENT_BYTES }, ...args]);
      const sums = new Array<bigint>(count).fill(0n);
      this.fr.toBigInts(parts).forEach((part, i) => (sums[i % count]! += part));
      return sums.map((sum) => toField(sum));
    });
  }
}

/** Half of the one even length of all vectors. */
function halfOf(vectors: readonly { readonly length: number }[]): number {
  const { length } = vectors[0]!;
  if (length < 2 || length % 2 !== 0 || vectors.some((v) => v.length !== length))
    throw new AssayError('INTERNAL', `vectors of a round have lengths ${vectors.map((v) => v.length).join(', ')}`);
  return length / 2;
}
