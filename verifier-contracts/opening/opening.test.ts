/**
 * The lower half of the verifier on chain, part by part against the TypeScript that it must equal: transcript, sumcheck,
 * points, reference string, Mercury.
 */
import { getBytes, hexlify, keccak256, toUtf8Bytes } from 'ethers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeG1, encodeG1, G1_GENERATOR, G1_INFINITY, linearCombination } from '../../prover/curve/g1.js';
import { encodeG2, G2_GENERATOR } from '../../prover/curve/g2.js';
import { FQ_MODULUS, FR_MODULUS } from '../../prover/field/bn254.params.js';
import { add, fromBytes, inverse, mul, toBytes } from '../../prover/field/fr.js';
import { mercuryProver } from '../../prover/opening/mercury-prover.js';
import { mercury } from '../../prover/opening/mercury.js';
import { referenceBackend } from '../../prover/opening/reference-backend.js';
import { knownClaim, commitWithTau, randomClaim, seededScalars } from '../../prover/opening/testing/random-claim.js';
import type { OpeningClaim } from '../../prover/opening/types.js';
import { verifyOpening } from '../../prover/opening/verify.js';
import { developmentHead, DEVELOPMENT_TAU, isDevelopmentSrs } from '../../prover/srs/development-srs.js';
import { openingKey, srsIdOf, srsPrefix, type SrsHead } from '../../prover/srs/srs.js';
import { referenceSrs } from '../../prover/srs/testing/reference-srs.js';
import { KeccakTranscript } from '../../prover/transcript/transcript.js';
import { evaluateRound, verifySumcheck } from '../../prover/verifier/sumcheck.js';
import { COMPILE_TIMEOUT_MS, deployHarness, type Harness } from '../harness/opening/deploy-harness.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`opening seed ${seed}`);

const words = (bytes: Uint8Array): bigint[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) => fromBytes(bytes.subarray(32 * i, 32 * i + 32)));
const srsArguments = ({ tauG1, tauG2 }: SrsHead): [bigint[], bigint[]] => [words(tauG1), words(tauG2)];
const START = keccak256(toUtf8Bytes('assay/transcript/1'));

let harness: Harness;
beforeAll(async () => {
  harness = await deployHarness('OpeningHarness', srsArguments(developmentHead()));
}, COMPILE_TIMEOUT_MS);
afterAll(() => harness.stop());

/** The name of the error that a call reverts with. */
async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    const { revert, data, code } = error as { revert?: { name: string } | null; data?: string | null; code?: string };
    return revert?.name ?? `${code}: ${data}`;
  }
  return 'accepted';
}

const scalar = fc.bigInt({ min: 0n, max: FR_MODULUS - 1n });
const edgeScalar = fc.oneof(scalar, fc.constantFrom(0n, 1n, 2n, FR_MODULUS - 1n, FR_MODULUS - 2n));

describe('transcript', () => {
  it('equals TypeScript on random messages and draws', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.constant(new Uint8Array(32).fill(7))), fc.nat(4)),
          {
            maxLength: 8,
          },
        ),
        async (steps) => {
          const transcript = new KeccakTranscript();
          const drawn = steps.flatMap(([message, count]) => {
            transcript.absorbBytes('', message);
            return transcript.challenges('', count);
          });
          const [state, found] = (await harness.call(
            'transcript',
            steps.map(([message]) => hexlify(message)),
            steps.map(([, count]) => count),
          )) as [string, bigint[]];
          expect([...found]).toEqual(drawn);
          if (steps.length > 0) return;
          expect(state).toBe(START);
        },
      ),
      { numRuns: 60, seed },
    );
  });

  it('a scalar that is not below r is not absorbed', async () => {
    for (const bad of [FR_MODULUS, FR_MODULUS + 1n, 2n ** 256n - 1n])
      for (const scalars of [[bad], [0n, bad], [bad, 0n], [1n, bad, 2n]])
        expect(await refusal(harness.call('absorbScalars', START, scalars))).toBe('ScalarNotCanonical');
    const transcript = new KeccakTranscript();
    transcript.absorbScalars('', [0n, FR_MODULUS - 1n]);
    const state = await harness.call('absorbScalars', START, [0n, FR_MODULUS - 1n]);
    transcript.absorbBytes('', new Uint8Array());
    const follow = keccak256(`0x${String(state).slice(2)}4100000000`);
    expect(BigInt(keccak256(`${follow}5300000000`)) % FR_MODULUS).toBe(transcript.challenge(''));
  });
});

