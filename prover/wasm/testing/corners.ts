/**
 * Elements at the corners of the normal form: values next to -p and 2p, limbs all full, all zero or alternating. Canonical
 * input reaches none of them; results of the kernels may.
 */
import { limbsOf } from '../build/field-code.js';

export interface Corner {
  readonly limbs: readonly number[];
  /** What the limbs stand for, in [0, p). */
  readonly value: bigint;
}

const FULL = 2 ** 29 - 1;

export function cornersOf(modulus: bigint): Corner[] {
  const top = Number(modulus >> 232n);
  const doubleTop = Number((2n * modulus) >> 232n);
  const rInverse = powerOfHalf(261, modulus);
  const lower = [() => 0, () => FULL, (i: number) => (i % 2 ? FULL : 0), (i: number) => (i % 2 ? 0 : FULL)];
  return [-top, -1, 0, top, doubleTop - 1].flatMap((last) =>
    lower.map((limb) => {
      const limbs = Array.from({ length: 9 }, (_, i) => (i < 8 ? limb(i) : last));
      const integer = limbs.reduce((sum, value, i) => sum + (BigInt(value) << BigInt(29 * i)), 0n);
      return { limbs, value: modulo(integer * rInverse, modulus) };
    }),
  );
}

/** The other limbs in normal form that stand for a canonical value: its Montgomery form less, and plus, p. */
export function representations(value: bigint, modulus: bigint): (readonly number[])[] {
  const form = (value << 261n) % modulus;
  return [form - modulus, form, form + modulus].map((integer) => {
    const low = limbsOf(modulo(integer, 1n << 232n))
      .slice(0, 8)
      .map(Number);
    return [...low, Number(integer >> 232n)];
  });
}

/** Indices of the elements at a pointer that are not in normal form. */
export function notNormal(view: DataView, pointer: number, count: number, modulus: bigint): number[] {
  const bad: number[] = [];
  for (let i = 0; i < count; i++) {
    const limbs = Array.from({ length: 9 }, (_, j) => view.getInt32(pointer + 36 * i + 4 * j, true));
    const integer = limbs.reduce((sum, limb, j) => sum + (BigInt(limb) << BigInt(29 * j)), 0n);
    const carried = limbs.slice(0, 8).every((limb) => limb >= 0 && limb <= FULL);
    if (!carried || integer <= -modulus || integer >= 2n * modulus) bad.push(i);
  }
  return bad;
}

const modulo = (a: bigint, m: bigint): bigint => ((a % m) + m) % m;

function powerOfHalf(exponent: number, modulus: bigint): bigint {
  let value = 1n;
  for (let i = 0; i < exponent; i++) value = value & 1n ? (value + modulus) >> 1n : value >> 1n;
  return value;
}
