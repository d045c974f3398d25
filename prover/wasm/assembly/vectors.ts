/**
 * Kernels over vectors of Fr: consecutive elements of 36 bytes in normal form. `n` counts what a call computes; the caller
 * splits long vectors among threads by moving the pointers. An output may be one of the inputs, element for element.
 */
import * as fr from './generated/fr/arithmetic';
import * as field from './generated/fr/field';
import { COLUMNS, ELEMENT } from './generated/fr/field';
import { dotRow } from './integer-dot';
import { pop, push } from './scratch';

// ---- in and out

/** Writes to `result` (u32) how many leading encodings are canonical: n if all are. */
export function frFromBytes(result: usize, out: usize, bytes: usize, n: u32): void {
  let i: u32 = 0;
  for (; i < n; i++) {
    if (!field.fromBytes(out, bytes)) break;
    out += ELEMENT;
    bytes += 32;
  }
  store<u32>(result, i);
}

export function frToBytes(bytes: usize, a: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    field.toBytes(bytes, a);
    bytes += 32;
    a += ELEMENT;
  }
}

/** Integers below 2^31 in magnitude times the element 1; larger ones (F64, below 2^53) through the form of two limbs. */
function fromIntegers<T>(out: usize, integers: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    if (isFloat<T>()) field.fromInteger(out, <i64>load<T>(integers));
    else fr.scaleInteger(out, fr.ONE, <i64>load<T>(integers), fr.ZERO);
    out += ELEMENT;
    integers += sizeof<T>();
  }
}
export function frFromI8(out: usize, integers: usize, n: u32): void {
  fromIntegers<i8>(out, integers, n);
}
export function frFromI16(out: usize, integers: usize, n: u32): void {
  fromIntegers<i16>(out, integers, n);
}
export function frFromI32(out: usize, integers: usize, n: u32): void {
  fromIntegers<i32>(out, integers, n);
}
export function frFromF64(out: usize, integers: usize, n: u32): void {
  fromIntegers<f64>(out, integers, n);
}

// ---- element by element

export function frAdd(out: usize, a: usize, b: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    fr.add(out, a, b);
    out += ELEMENT;
    a += ELEMENT;
    b += ELEMENT;
  }
}

export function frSub(out: usize, a: usize, b: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    fr.sub(out, a, b);
    out += ELEMENT;
    a += ELEMENT;
    b += ELEMENT;
  }
}

export function frMul(out: usize, a: usize, b: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    fr.mul(out, a, b);
    out += ELEMENT;
    a += ELEMENT;
    b += ELEMENT;
  }
}

export function frSqr(out: usize, a: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    fr.sqr(out, a);
    out += ELEMENT;
    a += ELEMENT;
  }
}

/** out_i = c a_i */
export function frScale(out: usize, c: usize, a: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    fr.mul(out, a, c);
    out += ELEMENT;
    a += ELEMENT;
  }
}

/** out_i = a_i + c */
export function frAddScalar(out: usize, c: usize, a: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    fr.add(out, a, c);
    out += ELEMENT;
    a += ELEMENT;
  }
}

/** acc_i += c a_i */
export function frAxpy(acc: usize, c: usize, a: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    fr.mulAdd(acc, a, c, acc);
    acc += ELEMENT;
    a += ELEMENT;
  }
}

/** out_i = low_i + c (high_i - low_i) */
export function frFold(out: usize, low: usize, high: usize, c: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    fr.differenceMulAdd(out, high, low, c, low);
    out += ELEMENT;
    low += ELEMENT;
    high += ELEMENT;
  }
}

/** high_i = z low_i, low_i = low_i - high_i: one more variable, on top, of a table of eq. */
export function frSplit(low: usize, high: usize, z: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    fr.mul(high, low, z);
    fr.sub(low, low, high);
    low += ELEMENT;
    high += ELEMENT;
  }
}

/** Writes to `result` (u32) the index of the first element where a and b differ, n if none does. */
export function frFirstDifference(result: usize, a: usize, b: usize, n: u32): void {
  const difference = push(ELEMENT);
  let i: u32 = 0;
  for (; i < n; i++) {
    fr.subCarried(difference, a + ELEMENT * i, b + ELEMENT * i);
    if (!field.isZero(difference)) break;
  }
  pop(difference);
  store<u32>(result, i);
}

// ---- sums

