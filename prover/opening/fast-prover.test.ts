/** The provers over the fast backend: equal to the reference to the last byte, and accepted at the sizes of real proofs. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { add } from '../field/fr.js';
import { developmentHead, DEVELOPMENT_TAU } from '../srs/development-srs.js';
import { makeDevelopmentSrs } from '../srs/make-development-srs.js';
import { openingKey, srsPrefix } from '../srs/srs.js';
import { KeccakTranscript } from '../transcript/transcript.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import type { FrVector } from '../wasm/fr-vectors.js';
import { openArithmetic } from '../wasm/node-arithmetic.js';
import { hyperKzgProver } from './hyperkzg-prover.js';
import { hyperKzg } from './hyperkzg.js';
import { mercuryProver } from './mercury-prover.js';
import { mercury } from './mercury.js';
import { referenceBackend } from './reference-backend.js';
import { randomClaim, seededScalars } from './testing/random-claim.js';
import type { PolynomialBackend } from './types.js';
import { verifyOpening } from './verify.js';
import { wasmBackend } from './wasm-backend.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`fast prover seed ${seed}`);
const key = openingKey(developmentHead());
const schemes = [
  { scheme: mercury, prover: mercuryProver },
  { scheme: hyperKzg, prover: hyperKzgProver },
];

describe.each([1, 2])('on %i threads', (threads) => {
  let arithmetic: Arithmetic;
  let fast: PolynomialBackend<FrVector>;
  beforeAll(async () => {
    arithmetic = await openArithmetic({ threads });
    fast = wasmBackend(arithmetic, makeDevelopmentSrs(2 ** 14, arithmetic));
  });
  afterAll(() => arithmetic.close());

  describe.each(schemes)('$scheme.name', ({ scheme, prover }) => {
    const next = seededScalars(`${seed}/${scheme.name}`);
    const prove = (claim: ReturnType<typeof randomClaim>) =>
      prover.prove(new KeccakTranscript(), claim.claim, fast.fromScalars(claim.f), fast);

    test.each([1, 2, 3, 4, 5, 6, 7, 8])('n = %i: the bytes of the reference', (n) => {
      const known = randomClaim(n, 2, DEVELOPMENT_TAU, next);
      const slow = referenceBackend(srsPrefix(makeDevelopmentSrs(256, arithmetic), 2 ** n));
      const before = fast.mark();
      const proof = prove(known);
      fast.release(before);
      expect(proof).toEqual(prover.prove(new KeccakTranscript(), known.claim, known.f, slow));
      verifyOpening(scheme, new KeccakTranscript(), known.claim, proof, key);
    });

    test.each([9, 10, 13, 14])('n = %i: accepted, and a wrong value refused', (n) => {
      const known = randomClaim(n, 2, DEVELOPMENT_TAU, next);
      const before = fast.mark();
      const proof = prove(known);
      verifyOpening(scheme, new KeccakTranscript(), known.claim, proof, key);
      const wrong = { ...known, claim: { ...known.claim, value: add(known.claim.value, 1n) } };
      const forged = prove(wrong);
      expect(() => verifyOpening(scheme, new KeccakTranscript(), wrong.claim, forged, key)).toThrow(
        `${scheme.name} proof`,
      );
      fast.release(before);
    });

    test('a prover frees all it made, and a short SRS is named', () => {
      const known = randomClaim(4, 1, DEVELOPMENT_TAU, next);
      const f = fast.fromScalars(known.f);
      const before = fast.mark();
      prover.prove(new KeccakTranscript(), known.claim, f, fast);
      expect(fast.mark()).toBe(before);
      const short = referenceBackend(makeDevelopmentSrs(4, arithmetic));
      expect(() => prover.prove(new KeccakTranscript(), known.claim, known.f, short)).toThrow('the SRS has 4 points');
    });
  });
});
