import { describe, expect, test } from 'vitest';
import { encodeG1, G1_INFINITY } from '../curve/g1.js';
import { add, inverse, mul, neg, sub } from '../field/fr.js';
import { DEVELOPMENT_TAU } from '../srs/development-srs.js';
import { openingKey, srsPrefix } from '../srs/srs.js';
import { referenceSrs } from '../srs/testing/reference-srs.js';
import { KeccakTranscript, type Transcript } from '../transcript/transcript.js';
import { equalityCoefficients, mercuryProver } from './mercury-prover.js';
import { equalityPolynomialAt, mercury } from './mercury.js';
import { referenceBackend } from './reference-backend.js';
import { equalityTable, naiveMercury, plus, type MercuryCheat } from './testing/naive-mercury.js';
import { commitWithTau, knownClaim, randomClaim, seededScalars, valueAt } from './testing/random-claim.js';
import { verifyOpening } from './verify.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`mercury seed ${seed}`);
const tau = DEVELOPMENT_TAU;
const srs = referenceSrs(tau, 256);
const key = openingKey(srs);
const transcript = () => new KeccakTranscript();

test('P_w at a point is the polynomial with coefficients eq(w, j)', () => {
  const next = seededScalars(seed);
  for (let bits = 0; bits <= 4; bits++) {
    const w = Array.from({ length: bits }, next);
    const x = next();
    expect(equalityCoefficients(w)).toEqual(equalityTable(w));
    expect(equalityPolynomialAt(w, x)).toBe(valueAt(equalityTable(w), x));
  }
});

describe.each([1, 2, 3, 4, 5, 6, 7, 8])('n = %i', (n) => {
  const next = seededScalars(`${seed}/${n}`);
  // The SRS has no point too many: degrees of the honest prover fit N.
  const backend = referenceBackend(srsPrefix(srs, 2 ** n));

  test('an honest proof is accepted, has 704 bytes, and equals the naive one to the last byte', () => {
    const { claim, f } = randomClaim(n, 3, tau, next);
    const proof = mercuryProver.prove(transcript(), claim, f, backend);
    expect(proof.length).toBe(704);
    expect(mercury.proofBytes(n)).toBe(704);
    verifyOpening(mercury, transcript(), claim, proof, key);
    const naive = naiveMercury(transcript(), claim, f, tau, key.srsId);
    expect(Object.values(naive.checks)).toEqual(Array(6).fill(true));
    expect(proof).toEqual(naive.proof);
  });

  test('prover and verifier leave their transcripts in the same state', () => {
    const { claim, f } = randomClaim(n, 1, tau, next);
    const [proving, verifying] = [transcript(), transcript()];
    const proof = mercuryProver.prove(proving, claim, f, backend);
    mercury.reduce(verifying, claim, proof, key.srsId);
    expect(proving.challenge('next')).toBe(verifying.challenge('next'));
  });

  if (n <= 5)
    test('zero, one entry, vertices and constants are opened', () => {
      const zero = Array<bigint>(2 ** n).fill(0n);
      const random = Array.from({ length: n }, next);
      const vertex = Array.from({ length: n }, (_, i) => BigInt(i % 2));
      for (const f of [zero, [...zero.slice(1), 1n], zero.map(() => 7n)])
        for (const point of [random, vertex, zero.slice(0, n)]) {
          const { claim } = knownClaim([commitWithTau(f, tau)], [1n], f, point);
          verifyOpening(mercury, transcript(), claim, mercuryProver.prove(transcript(), claim, f, backend), key);
        }
    });

  test('a wrong value is refused although the prover does its best', () => {
    const { claim, f } = randomClaim(n, 1, tau, next);
    const wrong = { ...claim, value: add(claim.value, 1n) };
    const proof = mercuryProver.prove(transcript(), wrong, f, backend);
    expect(() => verifyOpening(mercury, transcript(), wrong, proof, key)).toThrow('pairing equation');
  });
});

test('the proof of the zero polynomial is all infinity and zeros', () => {
  const f = Array<bigint>(16).fill(0n);
  const { claim } = knownClaim([encodeG1(G1_INFINITY)], [1n], f, [1n, 2n, 3n, 4n]);
  const proof = mercuryProver.prove(transcript(), claim, f, referenceBackend(srsPrefix(srs, 16)));
  expect(proof.every((byte) => byte === 0)).toBe(true);
});

test.each([3, 4])('a vector longer than 2^n counts as its first 2^n entries, n = %i', (n) => {
  const next = seededScalars(`${seed}/long/${n}`);
  const f = Array.from({ length: 2 ** (n + 2) }, next);
  const { claim } = knownClaim([commitWithTau(f, tau)], [1n], f.slice(0, 2 ** n), Array.from({ length: n }, next));
  const { proof, checks } = naiveMercury(transcript(), claim, f, tau, key.srsId);
  expect(Object.values(checks)).toEqual(Array(6).fill(true));
  verifyOpening(mercury, transcript(), claim, proof, key);
});

