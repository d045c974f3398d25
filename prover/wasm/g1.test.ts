import { bn254 } from '@noble/curves/bn254.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FQ_MODULUS, FR_MODULUS } from '../field/bn254.params.js';
import { toBytes, toField } from '../field/fr.js';
import type { Arithmetic } from './arithmetic.js';
import { sliceVector, type IntArray } from './fr-vectors.js';
import { G1_GENERATOR, POINT_BYTES, type PointVector } from './g1.js';
import { openArithmetic } from './node-arithmetic.js';
import { notNormal, representations } from './testing/corners.js';
import { Random } from './testing/random.js';

const SEED = 20_261_130;
const N = 3000;

const Point = bn254.G1.Point;

/** The reference's k G as 64 bytes. */
function multiple(k: bigint): Uint8Array {
  const bytes = new Uint8Array(POINT_BYTES);
  if (toField(k) === 0n) return bytes;
  const { x, y } = Point.BASE.multiply(toField(k)).toAffine();
  // The same layout as a scalar; Fq only has another modulus.
  bytes.set(toBytes(x));
  bytes.set(toBytes(y), 32);
  return bytes;
}

const negated = (bytes: Uint8Array): Uint8Array => {
  const y = BigInt(`0x${Buffer.from(bytes.subarray(32)).toString('hex')}`);
  const result = bytes.slice();
  result.set(toBytes(FQ_MODULUS - y), 32);
  return result;
};

const INFINITY = new Uint8Array(POINT_BYTES);

