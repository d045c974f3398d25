import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toField } from '../field/fr.js';
import { DEVELOPMENT_TAU } from '../srs/development-srs.js';
import { referenceSrs } from '../srs/testing/reference-srs.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { openArithmetic } from '../wasm/node-arithmetic.js';
import { referenceBackend, type BigIntVector } from './reference-backend.js';
import { seededScalars } from './testing/random-claim.js';
import type { PolynomialBackend } from './types.js';
import { wasmBackend, type WasmBackend } from './wasm-backend.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`wasm backend seed ${seed}`);
const srs = referenceSrs(DEVELOPMENT_TAU, 256);
const slow = referenceBackend(srs);

describe.each([1, 2])('the fast backend on %i threads equals the reference', (threads) => {
  const next = seededScalars(`${seed}/${threads}`);
  const random = (length: number) => Array.from({ length }, next);
  let arithmetic: Arithmetic;
  let fast: WasmBackend;
  beforeAll(async () => {
    arithmetic = await openArithmetic({ threads });
    fast = wasmBackend(arithmetic, srs);
  });
  afterAll(() => arithmetic.close());

  /** Runs one computation on both and compares what comes out as numbers. */
  const same = (work: <V>(backend: PolynomialBackend<V>, vector: (values: BigIntVector) => V) => unknown) => {
    const before = fast.mark();
    expect(work(fast, (values) => fast.fromScalars(values))).toEqual(work(slow, (values) => values));
    fast.release(before);
    expect(fast.mark()).toBe(before);
  };

  test.each([1, 2, 3, 4, 16, 100, 256])('length %i: evaluate, quotient, combine, commit', (length) => {
    const [f, g] = [random(length), random(Math.ceil(length / 2))];
    for (const x of [next(), 0n, 1n]) {
      same((backend, vector) => backend.evaluate(vector(f), x));
      same((backend, vector) => backend.toScalars(backend.quotient(vector(f), x)));
      same((backend, vector) => backend.toScalars(backend.combine([vector(f), vector(g)], [x, 5n])));
      same((backend, vector) => backend.toScalars(backend.combine([vector(g), vector(f)], [x, 5n])));
    }
    same((backend, vector) => backend.commit(vector(f)));
    same((backend, vector) => backend.commit(vector(f.map(() => 0n))));
    same((backend, vector) => backend.commit(vector([...f.map(() => 0n).slice(1), 1n])));
  });

  test.each([2, 4, 8, 256])('length %i: fold, rowProducts and divideByBinomial of every shape', (length) => {
    const f = random(length);
    for (const x of [next(), 0n, 1n]) same((backend, vector) => backend.toScalars(backend.fold(vector(f), x)));
    for (let b = 1; b < length; b *= 2)
      for (const x of [next(), 0n]) {
        const weights = random(b);
        same((backend, vector) => backend.rowProducts(vector(f), weights));
        same((backend, vector) => {
          const { quotient, remainder } = backend.divideByBinomial(vector(f), b, x);
          return [backend.toScalars(quotient), remainder];
        });
      }
  });

  test('small integers are committed as the field elements they stand for', () => {
    const ints = Int8Array.from({ length: 256 }, () => Number(next() % 256n) - 128);
    const before = fast.mark();
    const commitment = fast.commit(arithmetic.fr.ints(ints));
    fast.release(before);
    expect(commitment).toEqual(slow.commit([...ints].map(toField)));
  });

  test('an empty vector commits to infinity, a vector longer than the SRS is refused', () => {
    same((backend, vector) => backend.commit(vector([])));
    for (const backend of [slow, fast] as PolynomialBackend<unknown>[])
      expect(() => backend.commit(backend.fromScalars(random(257)))).toThrow('256 points, 257 are needed');
  });
});