describe('sumcheck', () => {
  const run = async (claim: bigint, rounds: readonly (readonly bigint[])[], degree: number) => {
    const [state, nextClaim, point, gas] = (await harness.call(
      'sumcheck',
      START,
      claim,
      rounds.flat(),
      rounds.length,
      degree,
    )) as [string, bigint, bigint[], bigint];
    return { state, claim: nextClaim, point: [...point], gas: Number(gas) };
  };

  it.each([2, 3, 5, 6])('degree %i equals TypeScript', async (degree) => {
    await fc.assert(
      fc.asyncProperty(
        edgeScalar,
        fc.array(fc.array(edgeScalar, { minLength: degree, maxLength: degree }), { maxLength: 6 }),
        async (claim, rounds) => {
          const expected = verifySumcheck(new KeccakTranscript(), '', claim, rounds);
          const found = await run(claim, rounds, degree);
          expect(found).toMatchObject(expected);
        },
      ),
      { numRuns: 25, seed },
    );
  });

  it('the largest and smallest elements in every place do not overflow', async () => {
    for (const degree of [2, 3, 5, 6])
      for (const value of [0n, 1n, FR_MODULUS - 1n])
        for (const claim of [0n, FR_MODULUS - 1n]) {
          const rounds = [Array<bigint>(degree).fill(value), Array<bigint>(degree).fill(FR_MODULUS - 1n - value)];
          expect(await run(claim, rounds, degree)).toMatchObject(
            verifySumcheck(new KeccakTranscript(), '', claim, rounds),
          );
        }
  });

  it('the state after the rounds is the one from which TypeScript goes on', async () => {
    const next = seededScalars(`${seed}/sumcheck`);
    const rounds = Array.from({ length: 3 }, () => [next(), next(), next()]);
    const transcript = new KeccakTranscript();
    verifySumcheck(transcript, '', 5n, rounds);
    transcript.absorbBytes('', Uint8Array.of(1));
    const { state } = await run(5n, rounds, 3);
    const follow = keccak256(`${state}410000000101`);
    expect(BigInt(keccak256(`${follow}5300000000`)) % FR_MODULUS).toBe(transcript.challenge(''));
  });

  it('every coefficient must be below r', async () => {
    for (const degree of [2, 3, 5])
      for (let i = 0; i < 2 * degree; i++) {
        const flat = Array.from({ length: 2 * degree }, (_, k) => BigInt(k + 1));
        flat[i]! += FR_MODULUS;
        expect(await refusal(harness.call('sumcheck', START, 0n, flat, 2, degree))).toBe('ScalarNotCanonical');
      }
  });

  it('the round polynomial is the one of its coefficients', () => {
    // p = 3 + 4 X + 5 X^2 has p(0) + p(1) = 15.
    expect(evaluateRound([3n, 5n], 15n, 10n)).toBe(543n);
  });

  it.each([2, 3, 5, 6])('gas of a round of degree %i', async (degree) => {
    const next = seededScalars(`${seed}/gas`);
    const rounds = Array.from({ length: 100 }, () => Array.from({ length: degree }, next));
    const gas = (await run(1n, rounds, degree)).gas / 100;
    console.log(`sumcheck, degree ${degree}: ${gas} gas a round`);
  });
});

