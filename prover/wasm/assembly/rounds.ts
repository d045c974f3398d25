/**
 * Sumcheck rounds: for vectors f seen as multilinear polynomials whose top variable is X,
 *
 *     f_i(X) = low_i + X (high_i - low_i),   i over the half of the index that is left,
 *
 * each kernel sums a polynomial of several such f_i(X) over n positions i at small X, without reduction until the end.
 * Values of X are 0, 2, 3, ... (the caller knows the value at 1 from the claim). The kernels get a pointer to the first
 * half of each vector and the distance in bytes from there to the second half.
 *
 * Bounds (build/field-code.ts): f_i(X) with X <= 6 lies within (-16p, 17p), so that a product of two lies within
 * (-1.8p, 3.6p) and every product below stays far under 2^261.
 */
import * as fr from './generated/fr/arithmetic';
import * as field from './generated/fr/field';
import { COLUMNS, ELEMENT } from './generated/fr/field';
import { dotIntegerDifferences, dotRow } from './integer-dot';
import { pop, push } from './scratch';

// ---- sum of A P

/** Writes two elements: the value at 0 and the coefficient of X^2. */
export function roundProducts(out: usize, a: usize, p: usize, half: usize, n: u32): void {
  const columns = push(COLUMNS);
  memory.fill(columns, 0, COLUMNS);
  fr.dot(columns, a, p, n);
  field.reduceProducts(out, columns);
  memory.fill(columns, 0, COLUMNS);
  fr.dotDifferences(columns, a + half, a, p + half, p, n);
  field.reduceProducts(out + ELEMENT, columns);
  pop(columns);
}

/** As roundProducts. @param distance bytes from low to high integers */
function integerProducts<T>(out: usize, a: usize, p: usize, half: usize, distance: usize, n: u32): void {
  dotRow<T>(out, p, sizeof<T>(), a, n);
  const columns = push(COLUMNS);
  dotIntegerDifferences<T>(columns, a, a + half, p, p + distance, n);
  field.reduceLinear(out + ELEMENT, columns);
  pop(columns);
}
export function roundProductsI8(out: usize, a: usize, p: usize, half: usize, distance: usize, n: u32): void {
  integerProducts<i8>(out, a, p, half, distance, n);
}
export function roundProductsI16(out: usize, a: usize, p: usize, half: usize, distance: usize, n: u32): void {
  integerProducts<i16>(out, a, p, half, distance, n);
}
export function roundProductsI32(out: usize, a: usize, p: usize, half: usize, distance: usize, n: u32): void {
  integerProducts<i32>(out, a, p, half, distance, n);
}

// ---- columns that step from X to X + 1: the value at X, then the increment

const COLUMN: usize = 2 * ELEMENT;

/** The column that goes from `low` at X = 0 to `high` at X = 1; these may be temporary. */
function setColumn(column: usize, low: usize, high: usize): void {
  field.copy(column, low);
  fr.subCarried(column + ELEMENT, high, low);
}

function step(columns: usize, count: u32): void {
  for (let c: u32 = 0; c < count; c++) {
    fr.addCarried(columns, columns, columns + ELEMENT);
    columns += COLUMN;
  }
}

/** Room for the unreduced sums at so many values of X. */
function pushSums(count: u32): usize {
  const sums = push(COLUMNS * count);
  memory.fill(sums, 0, COLUMNS * count);
  return sums;
}

function writeSums(out: usize, sums: usize, count: u32): void {
  for (let e: u32 = 0; e < count; e++) field.reduceProducts(out + ELEMENT * e, sums + COLUMNS * e);
}

// ---- sum of E P Q

/** Writes the values at X = 0, 2, 3. */
export function roundCubic(out: usize, e: usize, p: usize, q: usize, half: usize, n: u32): void {
  const sums = pushSums(3);
  const columns = push(3 * COLUMN);
  const product = push(ELEMENT);
  for (let i: u32 = 0; i < n; i++) {
    setColumn(columns, e, e + half);
    setColumn(columns + COLUMN, p, p + half);
    setColumn(columns + 2 * COLUMN, q, q + half);
    for (let x: u32 = 0, sum = sums; x <= 3; x++) {
      if (x !== 1) {
        fr.mul(product, columns, columns + COLUMN);
        fr.accumulate(sum, product, columns + 2 * COLUMN);
        sum += COLUMNS;
      }
      if (x < 3) step(columns, 3);
    }
    e += ELEMENT;
    p += ELEMENT;
    q += ELEMENT;
  }
  writeSums(out, sums, 3);
  pop(sums);
}

