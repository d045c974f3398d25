/**
 * The curve y^2 = x^3 + 3 over Fq, in two forms.
 *
 *   affine    x, y: 72 bytes in normal form. The point at infinity is all limbs zero; (0, 0) is not on the curve.
 *   extended  X, Y, ZZ, ZZZ with x = X/ZZ, y = Y/ZZZ, ZZ^3 = ZZZ^2: 144 bytes. Infinity: all limbs of ZZ zero.
 *
 * Formulas: Explicit-Formulas Database, short Weierstrass, a = 0, XYZZ: madd-2008-s, add-2008-s, dbl-2008-s-1.
 * The group has prime order, so every point on the curve is in it and none has order 2: y is never 0.
 */
import * as fq from './generated/fq/arithmetic';
import * as field from './generated/fq/field';
import { ELEMENT } from './generated/fq/field';
import { pop, push } from './scratch';

/** Bytes of an affine point. */
export const AFFINE: usize = 72;
/** Bytes of an extended point. */
export const EXTENDED: usize = 144;
const Y: usize = 36;
const ZZ: usize = 72;
const ZZZ: usize = 108;

export function copyAffine(r: usize, p: usize): void {
  for (let i: usize = 0; i < AFFINE; i += 8) store<u64>(r + i, load<u64>(p + i));
}

/** r = -p */
export function negateAffine(r: usize, p: usize): void {
  field.copy(r, p);
  fq.negate(r + Y, p + Y);
}

export function isAffineInfinity(p: usize): bool {
  return load<i32>(p) === 0 && field.isBlank(p) && field.isBlank(p + Y);
}

export function isInfinity(p: usize): bool {
  return field.isBlank(p + ZZ);
}

export function setInfinity(p: usize): void {
  memory.fill(p, 0, EXTENDED);
}

export function setAffine(p: usize, q: usize): void {
  if (isAffineInfinity(q)) return setInfinity(p);
  copyAffine(p, q);
  field.copy(p + ZZ, fq.ONE);
  field.copy(p + ZZZ, fq.ONE);
}

/** p = 2p */
export function double(p: usize): void {
  if (isInfinity(p)) return;
  const u = push(7 * ELEMENT);
  const v = u + ELEMENT;
  const w = v + ELEMENT;
  const s = w + ELEMENT;
  const m = s + ELEMENT;
  const x = m + ELEMENT;
  const t = x + ELEMENT;
  fq.add(u, p + Y, p + Y);
  fq.sqr(v, u);
  fq.mul(w, u, v);
  fq.mul(s, p, v);
  fq.sqr(t, p);
  fq.add(m, t, t);
  fq.add(m, m, t);
  fq.sqr(t, m);
  fq.subTwo(x, t, s, s);
  fq.mul(t, w, p + Y);
  fq.differenceMulSub(p + Y, s, x, m, t);
  field.copy(p, x);
  fq.mul(p + ZZ, p + ZZ, v);
  fq.mul(p + ZZZ, p + ZZZ, w);
  pop(u);
}

/**
 * The end of both additions: p += q where, over the common denominators ZZ and ZZZ that p holds already, p has the
 * coordinates x1, y1 and q has x1 + u, y1 + s. Where u = 0, p must be as it was: equal points are doubled, opposite ones
 * give infinity.
 */
function addDifferences(p: usize, x1: usize, y1: usize, u: usize, s: usize): void {
  if (field.isZero(u)) {
    if (field.isZero(s)) double(p);
    else setInfinity(p);
    return;
  }
  const uu = push(5 * ELEMENT);
  const uuu = uu + ELEMENT;
  const q = uuu + ELEMENT;
  const t = q + ELEMENT;
  const x = t + ELEMENT;
  fq.sqr(uu, u);
  fq.mul(uuu, u, uu);
  fq.mul(q, x1, uu);
  fq.sqr(t, s);
  fq.sub(t, t, uuu);
  fq.subTwo(x, t, q, q);
  fq.mul(t, y1, uuu);
  fq.differenceMulSub(p + Y, q, x, s, t);
  field.copy(p, x);
  fq.mul(p + ZZ, p + ZZ, uu);
  fq.mul(p + ZZZ, p + ZZZ, uuu);
  pop(uu);
}

