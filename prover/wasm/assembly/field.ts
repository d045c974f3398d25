/**
 * What a prime field needs beside its products: canonical form, comparison, bytes, inversion, and the end of sums that
 * were taken without reduction. The build compiles this file once for Fr and once for Fq (build/build-wasm.ts).
 *
 * Elements are in the normal form of build/field-code.ts: limbs 0 .. 7 in [0, 2^29), value in (-p, 2p).
 */
import {
  INVERSE_EXPONENT,
  MINUS_INVERSE,
  MODULUS,
  ONE,
  R_SQUARED,
  RHO,
  TOP_PER_MODULUS,
  UNIT,
  mul,
  sqr,
} from './generated/fr/arithmetic';
import { pop, push } from './scratch';

/** Bytes of an element. */
export const ELEMENT: usize = 36;
/** Bytes of the 19 columns of an unreduced sum. */
export const COLUMNS: usize = 152;
const MASK: i32 = (1 << 29) - 1;

export function copy(r: usize, a: usize): void {
  store<u64>(r, load<u64>(a));
  store<u64>(r, load<u64>(a, 8), 8);
  store<u64>(r, load<u64>(a, 16), 16);
  store<u64>(r, load<u64>(a, 24), 24);
  store<i32>(r, load<i32>(a, 32), 32);
}

export function setZero(r: usize): void {
  memory.fill(r, 0, ELEMENT);
}

/** Are all limbs zero? Weaker than isZero: multiples of p are other limbs. */
export function isBlank(a: usize): bool {
  return (load<u64>(a) | load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24) | (<u64>load<u32>(a, 32))) === 0;
}

/** r = a + sign p, carried. */
function shiftByModulus(r: usize, a: usize, sign: i32): void {
  let carry: i32 = 0;
  for (let i: usize = 0; i < 32; i += 4) {
    const limb = load<i32>(a + i) + sign * load<i32>(MODULUS + i) + carry;
    store<i32>(r + i, limb & MASK);
    carry = limb >> 29;
  }
  store<i32>(r, load<i32>(a, 32) + sign * load<i32>(MODULUS, 32) + carry, 32);
}

/** r = the representative of a in [0, p); a carried, within (-8p, 8p). */
export function canonicalise(r: usize, a: usize): void {
  copy(r, a);
  while (load<i32>(r, 32) < 0) shiftByModulus(r, r, 1);
  const less = push(ELEMENT);
  while (true) {
    shiftByModulus(less, r, -1);
    if (load<i32>(less, 32) < 0) break;
    copy(r, less);
  }
  pop(less);
}

/**
 * Is a = 0 mod p? a carried, within (-8p, 8p). Only such a low limb as one of the 17 multiples of p within that range
 * has, that is m p mod 2^29 with |m| <= 8, deserves the full test.
 */
export function isZero(a: usize): bool {
  if (((load<u32>(a) * MINUS_INVERSE + 8) & MASK) > 16) return false;
  const reduced = push(ELEMENT);
  canonicalise(reduced, a);
  const zero = isBlank(reduced);
  pop(reduced);
  return zero;
}

/** 32 bytes big endian of a 9-limb integer in [0, 2^256). */
function writeInteger(bytes: usize, a: usize): void {
  let pending: u64 = 0;
  let bits = 0;
  let limb: usize = 0;
  for (let i = 31; i >= 0; i--) {
    if (bits < 8) {
      pending |= (<u64>load<u32>(a + 4 * limb++)) << bits;
      bits += 29;
    }
    store<u8>(bytes + i, <u8>pending);
    pending >>= 8;
    bits -= 8;
  }
}

function readInteger(r: usize, bytes: usize): void {
  let pending: u64 = 0;
  let bits = 0;
  let limb: usize = 0;
  for (let i = 31; i >= 0; i--) {
    pending |= (<u64>load<u8>(bytes + i)) << bits;
    bits += 8;
    if (bits >= 29) {
      store<i32>(r + 4 * limb++, <i32>(pending & MASK));
      pending >>= 29;
      bits -= 29;
    }
  }
  store<i32>(r, <i32>pending, 32);
}

/** The integer that the element stands for, in [0, p), as 9 limbs. */
export function toInteger(r: usize, a: usize): void {
  mul(r, a, UNIT);
  canonicalise(r, r);
}

