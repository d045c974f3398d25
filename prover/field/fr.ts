/**
 * The scalar field Fr of BN254 over BigInt: the reference that the WebAssembly field must equal, and all that the
 * verifier computes with. An element is a bigint in [0, r). Signed integers v stand for v mod r.
 */
import { FR_MODULUS } from './bn254.params.js';

const R = FR_MODULUS;

/** Any integer into [0, r). */
export function toField(value: bigint | number): bigint {
  const reduced = BigInt(value) % R;
  return reduced < 0n ? reduced + R : reduced;
}

export const add = (a: bigint, b: bigint): bigint => {
  const sum = a + b;
  return sum >= R ? sum - R : sum;
};

export const sub = (a: bigint, b: bigint): bigint => (a >= b ? a - b : a - b + R);

export const neg = (a: bigint): bigint => (a === 0n ? 0n : R - a);

export const mul = (a: bigint, b: bigint): bigint => (a * b) % R;

/** base^exponent, exponent >= 0. */
export function pow(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let b = base, e = exponent; e > 0n; e >>= 1n, b = mul(b, b)) if (e & 1n) result = mul(result, b);
  return result;
}

/**
 * Multiplicative inverse by the extended Euclidean algorithm.
 * @throws RangeError for 0, which has none.
 */
export function inverse(a: bigint): bigint {
  if (a === 0n) throw new RangeError('0 has no inverse in Fr');
  let [r0, r1, s0, s1] = [R, a, 0n, 1n];
  while (r1 !== 0n) {
    const quotient = r0 / r1;
    [r0, r1] = [r1, r0 - quotient * r1];
    [s0, s1] = [s1, s0 - quotient * s1];
  }
  return s0 < 0n ? s0 + R : s0;
}

/** [1, base, base^2, ...], `count` of them. */
export function powers(base: bigint, count: number): bigint[] {
  const result: bigint[] = [];
  for (let i = 0, p = 1n; i < count; i++, p = mul(p, base)) result.push(p);
  return result;
}

/** 32 bytes, big endian. */
export function toBytes(a: bigint): Uint8Array {
  const bytes = new Uint8Array(32);
  for (let i = 31, rest = a; i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 0xffn);
  return bytes;
}

/** The integer of big-endian bytes; the caller checks that it is below r. */
export function fromBytes(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return value;
}