export function frSum(out: usize, a: usize, n: u32): void {
  const columns = push(COLUMNS);
  memory.fill(columns, 0, COLUMNS);
  let t0: i64 = 0,
    t1: i64 = 0,
    t2: i64 = 0,
    t3: i64 = 0,
    t4: i64 = 0,
    t5: i64 = 0,
    t6: i64 = 0,
    t7: i64 = 0,
    t8: i64 = 0;
  for (let i: u32 = 0; i < n; i++) {
    t0 += <i64>load<i32>(a);
    t1 += <i64>load<i32>(a, 4);
    t2 += <i64>load<i32>(a, 8);
    t3 += <i64>load<i32>(a, 12);
    t4 += <i64>load<i32>(a, 16);
    t5 += <i64>load<i32>(a, 20);
    t6 += <i64>load<i32>(a, 24);
    t7 += <i64>load<i32>(a, 28);
    t8 += <i64>load<i32>(a, 32);
    a += ELEMENT;
  }
  store<i64>(columns, t0);
  store<i64>(columns, t1, 8);
  store<i64>(columns, t2, 16);
  store<i64>(columns, t3, 24);
  store<i64>(columns, t4, 32);
  store<i64>(columns, t5, 40);
  store<i64>(columns, t6, 48);
  store<i64>(columns, t7, 56);
  store<i64>(columns, t8, 64);
  field.reduceLinear(out, columns);
  pop(columns);
}

/** out = sum of a_i b_i */
export function frDot(out: usize, a: usize, b: usize, n: u32): void {
  const columns = push(COLUMNS);
  memory.fill(columns, 0, COLUMNS);
  fr.dot(columns, a, b, n);
  field.reduceProducts(out, columns);
  pop(columns);
}

/** out_i = sum over j < length of integers[i rowStep + j step] v_j, for n rows; steps in bytes. */
function dotRows<T>(out: usize, integers: usize, rowStep: usize, step: usize, v: usize, length: u32, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    dotRow<T>(out, integers, step, v, length);
    out += ELEMENT;
    integers += rowStep;
  }
}
export function frDotRowsI8(
  out: usize,
  integers: usize,
  rowStep: usize,
  step: usize,
  v: usize,
  length: u32,
  n: u32,
): void {
  dotRows<i8>(out, integers, rowStep, step, v, length, n);
}
export function frDotRowsI16(
  out: usize,
  integers: usize,
  rowStep: usize,
  step: usize,
  v: usize,
  length: u32,
  n: u32,
): void {
  dotRows<i16>(out, integers, rowStep, step, v, length, n);
}
export function frDotRowsI32(
  out: usize,
  integers: usize,
  rowStep: usize,
  step: usize,
  v: usize,
  length: u32,
  n: u32,
): void {
  dotRows<i32>(out, integers, rowStep, step, v, length, n);
}

// ---- integers times a field element

/** out_i = acc_i + c integers_i */
function axpyIntegers<T>(acc: usize, c: usize, integers: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const s = <i64>load<T>(integers);
    if (s !== 0) fr.scaleInteger(acc, c, s, acc);
    acc += ELEMENT;
    integers += sizeof<T>();
  }
}
export function frAxpyI8(acc: usize, c: usize, integers: usize, n: u32): void {
  axpyIntegers<i8>(acc, c, integers, n);
}
export function frAxpyI16(acc: usize, c: usize, integers: usize, n: u32): void {
  axpyIntegers<i16>(acc, c, integers, n);
}
export function frAxpyI32(acc: usize, c: usize, integers: usize, n: u32): void {
  axpyIntegers<i32>(acc, c, integers, n);
}

/** out_i = d low_i + c high_i with integers low, high: the fold of an integer vector, d = 1 - c. */
function foldIntegers<T>(out: usize, low: usize, high: usize, d: usize, c: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    fr.scaleInteger(out, d, <i64>load<T>(low), fr.ZERO);
    fr.scaleInteger(out, c, <i64>load<T>(high), out);
    out += ELEMENT;
    low += sizeof<T>();
    high += sizeof<T>();
  }
}
export function frFoldI8(out: usize, low: usize, high: usize, d: usize, c: usize, n: u32): void {
  foldIntegers<i8>(out, low, high, d, c, n);
}
export function frFoldI16(out: usize, low: usize, high: usize, d: usize, c: usize, n: u32): void {
  foldIntegers<i16>(out, low, high, d, c, n);
}
export function frFoldI32(out: usize, low: usize, high: usize, d: usize, c: usize, n: u32): void {
  foldIntegers<i32>(out, low, high, d, c, n);
}

// ---- products of two axes

/** out[i, j] = a_i b_j, for n rows i. */
export function frOuter(out: usize, a: usize, b: usize, columns: u32, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    frScale(out, a, b, columns);
    out += ELEMENT * columns;
    a += ELEMENT;
  }
}

/** acc[i, j] += c a_i b_j, for n rows i. */
export function frOuterAccumulate(acc: usize, c: usize, a: usize, b: usize, columns: u32, n: u32): void {
  const factor = push(ELEMENT);
  for (let i: u32 = 0; i < n; i++) {
    fr.mul(factor, a, c);
    frAxpy(acc, factor, b, columns);
    acc += ELEMENT * columns;
    a += ELEMENT;
  }
  pop(factor);
}

/**
 * acc[p, k_e, q] += w_e in[p, s_e, q] for every entry e of a sparse matrix: `pre` positions p, `post` positions q. An entry
 * is two u32, k and s.
 *
 * @param accStep, inStep bytes from one p to the next
 * @param accRow, inRow bytes from one k or s to the next
 */
