import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FR_MODULUS } from '../field/bn254.params.js';
import { toField } from '../field/fr.js';
import type { Arithmetic } from './arithmetic.js';
import type { FrVector } from './fr-vectors.js';
import { openArithmetic } from './node-arithmetic.js';
import type { RoundValues } from './sumcheck-rounds.js';
import { cornersOf } from './testing/corners.js';
import { Random } from './testing/random.js';

const SEED = 20_261_130;
/** Longer than a chunk of each kernel; the second is the last round. */
const LENGTHS = [4100, 2];

type Values = Readonly<Record<string, bigint>>;

/** The reference: sum over x of the expression at f(X, x) = low + X (high - low), at the given X. */
function referenceRound(
  columns: Readonly<Record<string, readonly bigint[]>>,
  expression: (at: Values) => bigint,
  at: readonly number[],
): bigint[] {
  const half = Object.values(columns)[0]!.length / 2;
  return at.map((X) => {
    let sum = 0n;
    for (let x = 0; x < half; x++) {
      const values = Object.entries(columns).map(([name, f]) => [name, f[x]! + BigInt(X) * (f[half + x]! - f[x]!)]);
      sum += expression(Object.fromEntries(values) as Values);
    }
    return toField(sum);
  });
}

const points = (values: RoundValues): number[] => [0, 2, 3, 4, 5, 6].slice(0, values);

