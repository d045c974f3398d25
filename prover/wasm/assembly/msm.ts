/**
 * Sums of multiples of points: sum of s_i P_i (multi-scalar multiplication), and multiples of one fixed point.
 *
 *   1. Scalars become signed digits: s = sum over windows w of d_w 2^(cw), |d_w| <= 2^(c-1), stored as i16, one row of
 *      `total` digits for each window. Small signed integers take as many windows as their largest magnitude needs,
 *      often one.
 *   2. A window sorts the points by |d| (negated where d < 0), then adds up each bucket as a tree of pairs; the pairs of
 *      all buckets go through batch-add.ts together. Zero digits cost nothing.
 *   3. sum over d of d bucket_d, by running sums from the largest d down.
 *   4. The windows are combined by doublings (Pippenger, "On the evaluation of powers and related problems", 1976).
 * A task is one window of one part of the points; threads take tasks.
 */
import * as field from './generated/fr/field';
import * as fqField from './generated/fq/field';
import { ELEMENT } from './generated/fr/field';
import { BATCH, BATCH_BYTES, NOTHING, runBatch, setOperation } from './batch-add';
import {
  AFFINE,
  EXTENDED,
  addAffine,
  addExtended,
  copyAffine,
  double,
  g1Normalise,
  negateAffine,
  setAffine,
  setInfinity,
} from './curve';
import { pop, push } from './scratch';

// ---- step 1

/** Signed digits of a magnitude held in words of 29 bits, least significant first. */
function writeDigits(digits: usize, total: u32, width: u32, windows: u32, limbs: usize, negative: bool): void {
  const mask: u64 = (1 << width) - 1;
  const half: i32 = 1 << (width - 1);
  let pending: u64 = 0;
  let bits: u32 = 0;
  let limb: usize = 0;
  let carry: i32 = 0;
  for (let w: u32 = 0; w < windows; w++) {
    if (bits < width && limb < ELEMENT) {
      pending |= (<u64>load<u32>(limbs + limb)) << bits;
      limb += 4;
      bits += 29;
    }
    let digit = <i32>(pending & mask) + carry;
    pending >>= width;
    bits = bits > width ? bits - width : 0;
    // With one window there is a bucket for each magnitude, and no carry to give it to.
    carry = windows > 1 && digit > half ? 1 : 0;
    digit -= carry << width;
    store<i16>(digits + 2 * <usize>w * total, <i16>(negative ? -digit : digit));
  }
}

export function g1DigitsField(digits: usize, scalars: usize, total: u32, width: u32, windows: u32, n: u32): void {
  const integer = push(ELEMENT);
  for (let i: u32 = 0; i < n; i++) {
    field.toInteger(integer, scalars + ELEMENT * i);
    writeDigits(digits + 2 * i, total, width, windows, integer, false);
  }
  pop(integer);
}

function digitsOfIntegers<T>(digits: usize, integers: usize, total: u32, width: u32, windows: u32, n: u32): void {
  const limbs = push(ELEMENT);
  field.setZero(limbs);
  for (let i: u32 = 0; i < n; i++) {
    const value = <i64>load<T>(integers + sizeof<T>() * i);
    const magnitude: i64 = value < 0 ? -value : value;
    store<i32>(limbs, <i32>(magnitude & 536870911));
    store<i32>(limbs, <i32>(magnitude >> 29), 4);
    writeDigits(digits + 2 * i, total, width, windows, limbs, value < 0);
  }
  pop(limbs);
}
export function g1DigitsI8(digits: usize, integers: usize, total: u32, width: u32, windows: u32, n: u32): void {
  digitsOfIntegers<i8>(digits, integers, total, width, windows, n);
}
export function g1DigitsI16(digits: usize, integers: usize, total: u32, width: u32, windows: u32, n: u32): void {
  digitsOfIntegers<i16>(digits, integers, total, width, windows, n);
}
export function g1DigitsI32(digits: usize, integers: usize, total: u32, width: u32, windows: u32, n: u32): void {
  digitsOfIntegers<i32>(digits, integers, total, width, windows, n);
}
export function g1DigitsF64(digits: usize, integers: usize, total: u32, width: u32, windows: u32, n: u32): void {
  digitsOfIntegers<f64>(digits, integers, total, width, windows, n);
}