/** 32 bytes, big endian, canonical. */
export function toBytes(bytes: usize, a: usize): void {
  const integer = push(ELEMENT);
  toInteger(integer, a);
  writeInteger(bytes, integer);
  pop(integer);
}

/** @returns false where the bytes are not below p; r is then unspecified. */
export function fromBytes(r: usize, bytes: usize): bool {
  const less = push(ELEMENT);
  readInteger(r, bytes);
  shiftByModulus(less, r, -1);
  const canonical = load<i32>(less, 32) < 0;
  pop(less);
  mul(r, r, R_SQUARED);
  return canonical;
}

/** r = the integer v, |v| < 2^53. */
export function fromInteger(r: usize, v: i64): void {
  setZero(r);
  store<i32>(r, <i32>(v & MASK));
  store<i32>(r, <i32>(v >> 29), 4);
  mul(r, r, R_SQUARED);
}

/** r = 1/a by a^(p-2), four bits of the exponent at a time; 0 for 0. */
export function invert(r: usize, a: usize): void {
  const powers = push(16 * ELEMENT);
  const result = push(ELEMENT);
  copy(powers, ONE);
  for (let i: usize = 1; i < 16; i++) mul(powers + ELEMENT * i, powers + ELEMENT * (i - 1), a);
  copy(result, ONE);
  for (let i = 63; i >= 0; i--) {
    for (let j = 0; j < 4; j++) sqr(result, result);
    const digit = <usize>((load<u64>(INVERSE_EXPONENT + 8 * (i >> 4)) >> (4 * (i & 15))) & 15);
    if (digit !== 0) mul(result, result, powers + ELEMENT * digit);
  }
  copy(r, result);
  pop(powers);
}

/**
 * r = (sum of columns[k] 2^(29k)) / R, normalised: the end of a sum of products. The columns are changed.
 * The sum may be up to 2^540 or so: what is left above the nine limbs is taken off as a multiple of p found in a double.
 */
export function reduceProducts(r: usize, columns: usize): void {
  for (let k: usize = 0; k < 9; k++) {
    const here = columns + 8 * k;
    const column = load<i64>(here);
    if (k < 8) {
      const q = column & MASK;
      store<i64>(here, load<i64>(here, 8) + (column >> 29), 8);
      for (let j: usize = 0; j < 9; j++) {
        const at = here + 8 * (j + 1);
        store<i64>(at, load<i64>(at) + q * <i64>load<i32>(RHO + 4 * j));
      }
    } else {
      const q = <i64>((<u32>column * MINUS_INVERSE) & MASK);
      for (let j: usize = 0; j < 9; j++) {
        const at = here + 8 * j;
        store<i64>(at, load<i64>(at) + q * <i64>load<i32>(MODULUS + 4 * j));
      }
      store<i64>(here, load<i64>(here, 8) + (load<i64>(here) >> 29), 8);
    }
  }
  const high = columns + 72;
  for (let k: usize = 0; k < 8; k++) {
    const column = load<i64>(high + 8 * k);
    store<i64>(high + 8 * k, column & MASK);
    store<i64>(high + 8 * (k + 1), load<i64>(high + 8 * (k + 1)) + (column >> 29));
  }
  const top = load<i64>(high, 64) + (load<i64>(high, 72) << 29);
  const value = <f64>top + <f64>load<i64>(high, 56) / 536870912.0 + <f64>load<i64>(high, 48) / 288230376151711744.0;
  const multiple = <i64>Math.floor(value * TOP_PER_MODULUS);
  store<i64>(high, top, 64);
  let carry: i64 = 0;
  for (let k: usize = 0; k < 9; k++) {
    carry += load<i64>(high + 8 * k) - multiple * <i64>load<i32>(MODULUS + 4 * k);
    store<i32>(r + 4 * k, k < 8 ? <i32>(carry & MASK) : <i32>carry);
    carry >>= 29;
  }
}

/** r = sum of columns[k] 2^(29k), normalised: the end of a sum of elements times integers. */
export function reduceLinear(r: usize, columns: usize): void {
  reduceProducts(r, columns);
  mul(r, r, R_SQUARED);
}
