import { bn254 } from '@noble/curves/bn254.js';
import { describe, expect, test } from 'vitest';
import { AssayError } from '../../common/errors.js';
import { FQ_MODULUS, FR_MODULUS } from '../field/bn254.params.js';
import { seededScalars } from '../opening/testing/random-claim.js';
import { decodeG1, encodeG1, G1_GENERATOR, G1_INFINITY, linearCombination, readUint256, writeUint256 } from './g1.js';
import { decodeG2, encodeG2, G2_GENERATOR } from './g2.js';
import { pairingHolds, pairingLines } from './pairing.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`curve seed ${seed}`);
const next = seededScalars(seed);

const words = (...values: bigint[]) => {
  const bytes = new Uint8Array(32 * values.length);
  values.forEach((value, i) => writeUint256(bytes, 32 * i, value));
  return bytes;
};

test('256-bit integers are read and written in views that start anywhere', () => {
  const bytes = new Uint8Array(70).subarray(3);
  for (const value of [0n, 1n, 2n ** 256n - 1n, FQ_MODULUS, next()]) {
    writeUint256(bytes, 5, value);
    expect(readUint256(bytes, 5)).toBe(value);
  }
  expect([...words(258n)].slice(-3)).toEqual([0, 1, 2]);
});

describe('G1', () => {
  test('decoding undoes encoding; infinity is 64 zero bytes', () => {
    for (let i = 0; i < 5; i++) {
      const point = G1_GENERATOR.multiply(next());
      expect(decodeG1(encodeG1(point), 'P').equals(point)).toBe(true);
    }
    expect(encodeG1(G1_INFINITY)).toEqual(new Uint8Array(64));
    expect(decodeG1(new Uint8Array(64), 'P').is0()).toBe(true);
    expect(encodeG1(G1_GENERATOR)).toEqual(words(1n, 2n));
  });

  test.each([
    ['63 bytes', new Uint8Array(63)],
    ['65 bytes', new Uint8Array(65)],
    ['not below q', words(1n + FQ_MODULUS, 2n)],
    ['not below q', words(1n, 2n + FQ_MODULUS)],
    ['not below q', words(FQ_MODULUS, FQ_MODULUS)],
    ['not below q', words(0n, FQ_MODULUS)],
    ['not on the curve', words(1n, 3n)],
    ['not on the curve', words(0n, 1n)],
    ['not on the curve', words(1n, 0n)],
  ])('%s is refused', (message, bytes) => {
    expect(() => decodeG1(bytes, 'the point')).toThrow(AssayError);
    expect(() => decodeG1(bytes, 'the point')).toThrow(`the point: expected a point of G1`);
    expect(() => decodeG1(bytes, 'the point')).toThrow(message);
  });

  test('a linear combination equals the sum of products', () => {
    for (const count of [0, 1, 2, 3, 8, 17]) {
      const points = Array.from({ length: count }, () => G1_GENERATOR.multiply(next()));
      const scalars = points.map(next);
      const expected = points.reduce((sum, p, i) => sum.add(p.multiplyUnsafe(scalars[i]!)), G1_INFINITY);
      expect(linearCombination(points, scalars).equals(expected)).toBe(true);
    }
  });

  test('edge scalars, infinity, equal and opposite points, unreduced and negative scalars', () => {
    const P = G1_GENERATOR.multiply(next());
    const edges = [0n, 1n, 2n, 15n, 16n, 17n, 31n, 32n, FR_MODULUS - 1n, FR_MODULUS / 2n, 2n ** 253n, 2n ** 253n - 1n];
    for (const e of edges) expect(linearCombination([P], [e]).equals(P.multiplyUnsafe(e))).toBe(true);
    expect(linearCombination([P, P.negate()], [5n, 5n]).is0()).toBe(true);
    expect(linearCombination([P, P], [5n, FR_MODULUS - 5n]).is0()).toBe(true);
    expect(linearCombination([P, P], [3n, 4n]).equals(P.multiply(7n))).toBe(true);
    expect(linearCombination([G1_INFINITY, P], [9n, 2n]).equals(P.double())).toBe(true);
    expect(linearCombination([P], [-1n]).equals(P.negate())).toBe(true);
    expect(linearCombination([P], [FR_MODULUS + 3n]).equals(P.multiply(3n))).toBe(true);
    expect(() => linearCombination([P], [])).toThrow(AssayError);
  });
});

describe('G2', () => {
  test('decoding undoes encoding, with the imaginary part first', () => {
    const point = G2_GENERATOR.multiply(next());
    expect(decodeG2(encodeG2(point), 'Q').equals(point)).toBe(true);
    expect(readUint256(encodeG2(G2_GENERATOR), 0)).toBe(G2_GENERATOR.toAffine().x.c1);
  });

  test('wrong length, coordinates not below q, infinity and points off the curve are refused', () => {
    const good = encodeG2(G2_GENERATOR);
    const [xc1, xc0, yc1, yc0] = [0, 32, 64, 96].map((at) => readUint256(good, at)) as [bigint, bigint, bigint, bigint];
    expect(() => decodeG2(good.subarray(1), 'Q')).toThrow('127 bytes');
    expect(() => decodeG2(words(xc1, xc0, yc1, yc0 + FQ_MODULUS), 'Q')).toThrow('not below q');
    expect(() => decodeG2(new Uint8Array(128), 'Q')).toThrow('infinity');
    expect(() => decodeG2(words(xc1, xc0, yc1, yc0 + 1n), 'Q')).toThrow('not on the curve');
    expect(() => decodeG2(words(xc0, xc1, yc0, yc1), 'Q')).toThrow('not on the curve');
  });

  test('a point of the twist outside the subgroup is refused', () => {
    // The first x = (k, 0) with a y on the twist: random points are in the subgroup with chance 1/cofactor.
    const { Fp2 } = bn254.fields;
    const point = (() => {
      for (let k = 1n; ; k++) {
        const x = { c0: k, c1: 0n };
        try {
          const b = bn254.G2.Point.CURVE().b;
          return bn254.G2.Point.fromAffine({ x, y: Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(x), x), b)) });
        } catch {
          continue;
        }
      }
    })();
    const { x, y } = point.toAffine();
    expect(() => decodeG2(words(x.c1, x.c0, y.c1, y.c0), 'Q')).toThrow('not in the subgroup');
  });
});

describe('the pairing equation', () => {
  const tau = next();
  const lines = pairingLines(G2_GENERATOR, G2_GENERATOR.multiply(tau));

  test('holds iff L = tau R, and agrees with two plain pairings', () => {
    const R = G1_GENERATOR.multiply(next());
    const L = R.multiply(tau);
    expect(pairingHolds(L, R, lines)).toBe(true);
    expect(pairingHolds(L.add(G1_GENERATOR), R, lines)).toBe(false);
    expect(pairingHolds(L.negate(), R, lines)).toBe(false);
    expect(pairingHolds(R, L, lines)).toBe(false);
    const { Fp12 } = bn254.fields;
    const plain = bn254.pairing(R, G2_GENERATOR.multiply(tau));
    expect(Fp12.eql(bn254.pairing(L, G2_GENERATOR), plain)).toBe(true);
  });

  test('infinity on one side or both', () => {
    expect(pairingHolds(G1_INFINITY, G1_INFINITY, lines)).toBe(true);
    expect(pairingHolds(G1_GENERATOR, G1_INFINITY, lines)).toBe(false);
    expect(pairingHolds(G1_INFINITY, G1_GENERATOR, lines)).toBe(false);
  });
});