describe('points', () => {
  const combine = async (points: readonly Uint8Array[], scalars: readonly bigint[]) => {
    const joined = new Uint8Array(64 * points.length);
    points.forEach((point, i) => joined.set(point, 64 * i));
    const [[x, y], gas] = (await harness.call('combine', hexlify(joined), scalars)) as [[bigint, bigint], bigint];
    return { point: Uint8Array.of(...toBytes(x), ...toBytes(y)), gas: Number(gas) };
  };
  const infinity = encodeG1(G1_INFINITY);
  const generator = encodeG1(G1_GENERATOR);

  it('combinations equal TypeScript: infinity, zero, one, r - 1 and opposite points among them', async () => {
    const some = [1n, 2n, 5n, DEVELOPMENT_TAU].map((k) => encodeG1(G1_GENERATOR.multiply(k)));
    const opposite = some.map((point) => encodeG1(decodeG1(point, '').negate()));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(infinity, ...some, ...opposite), edgeScalar), { maxLength: 7 }),
        async (terms) => {
          const expected = linearCombination(
            terms.map(([point]) => decodeG1(point, '')),
            terms.map(([, e]) => e),
          );
          const { point } = await combine(
            terms.map(([own]) => own),
            terms.map(([, e]) => e),
          );
          expect(point).toEqual(encodeG1(expected));
        },
      ),
      { numRuns: 40, seed },
    );
  });

  const withWord = (point: Uint8Array, at: number, value: bigint): Uint8Array => {
    const changed = point.slice();
    changed.set(toBytes(value), at);
    return changed;
  };
  const [x, y] = words(generator) as [bigint, bigint];
  const bad: [string, Uint8Array][] = [
    ['off the curve', withWord(generator, 32, 3n)],
    ['(0, 1)', withWord(infinity, 32, 1n)],
    ['(1, 0)', withWord(infinity, 0, 1n)],
    ['x + q', withWord(generator, 0, x + FQ_MODULUS)],
    ['y + q', withWord(generator, 32, y + FQ_MODULUS)],
    ['(q, 0): another name for infinity', withWord(infinity, 0, FQ_MODULUS)],
    ['(0, q): another name for infinity', withWord(infinity, 32, FQ_MODULUS)],
    ['(q, q)', withWord(withWord(infinity, 0, FQ_MODULUS), 32, FQ_MODULUS)],
    ['all ones', new Uint8Array(64).fill(255)],
  ];
  it.each(bad)('a point %s is refused by both, whatever its scalar', async (_name, point) => {
    expect(() => decodeG1(point, 'point')).toThrow('expected a point of G1');
    for (const e of [0n, 1n, 7n])
      for (const points of [[point], [generator, point], [point, generator]])
        expect(
          await refusal(
            combine(
              points,
              points.map(() => e),
            ),
          ),
        ).toBe('PointInvalid');
  });

  it('infinity is a point, for both', async () => {
    expect(decodeG1(infinity, '').is0()).toBe(true);
    expect((await combine([infinity, infinity], [3n, 0n])).point).toEqual(infinity);
    expect((await combine([], [])).point).toEqual(infinity);
  });

  it('multiples of the generator and negatives equal TypeScript', async () => {
    for (const k of [0n, 1n, 2n, FR_MODULUS - 1n, FR_MODULUS - 2n, DEVELOPMENT_TAU]) {
      const sum = words(encodeG1(G1_GENERATOR.multiply(2n)));
      const found = (await harness.call('addGenerator', sum, k)) as bigint[];
      const expected = linearCombination([G1_GENERATOR], [add(k, 2n)]);
      expect([...found]).toEqual(words(encodeG1(expected)));
      expect([...((await harness.call('negate', [...found])) as bigint[])]).toEqual(words(encodeG1(expected.negate())));
    }
    expect(await refusal(harness.call('addGenerator', [1n, 1n], 1n))).toBe('PointInvalid');
  });

  it('gas of a term', async () => {
    const points = Array.from({ length: 20 }, (_, i) => encodeG1(G1_GENERATOR.multiply(BigInt(i + 2))));
    const scalars = points.map((_, i) => DEVELOPMENT_TAU - BigInt(i));
    console.log(`points: ${(await combine(points, scalars)).gas / 20} gas a term`);
  });
});

describe('inverse', () => {
  it('equals TypeScript; zero has none', async () => {
    for (const value of [1n, 2n, FR_MODULUS - 1n, DEVELOPMENT_TAU])
      expect(await harness.call('inverse', value)).toBe(inverse(value));
    expect(await refusal(harness.call('inverse', 0n))).toBe('NoInverse');
  });
});

