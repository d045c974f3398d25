/** Seeded field elements and true claims for the tests of this folder. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { encodeG1, G1_GENERATOR } from '../../curve/g1.js';
import { FR_MODULUS } from '../../field/bn254.params.js';
import { add, fromBytes, mul, sub } from '../../field/fr.js';
import type { OpeningClaim } from '../types.js';

/** A stream of uniform field elements. */
export function seededScalars(seed: number | string): () => bigint {
  let counter = 0;
  return () => fromBytes(keccak_256(new TextEncoder().encode(`${seed}/${counter++}`))) % FR_MODULUS;
}

/** sum_x f[x] prod_i (point_i or 1 - point_i), term by term. */
export function multilinearValue(f: readonly bigint[], point: readonly bigint[]): bigint {
  return f.reduce((sum, value, x) => {
    const weight = point.reduce(
      (product, u, i) => mul(product, (x >> (point.length - 1 - i)) & 1 ? u : sub(1n, u)),
      1n,
    );
    return add(sum, mul(value, weight));
  }, 0n);
}

/** p(x), term by term. */
export function valueAt(p: readonly bigint[], x: bigint): bigint {
  let [sum, power] = [0n, 1n];
  for (const coefficient of p) {
    sum = add(sum, mul(coefficient, power));
    power = mul(power, x);
  }
  return sum;
}

/** [p] by means of tau. */
export function commitWithTau(p: readonly bigint[], tau: bigint): Uint8Array {
  return encodeG1(G1_GENERATOR.multiplyUnsafe(valueAt(p, tau)));
}

export interface KnownClaim {
  readonly claim: OpeningClaim;
  /** The combination sum_c e_c f_c. */
  readonly f: bigint[];
}

/** A true claim on a combination of `columns` random vectors of 2^n entries. */
export function randomClaim(n: number, columns: number, tau: bigint, next: () => bigint): KnownClaim {
  const vectors = Array.from({ length: columns }, () => Array.from({ length: 2 ** n }, next));
  const coefficients = vectors.map(next);
  const f = vectors[0]!.map((_, i) => vectors.reduce((sum, v, c) => add(sum, mul(coefficients[c]!, v[i]!)), 0n));
  return knownClaim(
    vectors.map((v) => commitWithTau(v, tau)),
    coefficients,
    f,
    Array.from({ length: n }, next),
  );
}

export function knownClaim(
  commitments: readonly Uint8Array[],
  coefficients: readonly bigint[],
  f: bigint[],
  point: readonly bigint[],
): KnownClaim {
  return { claim: { n: point.length, commitments, coefficients, point, value: multilinearValue(f, point) }, f };
}