describe.each([1, 2, 3])('G1, %i threads', (threads) => {
  let arithmetic: Arithmetic;
  /** exponents_i G, with duplicates, opposites and infinity among them. */
  let points: PointVector;
  const random = new Random(SEED + threads);
  const exponents = random.scalars(N).map((value, i, all) => {
    if (i >= 100 && i < 200) return all[50]!;
    if (i >= 200 && i < 250) return FR_MODULUS - all[50]!;
    if (i >= 250 && i < 300) return 0n;
    return value;
  });

  beforeAll(async () => {
    console.info(`seed ${SEED + threads}`);
    arithmetic = await openArithmetic({ threads });
    points = arithmetic.g1.multiplesOf(G1_GENERATOR, arithmetic.fr.fromBigInts(exponents));
  });
  afterAll(() => arithmetic.close());

  const sumOf = (scalars: readonly bigint[], first = 0): Uint8Array =>
    multiple(toField(scalars.reduce((sum, s, i) => sum + s * exponents[first + i]!, 0n)));
  const pointSlice = (first: number, count: number): PointVector => ({
    pointer: points.pointer + 72 * first,
    length: count,
  });
  const fullMsm = (scalars: readonly bigint[], first = 0): Uint8Array =>
    arithmetic.memory.scoped(() =>
      arithmetic.g1.msm(pointSlice(first, scalars.length), arithmetic.fr.fromBigInts(scalars)),
    );
  const smallMsm = (scalars: IntArray, first = 0): Uint8Array =>
    arithmetic.memory.scoped(() => arithmetic.g1.msm(pointSlice(first, scalars.length), arithmetic.fr.ints(scalars)));
  const bigs = (ints: IntArray): bigint[] => Array.from(ints, (v) => BigInt(v));

  it('multiplies a fixed base', () => {
    const bytes = arithmetic.g1.toBytes(points);
    for (const i of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 50, 150, 220, 260, 1023, 1024, 2047, 2048, N - 1])
      expect(bytes.subarray(64 * i, 64 * i + 64)).toEqual(multiple(exponents[i]!));
    // Two coordinates a point, after an addition for each window.
    expect(notNormal(arithmetic.memory.view, points.pointer, 2 * N, FQ_MODULUS)).toEqual([]);
  });

  it('multiplies another base', () => {
    const { g1, fr, memory } = arithmetic;
    memory.scoped(() => {
      const scalars = [0n, 1n, 2n, FR_MODULUS - 1n, exponents[999]!];
      const bytes = g1.toBytes(g1.multiplesOf(multiple(77n), fr.fromBigInts(scalars)));
      scalars.forEach((s, i) => expect(bytes.subarray(64 * i, 64 * i + 64)).toEqual(multiple(77n * s)));
      expect(g1.toBytes(g1.multiplesOf(INFINITY, fr.fromBigInts([5n])))).toEqual(INFINITY);
    });
  });

  it('imports and exports points', () => {
    const { g1, memory } = arithmetic;
    memory.scoped(() => {
      const bytes = g1.toBytes(points);
      expect(g1.toBytes(g1.fromBytes(bytes))).toEqual(bytes);
    });
  });

  it('refuses points off the curve and bytes that are not canonical', () => {
    const { g1, memory } = arithmetic;
    const bytes = g1.toBytes(points);
    const spoilt = (at: number, change: (point: Uint8Array) => void): Uint8Array => {
      const copy = bytes.slice();
      change(copy.subarray(64 * at, 64 * at + 64));
      return copy;
    };
    memory.scoped(() => {
      expect(() => g1.fromBytes(spoilt(2500, (point) => (point[63]! ^= 1)))).toThrow(/point 2500 is not/);
      expect(() => g1.fromBytes(spoilt(7, (point) => point.fill(0, 0, 32)))).toThrow(/point 7 is not/);
      // x + q and y + q stand for the same residues.
      const larger = (offset: number) => (point: Uint8Array) => {
        point.set(multiple(1n));
        point.set(toBytes(BigInt(offset === 0 ? 1 : 2) + FQ_MODULUS), offset);
      };
      expect(() => g1.fromBytes(spoilt(8, larger(0)))).toThrow(/point 8 is not/);
      expect(() => g1.fromBytes(spoilt(9, larger(32)))).toThrow(/point 9 is not/);
      expect(() => g1.fromBytes(bytes.subarray(0, 65))).toThrow(/no whole number/);
    });
  });

  it.each([1, 2, 3, 5, 64, N])('sums %i full scalars', (count) => {
    const scalars = random.scalars(count).reverse();
    expect(fullMsm(scalars)).toEqual(sumOf(scalars));
    expect(fullMsm(scalars, N - count)).toEqual(sumOf(scalars, N - count));
  });

  it('sums nothing, zeros, and opposites to infinity', () => {
    expect(fullMsm([])).toEqual(INFINITY);
    expect(smallMsm(new Int8Array(0))).toEqual(INFINITY);
    expect(smallMsm(new Int32Array(N))).toEqual(INFINITY);
    expect(fullMsm(new Array<bigint>(200).fill(0n))).toEqual(INFINITY);
    // Points 50 and 200 are opposite, 250 is infinity.
    expect(fullMsm(exponents.map((_, i) => (i === 50 || i === 200 ? 5n : 0n)))).toEqual(INFINITY);
    expect(smallMsm(Int8Array.from({ length: N }, (_, i) => (i === 50 || i === 200 ? -3 : 0)))).toEqual(INFINITY);
    expect(smallMsm(Int8Array.of(1, -1, 1), 250)).toEqual(INFINITY);
  });

  it('adds equal and opposite points that meet in one bucket', () => {
    // Points 50 and 100 .. 199 are one point P, 200 .. 249 are -P, 250 .. 299 infinity.
    for (const pattern of [
      (): number => 1,
      (i: number): number => (i % 2 ? 1 : -1),
      (i: number): number => (i < 150 ? 7 : i < 200 ? -7 : 7),
      (i: number): number => (i % 5) - 2,
    ]) {
      for (const [first, count] of [
        [100, 2],
        [100, 3],
        [100, 100],
        [100, 150],
        [100, 200],
        [199, 2],
        [249, 2],
        [0, N],
      ] as const) {
        const scalars = Int8Array.from({ length: count }, (_, i) => pattern(first + i));
        expect(smallMsm(scalars, first)).toEqual(sumOf(bigs(scalars), first));
        expect(fullMsm(bigs(scalars), first)).toEqual(sumOf(bigs(scalars), first));
      }
    }
  });

  it.each<[string, IntArray, number]>([
    ['int8', new Int8Array(N), 2 ** 7],
    ['int16', new Int16Array(N), 2 ** 15],
    ['int32', new Int32Array(N), 2 ** 31],
    ['float64', new Float64Array(N), 2 ** 53],
    ['small float64', new Float64Array(N), 300],
    ['bits', new Int32Array(N), 2],
    ['12-bit int32', new Int32Array(N), 2 ** 11],
  ])('sums %s scalars', (_, ints, bound) => {
    ints.forEach((__, i) => (ints[i] = random.integer(1 - bound, bound - 1)));
    ints[17] = 1 - bound;
    ints[18] = bound - 1;
    if (ints instanceof Int32Array || ints instanceof Int16Array || ints instanceof Int8Array) ints[19] = -bound;
    expect(smallMsm(ints)).toEqual(sumOf(bigs(ints)));
    const sparse = ints.map((v, i) => (i % 97 === 0 ? v : 0));
    expect(smallMsm(sparse)).toEqual(sumOf(bigs(sparse)));
    // One bucket takes everything: the deepest tree.
    ints.fill(bound - 1);
    expect(smallMsm(ints)).toEqual(sumOf(bigs(ints)));
  });

  it('takes few, huge buckets of full scalars', () => {
    const scalars = exponents.map((_, i) => (i % 3 === 0 ? FR_MODULUS - 1n : i % 3 === 1 ? FR_MODULUS - 2n : 1n));
    expect(fullMsm(scalars)).toEqual(sumOf(scalars));
  });

  it('takes coordinates in every representation', () => {
    const { g1, memory } = arithmetic;
    memory.scoped(() => {
      const bytes = g1.toBytes(points);
      const copy = g1.fromBytes(bytes);
      const coordinate = (at: number): bigint =>
        BigInt(`0x${Buffer.from(bytes.subarray(at, at + 32)).toString('hex')}`);
      for (let i = 0; i < N; i++) {
        if (exponents[i] === 0n) continue;
        for (const part of [0, 1]) {
          const limbs = representations(coordinate(64 * i + 32 * part), FQ_MODULUS)[(i >> part) % 3]!;
          limbs.forEach((limb, j) => memory.view.setInt32(copy.pointer + 72 * i + 36 * part + 4 * j, limb, true));
        }
      }
      expect(g1.toBytes(copy)).toEqual(bytes);
      const ints = new Int8Array(N).map((_, i) => (i % 7) - 3);
      expect(g1.msm(copy, arithmetic.fr.ints(ints))).toEqual(sumOf(bigs(ints)));
      const scalars = random.scalars(N);
      expect(g1.msm(copy, arithmetic.fr.fromBigInts(scalars))).toEqual(sumOf(scalars));
    });
  });

  it('agrees with itself on slices', () => {
    const { fr, g1, memory } = arithmetic;
    memory.scoped(() => {
      const scalars = fr.fromBigInts(random.scalars(N));
      const whole = g1.msm(points, scalars);
      const parts = [
        g1.msm(pointSlice(0, 1000), sliceVector(scalars, 0, 1000)),
        g1.msm(pointSlice(1000, N - 1000), sliceVector(scalars, 1000, N)),
        negated(whole),
      ];
      const joined = g1.fromBytes(Uint8Array.from(parts.flatMap((part) => [...part])));
      expect(g1.msm(joined, fr.ints(Int8Array.of(1, 1, 1)))).toEqual(INFINITY);
    });
  });
});