describe('reference string', () => {
  it('has the id of TypeScript, and the pairing of its tau', async () => {
    expect(await harness.call('srsId')).toBe(hexlify(srsIdOf(developmentHead())));
    const times = (k: bigint) => words(encodeG1(linearCombination([G1_GENERATOR], [k])));
    for (const k of [0n, 1n, 12345n, FR_MODULUS - 1n]) {
      expect(await harness.call('pairingHolds', times(mul(k, DEVELOPMENT_TAU)), times(k))).toBe(true);
      expect(await harness.call('pairingHolds', times(add(mul(k, DEVELOPMENT_TAU), 1n)), times(k))).toBe(false);
    }
    for (const bad of [
      [1n, 1n],
      [FQ_MODULUS, 0n],
      [0n, FQ_MODULUS],
    ])
      expect(await harness.call('pairingHolds', bad, times(0n))).toBe(false);
  });

  const head = developmentHead();
  const other = { ...referenceSrs(5n, 2) };
  const withByte = (bytes: Uint8Array, at: number): Uint8Array => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));
  // On the twist, outside the subgroup of order r: found by trying x, and refused by decodeG2 too.
  it.each<[string, SrsHead]>([
    ['tau G1 off the curve', { ...head, tauG1: withByte(head.tauG1, 63) }],
    ['tau H off the curve', { ...head, tauG2: withByte(head.tauG2, 127) }],
    ['tau G1 of another tau', { ...head, tauG1: other.tauG1 }],
    ['tau H of another tau', { ...head, tauG2: other.tauG2 }],
    ['tau 0', { tauG1: encodeG1(G1_INFINITY), tauG2: new Uint8Array(128) }],
    ['tau H infinity', { ...head, tauG2: new Uint8Array(128) }],
    ['tau 1', { tauG1: encodeG1(G1_GENERATOR), tauG2: encodeG2(G2_GENERATOR) }],
    [
      'coordinates of tau G1 plus q',
      { ...head, tauG1: Uint8Array.of(...toBytes(words(head.tauG1)[0]! + FQ_MODULUS), ...head.tauG1.slice(32)) },
    ],
    [
      'coordinates of tau H plus q',
      { ...head, tauG2: Uint8Array.of(...toBytes(words(head.tauG2)[0]! + FQ_MODULUS), ...head.tauG2.slice(32)) },
    ],
  ])('%s is refused by both', async (_name, bad) => {
    expect(() => openingKey(bad)).toThrow();
    expect(await refusal(deployHarness('OpeningHarness', srsArguments(bad)))).not.toBe('accepted');
  });

  it('the development SRS is known by the same id, and refused away from chain 31337', async () => {
    expect(isDevelopmentSrs(srsIdOf(head))).toBe(true);
    const refused = await refusal(deployHarness('OpeningHarness', srsArguments(head), { chainId: 4242n }));
    expect(refused).toContain(keccak256(toUtf8Bytes('SrsDevelopment()')).slice(0, 10));
    const elsewhere = await deployHarness('OpeningHarness', srsArguments(other), { chainId: 4242n });
    expect(await elsewhere.call('srsId')).toBe(hexlify(srsIdOf(other)));
    await elsewhere.stop();
  });
});