/** Writes two f64: the largest magnitude, and how many integers are not zero. */
function measure<T>(result: usize, integers: usize, n: u32): void {
  let largest: f64 = 0;
  let count: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const value = <f64>load<T>(integers + sizeof<T>() * i);
    if (value === 0) continue;
    count++;
    largest = Math.max(largest, Math.abs(value));
  }
  store<f64>(result, largest);
  store<f64>(result, <f64>count, 8);
}
export function g1MeasureI8(result: usize, integers: usize, n: u32): void {
  measure<i8>(result, integers, n);
}
export function g1MeasureI16(result: usize, integers: usize, n: u32): void {
  measure<i16>(result, integers, n);
}
export function g1MeasureI32(result: usize, integers: usize, n: u32): void {
  measure<i32>(result, integers, n);
}
export function g1MeasureF64(result: usize, integers: usize, n: u32): void {
  measure<f64>(result, integers, n);
}

// ---- steps 2 and 3

/** Bytes of work space for a task of so many points and buckets. */
export function g1WindowWork(points: u32, buckets: u32): u32 {
  return <u32>(BATCH_BYTES + 8 * (<usize>buckets + 1) + AFFINE * points);
}

/** result (extended) = sum of d_i P_i over n points, |d_i| <= buckets. */
function sumWindow(result: usize, points: usize, digits: usize, buckets: u32, work: usize, n: u32): void {
  const batch = work;
  const counts = batch + BATCH_BYTES;
  const ends = counts + 4 * (<usize>buckets + 1);
  const sorted = ends + 4 * (<usize>buckets + 1);

  memory.fill(counts, 0, 4 * (<usize>buckets + 1));
  for (let i: u32 = 0; i < n; i++) {
    const digit = <i32>load<i16>(digits + 2 * i);
    if (digit === 0) continue;
    const at = counts + 4 * abs(digit);
    store<u32>(at, load<u32>(at) + 1);
  }
  let end: u32 = 0;
  for (let k: usize = 1; k <= buckets; k++) {
    store<u32>(ends + 4 * k, end);
    end += load<u32>(counts + 4 * k);
  }
  for (let i: u32 = 0; i < n; i++) {
    const digit = <i32>load<i16>(digits + 2 * i);
    if (digit === 0) continue;
    const at = ends + 4 * abs(digit);
    const slot = load<u32>(at);
    store<u32>(at, slot + 1);
    if (digit > 0) copyAffine(sorted + AFFINE * slot, points + AFFINE * i);
    else negateAffine(sorted + AFFINE * slot, points + AFFINE * i);
  }
  // From the end of each bucket back to its start.
  for (let k: usize = 1; k <= buckets; k++)
    store<u32>(ends + 4 * k, load<u32>(ends + 4 * k) - load<u32>(counts + 4 * k));

  for (let more = true; more;) {
    more = false;
    let m: u32 = 0;
    for (let k: usize = 1; k <= buckets; k++) {
      const count = load<u32>(counts + 4 * k);
      if (count < 2) continue;
      more = true;
      const bucket = sorted + AFFINE * load<u32>(ends + 4 * k);
      const pairs = count >> 1;
      // Points 2j and 2j + 1 go to place j, an odd one out moves to the place behind.
      for (let j: u32 = 0; j < pairs; j++) {
        const left = bucket + 2 * AFFINE * j;
        setOperation(batch, m, bucket + AFFINE * j, left, left + AFFINE);
        if (++m === BATCH) {
          runBatch(batch, m);
          m = 0;
        }
      }
      if (count & 1) {
        setOperation(batch, m, bucket + AFFINE * pairs, bucket + 2 * AFFINE * pairs, NOTHING);
        if (++m === BATCH) {
          runBatch(batch, m);
          m = 0;
        }
      }
      store<u32>(counts + 4 * k, (count + 1) >> 1);
    }
    if (m > 0) runBatch(batch, m);
  }

  const running = push(EXTENDED);
  setInfinity(running);
  setInfinity(result);
  for (let k: usize = buckets; k >= 1; k--) {
    if (load<u32>(counts + 4 * k) !== 0) addAffine(running, sorted + AFFINE * load<u32>(ends + 4 * k));
    addExtended(result, running);
  }
  pop(running);
}