function sparse<T>(
  acc: usize,
  input: usize,
  entries: usize,
  weights: usize,
  count: u32,
  accStep: usize,
  inStep: usize,
  accRow: usize,
  inRow: usize,
  pre: u32,
  post: u32,
): void {
  for (let p: u32 = 0; p < pre; p++) {
    for (let e: u32 = 0; e < count; e++) {
      const out = acc + accRow * load<u32>(entries + 8 * e);
      const row = input + inRow * load<u32>(entries + 8 * e, 4);
      const weight = weights + ELEMENT * e;
      // A vector of elements is told by a type that integers never have.
      if (isFloat<T>()) frAxpy(out, weight, row, post);
      else axpyIntegers<T>(out, weight, row, post);
    }
    acc += accStep;
    input += inStep;
  }
}
// Without ending the last argument is the number of q, which threads share; with `Pre` it is the number of p.
export function frSparse(
  acc: usize,
  input: usize,
  entries: usize,
  weights: usize,
  count: u32,
  accStep: usize,
  inStep: usize,
  accRow: usize,
  inRow: usize,
  pre: u32,
  post: u32,
): void {
  sparse<f64>(acc, input, entries, weights, count, accStep, inStep, accRow, inRow, pre, post);
}
export function frSparsePre(
  acc: usize,
  input: usize,
  entries: usize,
  weights: usize,
  count: u32,
  accStep: usize,
  inStep: usize,
  accRow: usize,
  inRow: usize,
  post: u32,
  pre: u32,
): void {
  sparse<f64>(acc, input, entries, weights, count, accStep, inStep, accRow, inRow, pre, post);
}
export function frSparseI8(
  acc: usize,
  input: usize,
  entries: usize,
  weights: usize,
  count: u32,
  accStep: usize,
  inStep: usize,
  accRow: usize,
  inRow: usize,
  pre: u32,
  post: u32,
): void {
  sparse<i8>(acc, input, entries, weights, count, accStep, inStep, accRow, inRow, pre, post);
}
export function frSparseI8Pre(
  acc: usize,
  input: usize,
  entries: usize,
  weights: usize,
  count: u32,
  accStep: usize,
  inStep: usize,
  accRow: usize,
  inRow: usize,
  post: u32,
  pre: u32,
): void {
  sparse<i8>(acc, input, entries, weights, count, accStep, inStep, accRow, inRow, pre, post);
}
export function frSparseI16(
  acc: usize,
  input: usize,
  entries: usize,
  weights: usize,
  count: u32,
  accStep: usize,
  inStep: usize,
  accRow: usize,
  inRow: usize,
  pre: u32,
  post: u32,
): void {
  sparse<i16>(acc, input, entries, weights, count, accStep, inStep, accRow, inRow, pre, post);
}
export function frSparseI16Pre(
  acc: usize,
  input: usize,
  entries: usize,
  weights: usize,
  count: u32,
  accStep: usize,
  inStep: usize,
  accRow: usize,
  inRow: usize,
  post: u32,
  pre: u32,
): void {
  sparse<i16>(acc, input, entries, weights, count, accStep, inStep, accRow, inRow, pre, post);
}
export function frSparseI32(
  acc: usize,
  input: usize,
  entries: usize,
  weights: usize,
  count: u32,
  accStep: usize,
  inStep: usize,
  accRow: usize,
  inRow: usize,
  pre: u32,
  post: u32,
): void {
  sparse<i32>(acc, input, entries, weights, count, accStep, inStep, accRow, inRow, pre, post);
}
export function frSparseI32Pre(
  acc: usize,
  input: usize,
  entries: usize,
  weights: usize,
  count: u32,
  accStep: usize,
  inStep: usize,
  accRow: usize,
  inRow: usize,
  post: u32,
  pre: u32,
): void {
  sparse<i32>(acc, input, entries, weights, count, accStep, inStep, accRow, inRow, pre, post);
}

// ---- inverses

/**
 * a_i = 1 / a_i for n elements with one inversion (Montgomery's trick); a zero stays zero. Writes to `result` (u32) the
 * index of the first zero, n if there is none.
 * @param prefix room for n elements
 */
export function frInvert(result: usize, a: usize, prefix: usize, n: u32): void {
  let firstZero = n;
  const running = push(2 * ELEMENT);
  const inverse = running + ELEMENT;
  field.copy(running, fr.ONE);
  for (let i: u32 = 0; i < n; i++) {
    const element = a + ELEMENT * i;
    field.copy(prefix + ELEMENT * i, running);
    if (field.isZero(element)) {
      if (firstZero === n) firstZero = i;
      field.setZero(element);
    } else fr.mul(running, running, element);
  }
  field.invert(running, running);
  for (let i = n; i > 0;) {
    i--;
    const element = a + ELEMENT * i;
    if (field.isBlank(element)) continue;
    fr.mul(inverse, running, prefix + ELEMENT * i);
    fr.mul(running, running, element);
    field.copy(element, inverse);
  }
  pop(running);
  store<u32>(result, firstZero);
}
