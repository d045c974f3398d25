/** Inner products of small integers (i8, i16 or i32) with vectors of Fr, without reduction until the end. */
import * as field from './generated/fr/field';
import { COLUMNS, ELEMENT } from './generated/fr/field';
import { pop, push } from './scratch';

/**
 * out = sum of integers_i v_i, the integers `step` bytes apart. Columns are carried after as many terms as 64 bits hold:
 * a limb below 2^29 times 2^31 leaves room for 4, times 2^15 for far more than the 2^16 taken here.
 */
export function dotRow<T>(out: usize, integers: usize, step: usize, v: usize, n: u32): void {
  const block: u32 = sizeof<T>() === 4 ? 4 : 65536;
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
    t8: i64 = 0,
    t9: i64 = 0;
  for (let i: u32 = 0; i < n;) {
    const end = i + min<u32>(block, n - i);
    for (; i < end; i++) {
      const s = <i64>load<T>(integers);
      t0 += s * <i64>load<i32>(v);
      t1 += s * <i64>load<i32>(v, 4);
      t2 += s * <i64>load<i32>(v, 8);
      t3 += s * <i64>load<i32>(v, 12);
      t4 += s * <i64>load<i32>(v, 16);
      t5 += s * <i64>load<i32>(v, 20);
      t6 += s * <i64>load<i32>(v, 24);
      t7 += s * <i64>load<i32>(v, 28);
      t8 += s * <i64>load<i32>(v, 32);
      integers += step;
      v += ELEMENT;
    }
    t1 += t0 >> 29;
    t0 &= 536870911;
    t2 += t1 >> 29;
    t1 &= 536870911;
    t3 += t2 >> 29;
    t2 &= 536870911;
    t4 += t3 >> 29;
    t3 &= 536870911;
    t5 += t4 >> 29;
    t4 &= 536870911;
    t6 += t5 >> 29;
    t5 &= 536870911;
    t7 += t6 >> 29;
    t6 &= 536870911;
    t8 += t7 >> 29;
    t7 &= 536870911;
    t9 += t8 >> 29;
    t8 &= 536870911;
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
  store<i64>(columns, t9, 72);
  field.reduceLinear(out, columns);
  pop(columns);
}

/**
 * columns = sum of (a1_i - a0_i)(p1_i - p0_i), p integers. Columns are carried after as many terms as 64 bits hold: a
 * limb below 2^29 times a difference below 2^32 leaves room for two, times 2^16 for far more than the 2^15 taken here.
 */
export function dotIntegerDifferences<T>(columns: usize, a0: usize, a1: usize, p0: usize, p1: usize, n: u32): void {
  const block: u32 = sizeof<T>() === 4 ? 2 : 32768;
  memory.fill(columns, 0, COLUMNS);
  for (let i: u32 = 0; i < n;) {
    const end = i + min<u32>(block, n - i);
    let t0: i64 = load<i64>(columns);
    let t1: i64 = load<i64>(columns, 8);
    let t2: i64 = load<i64>(columns, 16);
    let t3: i64 = load<i64>(columns, 24);
    let t4: i64 = load<i64>(columns, 32);
    let t5: i64 = load<i64>(columns, 40);
    let t6: i64 = load<i64>(columns, 48);
    let t7: i64 = load<i64>(columns, 56);
    let t8: i64 = load<i64>(columns, 64);
    for (; i < end; i++) {
      const s = <i64>load<T>(p1) - <i64>load<T>(p0);
      t0 += s * <i64>(load<i32>(a1) - load<i32>(a0));
      t1 += s * <i64>(load<i32>(a1, 4) - load<i32>(a0, 4));
      t2 += s * <i64>(load<i32>(a1, 8) - load<i32>(a0, 8));
      t3 += s * <i64>(load<i32>(a1, 12) - load<i32>(a0, 12));
      t4 += s * <i64>(load<i32>(a1, 16) - load<i32>(a0, 16));
      t5 += s * <i64>(load<i32>(a1, 20) - load<i32>(a0, 20));
      t6 += s * <i64>(load<i32>(a1, 24) - load<i32>(a0, 24));
      t7 += s * <i64>(load<i32>(a1, 28) - load<i32>(a0, 28));
      t8 += s * <i64>(load<i32>(a1, 32) - load<i32>(a0, 32));
      a0 += ELEMENT;
      a1 += ELEMENT;
      p0 += sizeof<T>();
      p1 += sizeof<T>();
    }
    t1 += t0 >> 29;
    t2 += t1 >> 29;
    t3 += t2 >> 29;
    t4 += t3 >> 29;
    t5 += t4 >> 29;
    t6 += t5 >> 29;
    t7 += t6 >> 29;
    t8 += t7 >> 29;
    store<i64>(columns, t0 & 536870911);
    store<i64>(columns, t1 & 536870911, 8);
    store<i64>(columns, t2 & 536870911, 16);
    store<i64>(columns, t3 & 536870911, 24);
    store<i64>(columns, t4 & 536870911, 32);
    store<i64>(columns, t5 & 536870911, 40);
    store<i64>(columns, t6 & 536870911, 48);
    store<i64>(columns, t7 & 536870911, 56);
    store<i64>(columns, t8 & 536870911, 64);
    store<i64>(columns, load<i64>(columns, 72) + (t8 >> 29), 72);
  }
}