/**
 * Forgeries of a wrong value for which every equation holds but one: each shows that the named check is needed, since
 * without it the proof would be accepted.
 */
describe.each([4, 5])('removal of one check, n = %i', (n) => {
  const next = seededScalars(`${seed}/removal/${n}`);
  const { claim: honest, f } = randomClaim(n, 1, tau, next);
  const claim = { ...honest, value: add(honest.value, 1n) };
  const rowPoint = claim.point.slice(0, Math.ceil(n / 2));
  const columnPoint = claim.point.slice(Math.ceil(n / 2));
  /** h plus what raises <h, P_row> by one. */
  const raised = (h: bigint[]) => plus(h, [inverse(equalityTable(rowPoint)[0]!)]);
  const allBut = (name: string) => ({
    division: true,
    gValues: true,
    hValues: true,
    hAtAlpha: true,
    sValues: true,
    degree: true,
    [name]: false,
  });
  /** What <g, P_col> lacks to h(alpha), as a multiple of g's constant coefficient. */
  const missing = (h: bigint[], g: bigint[], alpha: bigint) => {
    const table = equalityTable(columnPoint);
    const product = g.reduce((sum, value, j) => add(sum, mul(value, table[j]!)), 0n);
    return mul(sub(valueAt(h, alpha), product), inverse(table[0]!));
  };

  const cases: [check: string, cheat: MercuryCheat][] = [
    // g' = g - c (X^b - alpha) has degree b; its first b coefficients have the wrong inner product that h needs.
    [
      'degree',
      {
        h: raised,
        division: ({ q, g, h }, alpha) => {
          const c = mul(missing(h, g, alpha), inverse(alpha));
          const b = 2 ** columnPoint.length;
          return { q: plus(q, [c]), g: plus(plus(g, [mul(c, alpha)]), [...Array<bigint>(b).fill(0n), neg(c)]) };
        },
      },
    ],
    // A short g' with the inner product that h needs, but not the remainder of f.
    ['division', { h: raised, division: ({ q, g, h }, alpha) => ({ q, g: plus(g, [missing(h, g, alpha)]) }) }],
    // h' has the wrong inner product with P_row, g is honest: h'(alpha) is not <g, P_col>.
    ['hAtAlpha', { h: raised }],
    // All polynomials are honest; a false s(zeta) pays for the false value.
    [
      'sValues',
      {
        values: (values, { h, alpha, zeta, hAtAlpha }) => {
          const excess = sub(hAtAlpha, valueAt(h, alpha));
          return values.map((value, i) => (i === 4 ? add(value, mul(add(excess, excess), inverse(zeta))) : value));
        },
      },
    ],
    // The same with a false g(zeta), which the division then contradicts too; step 5 alone opens it.
    [
      'gValues',
      {
        values: (values, { h, alpha, zeta, hAtAlpha }) => {
          const excess = sub(hAtAlpha, valueAt(h, alpha));
          const factor = equalityPolynomialAt(columnPoint, inverse(zeta));
          return values.map((value, i) => (i === 0 ? sub(value, mul(add(excess, excess), inverse(factor))) : value));
        },
      },
    ],
  ];
  test.each(cases)('%s', (check, cheat) => {
    const { proof, checks } = naiveMercury(transcript(), claim, f, tau, key.srsId, cheat);
    expect(checks).toEqual(check === 'gValues' ? { ...allBut(check), division: false } : allBut(check));
    expect(() => verifyOpening(mercury, transcript(), claim, proof, key)).toThrow('pairing equation');
  });
});

describe('challenges for which the equations would degenerate are refused', () => {
  const { claim, f } = randomClaim(4, 1, tau, seededScalars(`${seed}/rigged`));
  const proof = mercuryProver.prove(transcript(), claim, f, referenceBackend(srsPrefix(srs, 16)));
  const half = inverse(2n);
  const usual = { alpha: 5n, gamma: 6n, zeta: 2n, beta: 7n, z: 9n, rho: 10n };
  test.each([
    [{ zeta: 0n }, 'zeta is 0'],
    [{ zeta: 1n }, 'not distinct'],
    [{ zeta: neg(1n) }, 'not distinct'],
    [{ alpha: 2n }, 'not distinct'],
    [{ alpha: half }, 'not distinct'],
    [{ z: 2n }, 'z is one of'],
    [{ z: half }, 'z is one of'],
    [{ z: 5n }, 'z is one of'],
  ] as [Partial<typeof usual>, string][])('%o', (unlucky, message) => {
    const drawn: Record<string, bigint> = { ...usual, ...unlucky };
    const rigged: Transcript = Object.assign(transcript(), {
      challenge: (label: string) => drawn[label.replace('mercury ', '')]!,
    });
    expect(() => mercury.reduce(rigged, claim, proof, key.srsId)).toThrow(message);
  });
});
