import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { add, inverse, mul, powers, sub, toBytes, toField } from '../field/fr.js';
import { FR_MODULUS } from '../field/bn254.params.js';
import type { Arithmetic } from './arithmetic.js';
import { sliceVector, type FrVector, type FrVectors, type IntArray } from './fr-vectors.js';
import { openArithmetic } from './node-arithmetic.js';
import { cornersOf, notNormal } from './testing/corners.js';
import { Random } from './testing/random.js';

const SEED = 20_261_130;
// Longer than a chunk, and no multiple of one.
const N = 5003;

describe.each([1, 2, 3])('vectors over Fr, %i threads', (threads) => {
  let arithmetic: Arithmetic;
  let fr: FrVectors;
  let mark: number;
  const random = new Random(SEED + threads);
  const x = random.scalars(N);
  const y = random.scalars(N).reverse();
  const c = random.scalar();

  beforeAll(async () => {
    console.info(`seed ${SEED + threads}`);
    arithmetic = await openArithmetic({ threads });
    fr = arithmetic.fr;
    mark = arithmetic.memory.mark();
  });
  afterAll(async () => {
    arithmetic.memory.release(mark);
    await arithmetic.close();
  });

  it('has the threads asked for', () => expect(arithmetic.threads).toBe(threads));

  it('imports and exports bigints and bytes', () => {
    const v = fr.fromBigInts(x);
    expect(fr.toBigInts(v)).toEqual(x);
    expect(fr.at(v, 2)).toBe(FR_MODULUS - 1n);
    const bytes = fr.toBytes(v);
    x.forEach((value, i) => expect(bytes.subarray(32 * i, 32 * i + 32)).toEqual(toBytes(value)));
    expect(fr.equal(fr.fromBytes(bytes), v)).toBe(true);
    expect(fr.toBigInts(fr.fromBigInts([-1n, FR_MODULUS, 1n << 300n]))).toEqual([-1n, 0n, 1n << 300n].map(toField));
  });

  it('refuses bytes that are not canonical', () => {
    const bytes = new Uint8Array(32 * N);
    bytes.set(toBytes(FR_MODULUS), 32 * 4000);
    expect(() => fr.fromBytes(bytes)).toThrow(/scalar 4000 is not below/);
    bytes.fill(255);
    expect(() => fr.fromBytes(bytes)).toThrow(/scalar 0 is not below/);
    expect(() => fr.fromBytes(bytes.subarray(1))).toThrow(/no whole number/);
  });

  it.each<[string, IntArray]>([
    ['int8', Int8Array.from({ length: 300 }, (_, i) => i - 128)],
    ['int16', Int16Array.of(0, 1, -1, 32767, -32768)],
    ['int32', Int32Array.of(0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 29, -(2 ** 29))],
    ['integers in float64', Float64Array.of(0, -0, 1, -1, 2 ** 53 - 1, -(2 ** 53) + 1, 2 ** 29, -(2 ** 31))],
  ])('imports %s', (_, ints) => {
    expect(fr.toBigInts(fr.fromInts(ints))).toEqual(Array.from(ints, (v) => toField(BigInt(v))));
  });

  it.each([0.5, NaN, Infinity, 2 ** 53])('refuses %d as an integer', (value) => {
    expect(() => fr.ints(Float64Array.of(1, value))).toThrow(/no integer/);
  });

  it('adds, subtracts, multiplies, scales', () => {
    const [a, b] = [fr.fromBigInts(x), fr.fromBigInts(y)];
    expect(fr.toBigInts(fr.add(a, b))).toEqual(x.map((value, i) => add(value, y[i]!)));
    expect(fr.toBigInts(fr.sub(a, b))).toEqual(x.map((value, i) => sub(value, y[i]!)));
    expect(fr.toBigInts(fr.mul(a, b))).toEqual(x.map((value, i) => mul(value, y[i]!)));
    expect(fr.toBigInts(fr.square(a))).toEqual(x.map((value) => mul(value, value)));
    expect(fr.toBigInts(fr.scale(c, a))).toEqual(x.map((value) => mul(value, c)));
    expect(fr.toBigInts(fr.addScalar(c, a))).toEqual(x.map((value) => add(value, c)));
    fr.axpy(a, c, b);
    expect(fr.toBigInts(a)).toEqual(x.map((value, i) => add(value, mul(c, y[i]!))));
  });

  it('multiplies every pair of edge cases', () => {
    const edges = random.scalars(12);
    for (const e of edges) {
      expect(fr.toBigInts(fr.scale(e, fr.fromBigInts(edges)))).toEqual(edges.map((value) => mul(value, e)));
    }
  });

  describe('at the corners of the normal form', () => {
    const corners = cornersOf(FR_MODULUS);
    /** `length` elements that go round the corners from the given one on. */
    const cornerVector = (length: number, first: number) => {
      const chosen = Array.from({ length }, (_, i) => corners[(first + i) % corners.length]!);
      const vector = fr.allocate(length);
      chosen.forEach(({ limbs }, i) =>
        limbs.forEach((limb, j) => arithmetic.memory.view.setInt32(vector.pointer + 36 * i + 4 * j, limb, true)),
      );
      return { vector, values: chosen.map(({ value }) => value) };
    };
    const count = corners.length;
    const expectNormal = ({ pointer, length }: FrVector): void =>
      expect(notNormal(arithmetic.memory.view, pointer, length, FR_MODULUS)).toEqual([]);

    it('computes with every pair, results in normal form', () => {
      const a = cornerVector(count, 0);
      expect(fr.toBigInts(a.vector)).toEqual(a.values);
      expect(fr.equal(a.vector, fr.fromBigInts(a.values))).toBe(true);
      for (let shift = 0; shift < count; shift++) {
        const b = cornerVector(count, shift);
        const expectPairs = (v: FrVector, f: (s: bigint, t: bigint) => bigint): void => {
          expect(fr.toBigInts(v)).toEqual(a.values.map((value, i) => f(value, b.values[i]!)));
          expectNormal(v);
        };
        expectPairs(fr.mul(a.vector, b.vector), mul);
        expectPairs(fr.add(a.vector, b.vector), add);
        expectPairs(fr.sub(a.vector, b.vector), sub);
        expectPairs(fr.square(b.vector), (_, t) => mul(t, t));
        const acc = fr.copy(a.vector);
        fr.axpy(acc, FR_MODULUS - 1n, b.vector);
        expectPairs(acc, sub);
        // a and b side by side are the halves of one vector.
        const joined = fr.allocate(2 * count);
        fr.copy(a.vector, sliceVector(joined, 0, count));
        fr.copy(b.vector, sliceVector(joined, count, 2 * count));
        expectPairs(fr.fold(joined, c), (s, t) => add(s, mul(c, sub(t, s))));
      }
    });

    it('sums long rows of one pair', () => {
      for (const first of [0, 1, 5, 9, 13, 17, 18, 19]) {
        const one = cornerVector(1, first);
        const row = fr.allocate(N);
        for (let i = 0; i < N; i++) fr.copy(one.vector, sliceVector(row, i, i + 1));
        expect(fr.dot(row, row)).toBe(toField(BigInt(N) * one.values[0]! ** 2n));
        expect(fr.sum(row)).toBe(toField(BigInt(N) * one.values[0]!));
        for (const ints of [
          new Int8Array(N).fill(-128),
          new Int16Array(N).fill(-32768),
          new Int32Array(N).fill(-(2 ** 31)),
          new Int32Array(N).fill(2 ** 31 - 1),
        ]) {
          const v = fr.ints(ints);
          const total = toField(BigInt(N) * BigInt(ints[0]!) * one.values[0]!);
          expect(fr.dot(v, row)).toBe(total);
          const acc = fr.copy(row);
          fr.axpy(acc, FR_MODULUS - 1n, v);
          expectNormal(acc);
          expectNormal(fr.foldInts({ ...v, length: N - 1 }, c));
          expectNormal(fr.fromInts(v));
          expectNormal(fr.dotRows(v, 1, N, row));
          expect(fr.at(acc, N - 1)).toBe(toField(one.values[0]! - BigInt(ints[0]!)));
        }
      }
    });

    it('inverts', () => {
      const a = cornerVector(count, 0);
      expect(a.values.indexOf(0n)).toBe(8);
      expect(fr.invert(a.vector)).toBe(8);
      expect(fr.toBigInts(a.vector)).toEqual(a.values.map((value) => (value === 0n ? 0n : inverse(value))));
      expectNormal(a.vector);
      expectNormal(fr.expandEq(a.values.slice(0, 6)));
      expectNormal(fr.fromBytes(fr.toBytes(a.vector)));
    });
  });

  it('stays in normal form through long chains', () => {
    const [a, b] = [fr.fromBigInts(x), fr.fromBigInts(y)];
    let [p, q] = [x, y];
    for (let round = 0; round < 20; round++) {
      fr.add(a, b, a);
      p = p.map((value, i) => add(value, q[i]!));
      fr.sub(b, a, b);
      q = q.map((value, i) => sub(value, p[i]!));
      fr.axpy(a, c, b);
      p = p.map((value, i) => add(value, mul(c, q[i]!)));
    }
    expect(fr.toBigInts(a)).toEqual(p);
    expect(fr.toBigInts(b)).toEqual(q);
  });

  it('sums and takes inner products', () => {
    const [a, b] = [fr.fromBigInts(x), fr.fromBigInts(y)];
    expect(fr.sum(a)).toBe(x.reduce(add));
    expect(fr.dot(a, b)).toBe(x.map((value, i) => mul(value, y[i]!)).reduce(add));
    for (const n of [0, 1, 2, 3]) {
      const expected = x.slice(2, 2 + n).map((value, i) => mul(value, y[N - 1 - i]!));
      const right = fr.fromBigInts([...y].reverse().slice(0, n));
      expect(fr.dot(sliceVector(a, 2, 2 + n), right)).toBe(expected.reduce(add, 0n));
      expect(fr.sum(sliceVector(a, 0, n))).toBe(x.slice(0, n).reduce(add, 0n));
    }
    const top = fr.fromBigInts(Array.from({ length: N }, () => FR_MODULUS - 1n));
    expect(fr.dot(top, top)).toBe(BigInt(N));
  });

  it.each<[string, (length: number) => IntArray, number]>([
    ['int8', (length) => new Int8Array(length), 2 ** 7],
    ['int16', (length) => new Int16Array(length), 2 ** 15],
    ['int32', (length) => new Int32Array(length), 2 ** 31],
  ])('works with %s', (_, make, bound) => {
    const ints = make(N + 1).map((__, i) => (i < 9 ? -bound : i < 18 ? bound - 1 : random.integer(-bound, bound - 1)));
    const signed = Array.from(ints, (v) => BigInt(v));
    const v = fr.ints(ints);
    const b = fr.fromBigInts([...x, c]);
    const bigs = [...x, c];
    expect(fr.dot(v, b)).toBe(toField(signed.map((s, i) => s * bigs[i]!).reduce((s, t) => s + t)));
    expect(fr.dot({ ...v, length: 5 }, sliceVector(b, 0, 5))).toBe(
      toField(signed.slice(0, 5).reduce((s, t, i) => s + t * bigs[i]!, 0n)),
    );
    const acc = fr.copy(b);
    fr.axpy(acc, c, v);
    expect(fr.toBigInts(acc)).toEqual(bigs.map((value, i) => toField(value + c * signed[i]!)));
    const half = (N + 1) / 2;
    expect(fr.toBigInts(fr.foldInts(v, c))).toEqual(
      signed.slice(0, half).map((low, i) => toField(low + c * (signed[i + half]! - low))),
    );
    const [rows, columns] = [37, 41];
    const matrix = { ...v, length: rows * columns };
    const right = sliceVector(b, 0, columns);
    const left = sliceVector(b, 0, rows);
    const at = (i: number, j: number): bigint => signed[i * columns + j]!;
    expect(fr.toBigInts(fr.dotRows(matrix, rows, columns, right))).toEqual(
      Array.from({ length: rows }, (__, i) =>
        toField(Array.from({ length: columns }, (___, j) => at(i, j) * x[j]!).reduce((s, t) => s + t)),
      ),
    );
    expect(fr.toBigInts(fr.dotColumns(matrix, rows, columns, left))).toEqual(
      Array.from({ length: columns }, (__, j) =>
        toField(Array.from({ length: rows }, (___, i) => at(i, j) * x[i]!).reduce((s, t) => s + t)),
      ),
    );
  });

  it('expands eq, most significant bit first', () => {
    for (const k of [0, 1, 2, 13]) {
      const point = random.scalars(k).reverse();
      const expected = Array.from({ length: 2 ** k }, (_, i) =>
        point.reduce((product, z, bit) => mul(product, (i >> (k - 1 - bit)) & 1 ? z : sub(1n, z)), c),
      );
      expect(fr.toBigInts(fr.expandEq(point, c))).toEqual(expected);
    }
    expect(fr.toBigInts(fr.expandEq([1n, 0n]))).toEqual([0n, 0n, 1n, 0n]);
  });

  it('takes powers', () => {
    expect(fr.toBigInts(fr.powers(c, N))).toEqual(powers(c, N));
    expect(fr.toBigInts(fr.powers(0n, 3))).toEqual([1n, 0n, 0n]);
    expect(fr.powers(c, 0).length).toBe(0);
  });

  it.each([
    [3, 2000],
    [2000, 3],
    [70, 71],
    [1, 1],
  ])('takes outer products %i x %i', (rows, columns) => {
    const [p, q] = [x.slice(0, rows), y.slice(-columns)];
    const [a, b] = [fr.fromBigInts(p), fr.fromBigInts(q)];
    const products = p.flatMap((s) => q.map((t) => mul(s, t)));
    const out = fr.outer(a, b);
    expect(fr.toBigInts(out)).toEqual(products);
    fr.outerAccumulate(out, c, b, a);
    const transposed = q.flatMap((s) => p.map((t) => mul(c, mul(s, t))));
    expect(fr.toBigInts(out)).toEqual(products.map((value, i) => add(value, transposed[i]!)));
  });

  it.each([
    { pre: 1, outAxis: 5, inAxis: 7, post: 11 },
    { pre: 300, outAxis: 3, inAxis: 4, post: 1 },
    { pre: 3, outAxis: 2, inAxis: 3, post: 400 },
  ])('applies a sparse matrix along an axis of %o', (shape) => {
    const { pre, outAxis, inAxis, post } = shape;
    const count = 6;
    const rows = Uint32Array.from({ length: count }, () => random.integer(0, outAxis - 1));
    const columns = Uint32Array.from({ length: count }, () => random.integer(0, inAxis - 1));
    const weights = random.scalars(count).reverse();
    const reference = (start: bigint[], input: bigint[]): bigint[] => {
      const out = [...start];
      for (let p = 0; p < pre; p++)
        for (let e = 0; e < count; e++)
          for (let q = 0; q < post; q++) {
            const to = (p * outAxis + rows[e]!) * post + q;
            out[to] = toField(out[to]! + weights[e]! * input[(p * inAxis + columns[e]!) * post + q]!);
          }
      return out;
    };
    const matrix = { rows, columns, weights: fr.fromBigInts(weights) };
    const start = random.scalars(pre * outAxis * post);
    const input = random.scalars(pre * inAxis * post);
    const acc = fr.fromBigInts(start);
    fr.sparseAlongAxis(acc, fr.fromBigInts(input), matrix, shape);
    const first = reference(start, input);
    expect(fr.toBigInts(acc)).toEqual(first);
    for (const type of [Int8Array, Int16Array, Int32Array]) {
      const ints = new type(input.length).map(() => random.integer(-128, 127));
      const sum = fr.fromBigInts(start);
      fr.sparseAlongAxis(sum, fr.ints(ints), matrix, shape);
      expect(fr.toBigInts(sum)).toEqual(
        reference(
          start,
          Array.from(ints, (v) => BigInt(v)),
        ),
      );
    }
  });

  it('folds the top variable, in place and elsewhere', () => {
    const bigs = [...x, c];
    const half = (N + 1) / 2;
    const expected = bigs.slice(0, half).map((low, i) => add(low, mul(c, sub(bigs[i + half]!, low))));
    const a = fr.fromBigInts(bigs);
    expect(fr.toBigInts(fr.fold(a, c, fr.allocate(half)))).toEqual(expected);
    expect(fr.toBigInts(a)).toEqual(bigs);
    const folded = fr.fold(a, c);
    expect(folded).toEqual({ pointer: a.pointer, length: half });
    expect(fr.toBigInts(folded)).toEqual(expected);
    expect(() => fr.fold(sliceVector(a, 0, 3), c)).toThrow(/no top variable/);
  });

  it('folds a long way down', () => {
    let values = random.scalars(4096);
    let v = fr.fromBigInts(values);
    while (values.length > 1) {
      const half = values.length / 2;
      values = values.slice(0, half).map((low, i) => add(low, mul(c, sub(values[i + half]!, low))));
      v = fr.fold(v, c);
    }
    expect(fr.at(v, 0)).toBe(values[0]);
  });

  it('inverts in place and names the first zero', () => {
    const nonzero = x.map((value) => (value === 0n ? 7n : value));
    const a = fr.fromBigInts(nonzero);
    expect(fr.invert(a)).toBe(null);
    expect(fr.toBigInts(a)).toEqual(nonzero.map(inverse));
    // Zero as r - r, the other limbs that stand for it.
    const b = fr.fromBigInts(nonzero);
    fr.sub(sliceVector(b, 4000, 4100), sliceVector(b, 4000, 4100), sliceVector(b, 4000, 4100));
    fr.fromBigInts([0n], sliceVector(b, 4500, 4501));
    expect(fr.invert(b)).toBe(4000);
    const inverted = fr.toBigInts(b);
    expect(inverted[3999]).toBe(inverse(nonzero[3999]!));
    expect(inverted[4099]).toBe(0n);
    expect(inverted[4100]).toBe(inverse(nonzero[4100]!));
  });

  it('compares values, not limbs', () => {
    const a = fr.fromBigInts(x);
    const same = fr.sub(fr.add(a, fr.fromBigInts(y)), fr.fromBigInts(y));
    expect(fr.equal(a, same)).toBe(true);
    expect(fr.isZero(fr.sub(a, same))).toBe(true);
    fr.fromBigInts([add(x[4999]!, 1n)], sliceVector(same, 4999, 5000));
    expect(fr.equal(a, same)).toBe(false);
    expect(fr.isZero(fr.sub(a, same))).toBe(false);
    expect(fr.equal(a, sliceVector(a, 1, N))).toBe(false);
  });
});

it('says when the memory does not suffice', async () => {
  const arithmetic = await openArithmetic({ threads: 1, maximumBytes: 2 ** 20 });
  expect(() => arithmetic.fr.allocate(2 ** 15)).toThrow(expect.objectContaining({ code: 'PROVER_MEMORY' }));
  expect(arithmetic.fr.toBigInts(arithmetic.fr.fromBigInts([5n]))).toEqual([5n]);
});