/**
 * Tasks `first` .. `first` + n - 1: task t is window t / parts of part t mod parts, and writes results[t].
 * @param partSize points of a part; the last part may have fewer
 * @param work of this thread, g1WindowWork bytes
 */
export function g1Windows(
  first: u32,
  results: usize,
  points: usize,
  digits: usize,
  total: u32,
  parts: u32,
  partSize: u32,
  buckets: u32,
  work: usize,
  n: u32,
): void {
  for (let task = first; task < first + n; task++) {
    const window: usize = task / parts;
    const start: usize = <usize>(task % parts) * partSize;
    const row = digits + 2 * (window * total + start);
    sumWindow(
      results + EXTENDED * task,
      points + AFFINE * start,
      row,
      buckets,
      work,
      min<u32>(partSize, total - <u32>start),
    );
  }
}

// ---- step 4

/** out (64 bytes) = sum over windows w and parts of 2^(width w) results[w parts + part]. */
export function g1Combine(out: usize, results: usize, windows: u32, parts: u32, width: u32): void {
  const sum = push(EXTENDED + AFFINE + ELEMENT);
  const affine = sum + EXTENDED;
  setInfinity(sum);
  for (let w = windows; w > 0;) {
    w--;
    for (let i: u32 = 0; i < width; i++) double(sum);
    for (let part: u32 = 0; part < parts; part++) addExtended(sum, results + EXTENDED * (w * parts + part));
  }
  g1Normalise(affine, sum, affine + AFFINE, 1);
  fqField.toBytes(out, affine);
  fqField.toBytes(out + 32, affine + ELEMENT);
  pop(sum);
}

// ---- multiples of a fixed point

/** table[w 2^(width-1) + m - 1] = m 2^(width w) base, extended, m = 1 .. 2^(width-1). */
export function g1Table(table: usize, base: usize, width: u32, windows: u32): void {
  const power = push(EXTENDED + AFFINE + ELEMENT);
  const affine = power + EXTENDED;
  const entries: u32 = 1 << (width - 1);
  setAffine(power, base);
  for (let w: u32 = 0; w < windows; w++) {
    g1Normalise(affine, power, affine + AFFINE, 1);
    setAffine(table, affine);
    for (let m: u32 = 1; m < entries; m++) {
      memory.copy(table + EXTENDED, table, EXTENDED);
      table += EXTENDED;
      addAffine(table, affine);
    }
    // Twice the last entry is 2^width times the first.
    memory.copy(power, table, EXTENDED);
    double(power);
    table += EXTENDED;
  }
  pop(power);
}

/** Bytes of work space for g1FixedBase. */
export function g1FixedBaseWork(): u32 {
  return <u32>(BATCH_BYTES + AFFINE * BATCH);
}

/** out_i = s_i base for n <= BATCH scalars, from their digits and the base's table in affine form. */
export function g1FixedBase(
  out: usize,
  digits: usize,
  total: u32,
  table: usize,
  width: u32,
  windows: u32,
  work: usize,
  n: u32,
): void {
  const negated = work + BATCH_BYTES;
  memory.fill(out, 0, AFFINE * n);
  for (let w: u32 = 0; w < windows; w++) {
    const row = digits + 2 * <usize>w * total;
    const multiples = table + AFFINE * (((<usize>w) << (width - 1)) - 1);
    let m: u32 = 0;
    for (let i: u32 = 0; i < n; i++) {
      const digit = <i32>load<i16>(row + 2 * i);
      if (digit === 0) continue;
      let multiple = multiples + AFFINE * abs(digit);
      if (digit < 0) {
        negateAffine(negated + AFFINE * m, multiple);
        multiple = negated + AFFINE * m;
      }
      const target = out + AFFINE * i;
      setOperation(work, m++, target, target, multiple);
    }
    runBatch(work, m);
  }
}

/** Operations of a batch, and so the scalars of one call of g1FixedBase. */
export function g1BatchSize(): u32 {
  return BATCH;
}