// ---- lookups

/** r = alpha - q - beta y - t */
function tuple(r: usize, alpha: usize, beta: usize, q: usize, y: usize, t: usize): void {
  fr.mulAdd(r, y, beta, q);
  fr.subTwo(r, alpha, r, t);
}

/**
 * Sum of eq (gw D0 D1 D2 - vr (D0 + D1) D2 - vq D0 D1), D0 = a - r0, D1 = a - r1, D2 = alpha - (q + beta y + t), at
 * X = 0, 2, 3, ..., `count` values. @param constants alpha, beta, a
 */
export function roundLookupWitness(
  out: usize,
  gw: usize,
  y: usize,
  r0: usize,
  r1: usize,
  q: usize,
  t: usize,
  vr: usize,
  vq: usize,
  eq: usize,
  half: usize,
  constants: usize,
  count: u32,
  n: u32,
): void {
  const alpha = constants;
  const beta = constants + ELEMENT;
  const a = constants + 2 * ELEMENT;
  const sums = pushSums(count);
  const columns = push(7 * COLUMN);
  const d0 = columns + COLUMN;
  const d1 = d0 + COLUMN;
  const d2 = d1 + COLUMN;
  const cvr = d2 + COLUMN;
  const cvq = cvr + COLUMN;
  const ceq = cvq + COLUMN;
  const low = push(4 * ELEMENT);
  const high = low + ELEMENT;
  const product = high + ELEMENT;
  const term = product + ELEMENT;
  for (let i: u32 = 0; i < n; i++) {
    setColumn(columns, gw, gw + half);
    fr.sub(low, a, r0);
    fr.sub(high, a, r0 + half);
    setColumn(d0, low, high);
    fr.sub(low, a, r1);
    fr.sub(high, a, r1 + half);
    setColumn(d1, low, high);
    tuple(low, alpha, beta, q, y, t);
    tuple(high, alpha, beta, q + half, y + half, t + half);
    setColumn(d2, low, high);
    setColumn(cvr, vr, vr + half);
    setColumn(cvq, vq, vq + half);
    setColumn(ceq, eq, eq + half);
    for (let x: u32 = 0, sum = sums; x <= count; x++) {
      if (x !== 1) {
        fr.mul(product, d0, d1);
        fr.addCarried(term, d0, d1);
        fr.productDifference(term, columns, product, cvr, term);
        fr.productDifference(term, term, d2, cvq, product);
        fr.accumulate(sum, ceq, term);
        sum += COLUMNS;
      }
      if (x < count) step(columns, 7);
    }
    gw += ELEMENT;
    y += ELEMENT;
    r0 += ELEMENT;
    r1 += ELEMENT;
    q += ELEMENT;
    t += ELEMENT;
    vr += ELEMENT;
    vq += ELEMENT;
    eq += ELEMENT;
  }
  writeSums(out, sums, count);
  pop(sums);
}

/** Sum of eq (gt D - vt m), D = alpha - (a + beta b + t), at X = 0, 2, 3, ..., `count` values. @param constants alpha, beta */
export function roundLookupTable(
  out: usize,
  gt: usize,
  a: usize,
  b: usize,
  t: usize,
  vt: usize,
  m: usize,
  eq: usize,
  half: usize,
  constants: usize,
  count: u32,
  n: u32,
): void {
  const alpha = constants;
  const beta = constants + ELEMENT;
  const sums = pushSums(count);
  const columns = push(5 * COLUMN);
  const d = columns + COLUMN;
  const cvt = d + COLUMN;
  const cm = cvt + COLUMN;
  const ceq = cm + COLUMN;
  const low = push(3 * ELEMENT);
  const high = low + ELEMENT;
  const term = high + ELEMENT;
  for (let i: u32 = 0; i < n; i++) {
    setColumn(columns, gt, gt + half);
    tuple(low, alpha, beta, a, b, t);
    tuple(high, alpha, beta, a + half, b + half, t + half);
    setColumn(d, low, high);
    setColumn(cvt, vt, vt + half);
    setColumn(cm, m, m + half);
    setColumn(ceq, eq, eq + half);
    for (let x: u32 = 0, sum = sums; x <= count; x++) {
      if (x !== 1) {
        fr.productDifference(term, columns, d, cvt, cm);
        fr.accumulate(sum, ceq, term);
        sum += COLUMNS;
      }
      if (x < count) step(columns, 5);
    }
    gt += ELEMENT;
    a += ELEMENT;
    b += ELEMENT;
    t += ELEMENT;
    vt += ELEMENT;
    m += ELEMENT;
    eq += ELEMENT;
  }
  writeSums(out, sums, count);
  pop(sums);
}