/** p += q, q affine. */
export function addAffine(p: usize, q: usize): void {
  if (isAffineInfinity(q)) return;
  if (isInfinity(p)) return setAffine(p, q);
  const u = push(2 * ELEMENT);
  const s = u + ELEMENT;
  fq.mulSub(u, q, p + ZZ, p);
  fq.mulSub(s, q + Y, p + ZZZ, p + Y);
  addDifferences(p, p, p + Y, u, s);
  pop(u);
}

/** p += q, both extended; q another buffer than p. */
export function addExtended(p: usize, q: usize): void {
  if (isInfinity(q)) return;
  if (isInfinity(p)) {
    memory.copy(p, q, EXTENDED);
    return;
  }
  const u = push(4 * ELEMENT);
  const s = u + ELEMENT;
  const x1 = s + ELEMENT;
  const y1 = x1 + ELEMENT;
  fq.mul(x1, p, q + ZZ);
  fq.mulSub(u, q, p + ZZ, x1);
  fq.mul(y1, p + Y, q + ZZZ);
  fq.mulSub(s, q + Y, p + ZZZ, y1);
  // Only now, because equal points are doubled as they stand.
  if (!field.isZero(u)) {
    fq.mul(p + ZZ, p + ZZ, q + ZZ);
    fq.mul(p + ZZZ, p + ZZZ, q + ZZZ);
  }
  addDifferences(p, x1, y1, u, s);
  pop(u);
}

/** Affine form of n extended points, with one inversion. @param prefix room for n elements */
export function g1Normalise(out: usize, points: usize, prefix: usize, n: u32): void {
  const running = push(3 * ELEMENT);
  const inverse = running + ELEMENT;
  const square = inverse + ELEMENT;
  field.copy(running, fq.ONE);
  for (let i: u32 = 0; i < n; i++) {
    const p = points + EXTENDED * i;
    field.copy(prefix + ELEMENT * i, running);
    if (!isInfinity(p)) fq.mul(running, running, p + ZZZ);
  }
  field.invert(running, running);
  for (let i = n; i > 0;) {
    i--;
    const p = points + EXTENDED * i;
    const r = out + AFFINE * i;
    if (isInfinity(p)) {
      memory.fill(r, 0, AFFINE);
      continue;
    }
    fq.mul(inverse, running, prefix + ELEMENT * i);
    fq.mul(running, running, p + ZZZ);
    // 1/ZZ = ZZ^2 / ZZZ^2, because ZZ^3 = ZZZ^2.
    fq.mul(square, inverse, p + ZZ);
    fq.sqr(square, square);
    fq.mul(r, p, square);
    fq.mul(r + Y, p + Y, inverse);
  }
  pop(running);
}

/**
 * Points from 64 bytes x | y each, big endian, zeros for infinity. Writes to `result` (u32) how many leading ones are
 * canonical and on the curve: n if all are.
 */
export function g1FromBytes(result: usize, out: usize, bytes: usize, n: u32): void {
  const left = push(3 * ELEMENT);
  const right = left + ELEMENT;
  const three = right + ELEMENT;
  field.fromInteger(three, 3);
  let i: u32 = 0;
  for (; i < n; i++) {
    const p = out + AFFINE * i;
    const source = bytes + 64 * i;
    if (!field.fromBytes(p, source) || !field.fromBytes(p + Y, source + 32)) break;
    if (field.isZero(p) && field.isZero(p + Y)) {
      memory.fill(p, 0, AFFINE);
      continue;
    }
    fq.sqr(right, p);
    fq.mulAdd(right, right, p, three);
    fq.sqr(left, p + Y);
    fq.sub(left, left, right);
    if (!field.isZero(left)) break;
  }
  pop(left);
  store<u32>(result, i);
}

export function g1ToBytes(bytes: usize, points: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    field.toBytes(bytes, points);
    field.toBytes(bytes + 32, points + Y);
    bytes += 64;
    points += AFFINE;
  }
}
