/**
 * Opening of a multilinear polynomial from its KZG commitment: what the schemes of this folder have in common.
 *
 * Symbols. N = 2^n. A vector f of N field elements stands for two things:
 *   - the multilinear polynomial with f[x] at the vertex x = sum x_i 2^(n-1-i), so point[0] goes with the highest bit;
 *   - the univariate f(X) = sum_i f[i] X^i, committed to as [f] = f(tau) * G1.
 * A claim says: G = sum_c e_c C_c is the commitment of a vector whose multilinear polynomial takes `value` at `point`.
 *
 * A verifier reduces claim and proof to a pair (L, R) for which e(L, H) = e(R, tau H) holds iff the proof does, apart
 * from a chance of about N/r. Pairs of many openings are joined by random weights and cost one pairing together.
 *
 * Before anything else both sides absorb: scheme and version, srsId, n, G, point, value. Two duties stay with the
 * caller. The e_c, the point and the value must have been derived from a transcript that holds the C_c. And all
 * commitments of one claim must be opened at this one n: a vector longer than N counts as its first N entries only.
 */
import type { G1 } from '../curve/g1.js';
import type { PairingLines } from '../curve/pairing.js';
import type { Transcript } from '../transcript/transcript.js';

/** Largest n of a claim. */
export const MAX_VARIABLES = 24;

export interface OpeningClaim {
  /** Number of variables, 1..MAX_VARIABLES. */
  readonly n: number;
  /** C_c, 64 bytes each (curve/g1.ts); infinity is allowed. */
  readonly commitments: readonly Uint8Array[];
  /** e_c in Fr, one per commitment. */
  readonly coefficients: readonly bigint[];
  /** n elements of Fr. */
  readonly point: readonly bigint[];
  /** v* in Fr. */
  readonly value: bigint;
}

/** What the verifier holds of the SRS (srs/opening-key.ts makes it). */
export interface OpeningKey {
  /** 32 bytes that name the secret tau (srs/srs-id.ts). */
  readonly srsId: Uint8Array;
  readonly lines: PairingLines;
}

/** Holds iff e(left, H) = e(right, tau H). */
export interface PairingClaim {
  readonly left: G1;
  readonly right: G1;
}

/** The verifier's side of a scheme. */
export interface OpeningScheme {
  readonly name: 'mercury' | 'hyperkzg';
  /** The exact length of a proof, bytes. */
  proofBytes(n: number): number;
  /**
   * Replays the transcript over claim and proof and checks everything but the pairing.
   * @throws AssayError PROOF_INVALID naming the part that is malformed or wrong.
   */
  reduce(transcript: Transcript, claim: OpeningClaim, proof: Uint8Array, srsId: Uint8Array): PairingClaim;
}

/** The prover's side of a scheme. */
export interface OpeningProver {
  /**
   * @param f the backend's vector of the combination sum_c e_c f_c, length 2^n; it is only read.
   * @param backend holds at least 2^n points of the SRS.
   * @returns the proof that the scheme of the same name accepts.
   * @throws AssayError PROOF_INVALID where the claim is malformed. A false claim yields a proof that is refused.
   */
  prove<V>(transcript: Transcript, claim: OpeningClaim, f: V, backend: PolynomialBackend<V>): Uint8Array;
}

/**
 * The work on vectors of up to 2^n elements that a prover needs; everything of size sqrt(2^n) is done over BigInt.
 * V is a vector of the backend, the coefficients of a polynomial, lowest first. Vectors are never changed in place.
 */
export interface PolynomialBackend<V> {
  /** srsId of the points that commit() uses. */
  readonly srsId: Uint8Array;
  fromScalars(values: readonly bigint[]): V;
  toScalars(vector: V): bigint[];
  /** [v], 64 bytes. @throws AssayError SRS_TOO_SMALL. */
  commit(vector: V): Uint8Array;
  evaluate(vector: V, at: bigint): bigint;
  /** Half as long: out[j] = (1 - x) v[2j] + x v[2j+1]. */
  fold(vector: V, x: bigint): V;
  /** sum_i weights[i] * vectors[i], as long as the longest; shorter ones count as padded by zeros. */
  combine(vectors: readonly V[], weights: readonly bigint[]): V;
  /** (v(X) - v(root)) / (X - root), one shorter. */
  quotient(vector: V, root: bigint): V;
  /** For rows of `weights.length` consecutive entries: each row's inner product with the weights. */
  rowProducts(vector: V, weights: readonly bigint[]): bigint[];
  /** v = (X^b - alpha) q + g with deg g < b; b divides the length, which is more than b. */
  divideByBinomial(vector: V, b: number, alpha: bigint): { quotient: V; remainder: bigint[] };
  /** Names the present state of the backend's memory. */
  mark(): number;
  /** Frees every vector made since the mark. */
  release(mark: number): void;
}