describe.each([1, 2, 3])('sumcheck rounds, %i threads', (threads) => {
  let arithmetic: Arithmetic;
  const random = new Random(SEED + threads);
  beforeAll(async () => {
    console.info(`seed ${SEED + threads}`);
    arithmetic = await openArithmetic({ threads });
  });
  afterAll(() => arithmetic.close());

  /** Random columns that begin with corners of the normal form: each steps from low to high ones and back. */
  function columnsOf<K extends string>(names: readonly K[], length: number) {
    const corners = cornersOf(FR_MODULUS);
    const half = length / 2;
    const entries = names.map((name, column) => {
      const values = random.scalars(length);
      const vector = arithmetic.fr.fromBigInts(values);
      for (let i = 0; i < Math.min(half, 2 * corners.length); i++)
        for (const [position, corner] of [
          [i, corners[(i >> (column % 2)) % corners.length]!],
          [half + i, corners[corners.length - 1 - ((i >> (column % 3)) % corners.length)]!],
        ] as const) {
          values[position] = corner.value;
          corner.limbs.forEach((limb, j) =>
            arithmetic.memory.view.setInt32(vector.pointer + 36 * position + 4 * j, limb, true),
          );
        }
      return { name, values, vector };
    });
    return {
      values: Object.fromEntries(entries.map(({ name, values }) => [name, values])) as Record<K, bigint[]>,
      vectors: Object.fromEntries(entries.map(({ name, vector }) => [name, vector])) as Record<K, FrVector>,
    };
  }

  describe.each(LENGTHS)('%i positions', (length) => {
    it('sums products', () => {
      const { values, vectors } = columnsOf(['a', 'p', 'b', 'q'], length);
      const [zero, one, two] = referenceRound(values, ({ a, p, b, q }) => a! * p! + b! * q!, [0, 1, 2]);
      const terms = [
        { a: vectors.a, p: vectors.p },
        { a: vectors.b, p: vectors.q },
      ];
      expect(arithmetic.rounds.products(terms, zero! + one!)).toEqual([zero, two]);
    });

    it.each([
      ['int8', Int8Array, 2 ** 7],
      ['int16', Int16Array, 2 ** 15],
      ['int32', Int32Array, 2 ** 31],
    ] as const)('sums products with %s', (_, type, bound) => {
      const { values, vectors } = columnsOf(['a', 'b', 'q'], length);
      // Differences of full range, both ways, at the start.
      const ints = new type(length).map((__, i) => {
        const inHalf = i % (length / 2);
        if (inHalf < 40) return inHalf % 2 === Number(i < length / 2) ? -bound : bound - 1;
        return random.integer(-bound, bound - 1);
      });
      const [zero, one, two] = referenceRound(
        { ...values, p: Array.from(ints, (v) => BigInt(v)) },
        ({ a, p, b, q }) => a! * p! + b! * q!,
        [0, 1, 2],
      );
      const terms = [
        { a: vectors.a, p: arithmetic.fr.ints(ints) },
        { a: vectors.b, p: vectors.q },
      ];
      expect(arithmetic.rounds.products(terms, zero! + one!)).toEqual([zero, two]);
    });

    it('sums triple products', () => {
      const { values, vectors } = columnsOf(['e', 'p', 'q'], length);
      expect(arithmetic.rounds.cubic(vectors.e, vectors.p, vectors.q)).toEqual(
        referenceRound(values, ({ e, p, q }) => e! * p! * q!, [0, 2, 3]),
      );
    });

    it.each([5, 6] as const)('sums a lookup witness, %i values', (count) => {
      const { values, vectors } = columnsOf(['gw', 'y', 'r0', 'r1', 'q', 't', 'vr', 'vq', 'eq'], length);
      const [alpha, beta, f0, lambda] = [random.scalar(), random.scalar(), random.scalar(), random.scalar()];
      const expected = referenceRound(
        values,
        ({ gw, y, r0, r1, q, t, vr, vq, eq }) => {
          const [d0, d1, d2] = [alpha - (r0! + f0), alpha - (r1! + f0), alpha - (q! + beta * y! + t!)];
          return gw! + eq! * lambda * (gw! * d0 * d1 * d2 - vr! * (d0 + d1) * d2 - vq! * d0 * d1);
        },
        points(count),
      );
      expect(arithmetic.rounds.lookupWitness(vectors, { alpha, beta, f0, lambda }, count)).toEqual(expected);
    });

    it.each([5, 6] as const)('sums a lookup table, %i values', (count) => {
      const { values, vectors } = columnsOf(['gt', 'a', 'b', 't', 'vt', 'm', 'eq'], length);
      const [alpha, beta, lambda] = [random.scalar(), random.scalar(), random.scalar()];
      const expected = referenceRound(
        values,
        ({ gt, a, b, t, vt, m, eq }) => -gt! + eq! * lambda * (gt! * (alpha - (a! + beta * b! + t!)) - vt! * m!),
        points(count),
      );
      expect(arithmetic.rounds.lookupTable(vectors, { alpha, beta, lambda }, count)).toEqual(expected);
    });

    it('sums a maximum of four', () => {
      const { values, vectors } = columnsOf(['gx', 'vx', 'y', 'x0', 'x1', 'x2', 'x3', 'eq'], length);
      const [alpha, f0, lambda, lambda2] = [random.scalar(), random.scalar(), random.scalar(), random.scalar()];
      const expected = referenceRound(
        values,
        ({ gx, vx, y, x0, x1, x2, x3, eq }) => {
          const F = [x0!, x1!, x2!, x3!].map((x) => y! - x);
          const E = F.map((f) => alpha - (f + f0));
          const product = (factors: readonly bigint[]): bigint => factors.reduce((p, f) => p * f, 1n);
          const others = E.map((_, i) => product(E.filter((__, j) => j !== i))).reduce((s, v) => s + v);
          return gx! + eq! * lambda * (gx! * product(E) - vx! * others) + eq! * lambda2 * vx! * product(F);
        },
        points(6),
      );
      const { gx, vx, y, x0, x1, x2, x3, eq } = vectors;
      const x = [x0, x1, x2, x3] as const;
      expect(arithmetic.rounds.maximum({ gx, vx, y, x, eq }, { alpha, f0, lambda, lambda2 })).toEqual(expected);
    });
  });

  it('proves a whole sum of products, round by round', () => {
    const { fr, rounds } = arithmetic;
    const { values, vectors } = columnsOf(['a', 'p'], 64);
    let { a, p } = vectors;
    let claim = toField(values.a.reduce((sum, v, i) => sum + v * values.p[i]!, 0n));
    while (a.length > 1) {
      const [zero, two] = rounds.products([{ a, p }], claim);
      const one = claim - zero;
      const X = random.scalar();
      // g(X) = g(0) + X (g(1) - g(0)) + X (X - 1) c with c = (g(2) - 2 g(1) + g(0)) / 2.
      const half = (FR_MODULUS + 1n) / 2n;
      claim = toField(zero + X * (one - zero) + X * (X - 1n) * (two - 2n * one + zero) * half);
      a = fr.fold(a, X);
      p = fr.fold(p, X);
    }
    expect(toField(fr.at(a, 0) * fr.at(p, 0))).toBe(claim);
  });

  it('refuses vectors of different or odd lengths', () => {
    const { vectors } = columnsOf(['a'], 6);
    const shorter = { ...vectors.a, length: 4 };
    expect(() => arithmetic.rounds.cubic(vectors.a, vectors.a, shorter)).toThrow(/lengths 6, 6, 4/);
    expect(() => arithmetic.rounds.products([{ a: shorter, p: vectors.a }], 0n)).toThrow(/lengths 4, 6/);
    const odd = { ...vectors.a, length: 3 };
    expect(() => arithmetic.rounds.cubic(odd, odd, odd)).toThrow(/lengths 3, 3, 3/);
  });
});
