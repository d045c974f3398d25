/**
 * G1 of BN254 as the verifier uses it: decoding with checks, and linear combinations of a few dozen points.
 *
 * Encoding (that of EIP-196): x | y, 32 bytes each, big endian, below q, with y^2 = x^3 + 3; infinity is 64 zero bytes.
 * The curve has prime order, so a point on it is in the group.
 *
 * Linear combination sum_i e_i P_i: every scalar is written with signed digits d in {0, +-1, +-3, .., +-15}, at most one
 * of five neighbours nonzero (width-5 non-adjacent form), and all scalars share their doublings:
 *   1. per point the eight odd multiples P, 3P, .., 15P;
 *   2. from the top digit down: double once, then add the multiple of every point whose digit is not zero.
 * That is about 50 additions a point and 254 doublings in all. Bucket sums (Pippenger) pay only above: measured 3.3 ms
 * against 8.2 for 10 points, 15 against 22 for 60, about the most that a claim combines.
 * Not constant time; only public values pass through here.
 */
import { bn254 } from '@noble/curves/bn254.js';
import type { WeierstrassPoint } from '@noble/curves/abstract/weierstrass.js';
import { AssayError, type ErrorCode } from '../../common/errors.js';
import { FQ_MODULUS, FR_MODULUS } from '../field/bn254.params.js';

export type G1 = WeierstrassPoint<bigint>;

export const G1_BYTES = 64;
const G1Point = bn254.G1.Point;
export const G1_GENERATOR: G1 = G1Point.BASE;
export const G1_INFINITY: G1 = G1Point.ZERO;

const WINDOW = 5;

/** The 256-bit big-endian integer at an offset. */
export function readUint256(bytes: Uint8Array, offset: number): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, 32);
  return (
    (view.getBigUint64(0) << 192n) |
    (view.getBigUint64(8) << 128n) |
    (view.getBigUint64(16) << 64n) |
    view.getBigUint64(24)
  );
}

/** @param value in [0, 2^256). */
export function writeUint256(bytes: Uint8Array, offset: number, value: bigint): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, 32);
  for (let word = 3, rest = value; word >= 0; word--, rest >>= 64n)
    view.setBigUint64(8 * word, BigInt.asUintN(64, rest));
}

/**
 * A point from its 64 bytes.
 * @param what names the point in the message.
 * @throws AssayError `code`: not 64 bytes, a coordinate not below q, or not on the curve.
 */
export function decodeG1(bytes: Uint8Array, what: string, code: ErrorCode = 'PROOF_INVALID'): G1 {
  const refuse = (found: string) => new AssayError(code, `${what}: expected a point of G1, found ${found}`);
  if (bytes.length !== G1_BYTES) throw refuse(`${bytes.length} bytes instead of ${G1_BYTES}`);
  const x = readUint256(bytes, 0);
  const y = readUint256(bytes, 32);
  if (x >= FQ_MODULUS || y >= FQ_MODULUS) throw refuse('a coordinate that is not below q');
  if (x === 0n && y === 0n) return G1_INFINITY;
  if ((y * y - x * x * x - 3n) % FQ_MODULUS !== 0n) throw refuse('coordinates that are not on the curve');
  return G1Point.fromAffine({ x, y });
}

export function encodeG1(point: G1): Uint8Array {
  const bytes = new Uint8Array(G1_BYTES);
  const { x, y } = point.toAffine();
  writeUint256(bytes, 0, x);
  writeUint256(bytes, 32, y);
  return bytes;
}

/** Digits of width-5 non-adjacent form, lowest first. @param scalar in [0, r). */
function nonAdjacentForm(scalar: bigint): Int8Array {
  const digits = new Int8Array(256);
  for (let rest = scalar, at = 0; rest > 0n; rest >>= 1n, at++) {
    if ((rest & 1n) === 0n) continue;
    const low = Number(rest & 31n);
    const digit = low >= 16 ? low - 32 : low;
    digits[at] = digit;
    rest -= BigInt(digit);
  }
  return digits;
}

/** P, 3P, .., 15P. */
function oddMultiples(point: G1): G1[] {
  const twice = point.double();
  const multiples = [point];
  while (multiples.length < 1 << (WINDOW - 2)) multiples.push(multiples.at(-1)!.add(twice));
  return multiples;
}

/**
 * sum_i scalars[i] * points[i].
 * @param scalars any integers; they count mod r.
 */
export function linearCombination(points: readonly G1[], scalars: readonly bigint[]): G1 {
  if (points.length !== scalars.length)
    throw new AssayError('INTERNAL', `${points.length} points but ${scalars.length} scalars to combine`);
  const terms = points
    .map((point, i) => ({ point, scalar: ((scalars[i]! % FR_MODULUS) + FR_MODULUS) % FR_MODULUS }))
    .filter(({ point, scalar }) => scalar !== 0n && !point.is0())
    .map(({ point, scalar }) => ({ multiples: oddMultiples(point), digits: nonAdjacentForm(scalar) }));
  let sum = G1_INFINITY;
  for (let at = 255; at >= 0; at--) {
    if (!sum.is0()) sum = sum.double();
    for (const { multiples, digits } of terms) {
      const digit = digits[at]!;
      if (digit > 0) sum = sum.add(multiples[digit >> 1]!);
      else if (digit < 0) sum = sum.add(multiples[-digit >> 1]!.negate());
    }
  }
  return sum;
}