describe('Mercury', () => {
  const srs = referenceSrs(DEVELOPMENT_TAU, 256);
  const key = openingKey(srs);
  const prove = (n: number, { claim, f }: ReturnType<typeof randomClaim>): Uint8Array =>
    mercuryProver.prove(new KeccakTranscript(), claim, f, referenceBackend(srsPrefix(srs, 2 ** n)));
  const combined = ({ commitments, coefficients }: OpeningClaim): bigint[] =>
    words(
      encodeG1(
        linearCombination(
          commitments.map((bytes) => decodeG1(bytes, '')),
          coefficients,
        ),
      ),
    );
  const check = async (claim: OpeningClaim, proof: Uint8Array) => {
    const [holds, left, right, gas] = (await harness.call(
      'mercury',
      START,
      combined(claim),
      claim.point,
      claim.value,
      hexlify(proof),
    )) as [boolean, bigint[], bigint[], bigint];
    return { holds, left: [...left], right: [...right], gas: Number(gas) };
  };
  /** Both must say the same. */
  const judge = async (claim: OpeningClaim, proof: Uint8Array): Promise<boolean> => {
    let expected = true;
    try {
      verifyOpening(mercury, new KeccakTranscript(), claim, proof, key);
    } catch {
      expected = false;
    }
    let found = false;
    try {
      found = (await check(claim, proof)).holds;
    } catch (error) {
      if ((error as { code?: string }).code !== 'CALL_EXCEPTION') throw error;
    }
    expect(found).toBe(expected);
    return found;
  };

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'n = %i: honest openings hold, and the pair is that of TypeScript over rho',
    async (n) => {
      const known = randomClaim(n, 3, DEVELOPMENT_TAU, seededScalars(`${seed}/${n}`));
      const proof = prove(n, known);
      let rho = 0n;
      const transcript = new KeccakTranscript();
      const draw = transcript.challenge.bind(transcript);
      transcript.challenge = (label) => (rho = draw(label));
      const expected = mercury.reduce(transcript, known.claim, proof, key.srsId);
      const { holds, left, right, gas } = await check(known.claim, proof);
      expect(holds).toBe(true);
      const overRho = (point: typeof expected.left) => words(encodeG1(linearCombination([point], [inverse(rho)])));
      expect(left).toEqual(overRho(expected.left));
      expect(right).toEqual(overRho(expected.right));
      console.log(`mercury, n = ${n}: ${gas} gas with the pairing`);
    },
  );

  it('zero, one entry, vertices and constants are opened', async () => {
    const zero = Array<bigint>(16).fill(0n);
    const next = seededScalars(`${seed}/edges`);
    for (const f of [zero, [...zero.slice(1), 1n], zero.map(() => 7n)])
      for (const point of [zero.slice(0, 4), [0n, 1n, 0n, 1n], [next(), next(), next(), next()]]) {
        const known = knownClaim([commitWithTau(f, DEVELOPMENT_TAU)], [1n], f, point);
        expect(await judge(known.claim, prove(4, known))).toBe(true);
      }
  });

  it('every word of the proof counts: changed, set to 0, raised by r or q', async () => {
    const known = randomClaim(5, 2, DEVELOPMENT_TAU, seededScalars(`${seed}/tamper`));
    const proof = prove(5, known);
    expect(await judge(known.claim, proof)).toBe(true);
    for (let at = 0; at < proof.length; at += 32) {
      const word = fromBytes(proof.subarray(at, at + 32));
      const isScalar = at >= 320 && at < 512;
      const modulus = isScalar ? FR_MODULUS : FQ_MODULUS;
      for (const value of [word + 1n, word ^ (1n << 200n), 0n, word + modulus, modulus - word, 2n ** 256n - 1n]) {
        const changed = proof.slice();
        changed.set(toBytes(value), at);
        expect(await judge(known.claim, changed), `byte ${at}: ${value}`).toBe(false);
      }
    }
  });

  it('a point of the proof replaced by infinity, by the generator or by its opposite is refused', async () => {
    const known = randomClaim(4, 2, DEVELOPMENT_TAU, seededScalars(`${seed}/points`));
    const proof = prove(4, known);
    for (const at of [0, 64, 128, 192, 256, 512, 576, 640]) {
      const opposite = encodeG1(decodeG1(proof.slice(at, at + 64), '').negate());
      for (const point of [encodeG1(G1_INFINITY), encodeG1(G1_GENERATOR), opposite]) {
        const changed = proof.slice();
        changed.set(point, at);
        expect(await judge(known.claim, changed)).toBe(false);
      }
    }
  });

  it('every part of the claim counts', async () => {
    const known = randomClaim(5, 2, DEVELOPMENT_TAU, seededScalars(`${seed}/claim`));
    const { claim } = known;
    const proof = prove(5, known);
    expect(await judge({ ...claim, value: add(claim.value, 1n) }, proof)).toBe(false);
    for (let i = 0; i < 5; i++)
      expect(await judge({ ...claim, point: claim.point.map((u, k) => (k === i ? add(u, 1n) : u)) }, proof)).toBe(
        false,
      );
    for (let i = 0; i < 2; i++)
      expect(
        await judge({ ...claim, coefficients: claim.coefficients.map((e, k) => (k === i ? add(e, 1n) : e)) }, proof),
      ).toBe(false);
    expect(await judge({ ...claim, n: 4, point: claim.point.slice(1) }, proof)).toBe(false);
  });

  it('honest proofs of wrong values are refused', async () => {
    for (const n of [3, 4]) {
      const known = randomClaim(n, 1, DEVELOPMENT_TAU, seededScalars(`${seed}/wrong/${n}`));
      const wrong = { ...known, claim: { ...known.claim, value: add(known.claim.value, 1n) } };
      expect(await judge(wrong.claim, prove(n, wrong))).toBe(false);
    }
  });

  it('a proof under another transcript, or of another SRS, is refused', async () => {
    const known = randomClaim(4, 1, DEVELOPMENT_TAU, seededScalars(`${seed}/other`));
    const proof = prove(4, known);
    const [holds] = (await harness.call(
      'mercury',
      keccak256('0x'),
      combined(known.claim),
      known.claim.point,
      known.claim.value,
      hexlify(proof),
    )) as [boolean];
    expect(holds).toBe(false);
    const foreign = await deployHarness('OpeningHarness', srsArguments(referenceSrs(5n, 2)));
    const [underOther] = (await foreign.call(
      'mercury',
      START,
      combined(known.claim),
      known.claim.point,
      known.claim.value,
      hexlify(proof),
    )) as [boolean];
    await foreign.stop();
    expect(underOther).toBe(false);
    expect(getBytes(START)).toHaveLength(32);
  });
});