// ---- maximum of four

/**
 * Two sums at X = 0, 2, 3, ..., `count` values each, with F_i = y - x_i and E_i = a - F_i:
 *   eq (gx E0 E1 E2 E3 - vx sum over i of the product of the other three E_j), then eq vx F0 F1 F2 F3.
 * @param constants a
 */
export function roundMaximum(
  out: usize,
  gx: usize,
  vx: usize,
  y: usize,
  x0: usize,
  x1: usize,
  x2: usize,
  x3: usize,
  eq: usize,
  half: usize,
  constants: usize,
  count: u32,
  n: u32,
): void {
  const a = constants;
  const sums = pushSums(2 * count);
  const columns = push(7 * COLUMN);
  const e0 = columns + COLUMN;
  const e1 = e0 + COLUMN;
  const e2 = e1 + COLUMN;
  const e3 = e2 + COLUMN;
  const cvx = e3 + COLUMN;
  const ceq = cvx + COLUMN;
  const low = push(6 * ELEMENT);
  const high = low + ELEMENT;
  const p01 = high + ELEMENT;
  const p23 = p01 + ELEMENT;
  const s01 = p23 + ELEMENT;
  const s23 = s01 + ELEMENT;
  for (let i: u32 = 0; i < n; i++) {
    setColumn(columns, gx, gx + half);
    fr.sub(low, a, y);
    fr.sub(high, a, y + half);
    setShifted(e0, low, high, x0, half, s01);
    setShifted(e1, low, high, x1, half, s01);
    setShifted(e2, low, high, x2, half, s01);
    setShifted(e3, low, high, x3, half, s01);
    setColumn(cvx, vx, vx + half);
    setColumn(ceq, eq, eq + half);
    for (let x: u32 = 0, sum = sums; x <= count; x++) {
      if (x !== 1) {
        fr.mul(p01, e0, e1);
        fr.mul(p23, e2, e3);
        fr.addCarried(s01, e0, e1);
        fr.addCarried(s23, e2, e3);
        fr.productSum(s01, s01, p23, s23, p01);
        fr.mul(p01, p01, p23);
        fr.productDifference(p01, columns, p01, cvx, s01);
        fr.accumulate(sum, ceq, p01);
        fr.subCarried(low, a, e0);
        fr.subCarried(high, a, e1);
        fr.mul(p01, low, high);
        fr.subCarried(low, a, e2);
        fr.subCarried(high, a, e3);
        fr.mul(p23, low, high);
        fr.mul(p01, p01, p23);
        fr.mul(p01, p01, cvx);
        fr.accumulate(sum + COLUMNS * count, ceq, p01);
        sum += COLUMNS;
      }
      if (x < count) step(columns, 7);
    }
    gx += ELEMENT;
    vx += ELEMENT;
    y += ELEMENT;
    x0 += ELEMENT;
    x1 += ELEMENT;
    x2 += ELEMENT;
    x3 += ELEMENT;
    eq += ELEMENT;
  }
  writeSums(out, sums, 2 * count);
  pop(sums);
}

/** The column low + x at X = 0, high + (x in the second half) at X = 1. @param temporary two elements */
function setShifted(column: usize, low: usize, high: usize, x: usize, half: usize, temporary: usize): void {
  fr.add(temporary, low, x);
  fr.add(temporary + ELEMENT, high, x + half);
  setColumn(column, temporary, temporary + ELEMENT);
}
