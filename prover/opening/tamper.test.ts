/** Both schemes under one suite: no word of claim or proof can be changed, and each refusal is PROOF_INVALID. */
import { describe, expect, test } from 'vitest';
import { AssayError } from '../../common/errors.js';
import { decodeG1, encodeG1, G1_GENERATOR, readUint256, writeUint256 } from '../curve/g1.js';
import { FQ_MODULUS, FR_MODULUS } from '../field/bn254.params.js';
import { add } from '../field/fr.js';
import { DEVELOPMENT_TAU } from '../srs/development-srs.js';
import { openingKey } from '../srs/srs.js';
import { referenceSrs } from '../srs/testing/reference-srs.js';
import { KeccakTranscript, type Transcript } from '../transcript/transcript.js';
import { hyperKzgProver } from './hyperkzg-prover.js';
import { hyperKzg } from './hyperkzg.js';
import { mercuryProver } from './mercury-prover.js';
import { mercury } from './mercury.js';
import { referenceBackend } from './reference-backend.js';
import { randomClaim, seededScalars } from './testing/random-claim.js';
import type { OpeningClaim, PairingClaim } from './types.js';
import { verifyOpening, verifyPairings } from './verify.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`tamper seed ${seed}`);
const n = 3;
const srs = referenceSrs(DEVELOPMENT_TAU, 2 ** n);
const backend = referenceBackend(srs);
const key = openingKey(srs);
const otherKey = openingKey(referenceSrs(DEVELOPMENT_TAU + 1n, 2));

const schemes = [
  // What stands where in a proof: P a point of 64 bytes, S a scalar of 32.
  { scheme: mercury, prover: mercuryProver, layout: 'PPPPPSSSSSSPPP' },
  { scheme: hyperKzg, prover: hyperKzgProver, layout: 'PPSSSSSSSSSPPP' },
];

describe.each(schemes)('$scheme.name', ({ scheme, prover, layout }) => {
  const next = seededScalars(seed);
  const { claim, f } = randomClaim(n, 2, DEVELOPMENT_TAU, next);
  const proof = prover.prove(new KeccakTranscript(), claim, f, backend);
  let offset = 0;
  const parts = [...layout].map((kind, index) => {
    const part = { kind, index, at: offset, bytes: kind === 'P' ? 64 : 32 };
    offset += part.bytes;
    return part;
  });
  const points = parts.filter(({ kind }) => kind === 'P');
  const scalars = parts.filter(({ kind }) => kind === 'S');

  const refused = (
    changed: { claim?: OpeningClaim; proof?: Uint8Array; transcript?: Transcript },
    message: string | RegExp = '',
  ) => {
    let thrown: unknown;
    try {
      verifyOpening(
        scheme,
        changed.transcript ?? new KeccakTranscript(),
        changed.claim ?? claim,
        changed.proof ?? proof,
        key,
      );
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(AssayError);
    expect(thrown).toMatchObject({ code: 'PROOF_INVALID', kind: 'invalid' });
    expect((thrown as AssayError).message).toMatch(message);
  };
  const withPart = (at: number, bytes: Uint8Array) => {
    const changed = proof.slice();
    changed.set(bytes, at);
    return changed;
  };
  const word = (value: bigint) => {
    const bytes = new Uint8Array(32);
    writeUint256(bytes, 0, value);
    return bytes;
  };

  test('the layout covers the proof, and the proof holds', () => {
    expect(offset).toBe(proof.length);
    expect(scheme.proofBytes(n)).toBe(proof.length);
    verifyOpening(scheme, new KeccakTranscript(), claim, proof, key);
  });

  test.each(scalars)('scalar $index: plus one, plus r, all ones, zero', ({ at }) => {
    const value = readUint256(proof, at);
    refused({ proof: withPart(at, word(add(value, 1n))) });
    refused({ proof: withPart(at, word(value + FR_MODULUS)) }, 'not below r');
    refused({ proof: withPart(at, word(2n ** 256n - 1n)) }, 'not below r');
    refused({ proof: withPart(at, word(0n)) });
  });

  test.each(points)('point $index: another point, its negative, infinity, off the curve, not canonical', ({ at }) => {
    const point = decodeG1(proof.subarray(at, at + 64), 'point');
    const { x, y } = point.toAffine();
    refused({ proof: withPart(at, encodeG1(point.add(G1_GENERATOR))) });
    if (!point.is0()) {
      refused({ proof: withPart(at, encodeG1(point.negate())) });
      refused({ proof: withPart(at, new Uint8Array(64)) });
    }
    refused({ proof: withPart(at + 32, word((y + 1n) % FQ_MODULUS)) }, 'not on the curve');
    refused({ proof: withPart(at, word(x + FQ_MODULUS)) }, 'not below q');
    refused({ proof: withPart(at + 32, word(y + FQ_MODULUS)) }, 'not below q');
  });

  test('any two neighbours of one kind swapped', () => {
    for (const same of [points, scalars])
      for (let i = 0; i + 1 < same.length; i++) {
        const [a, b] = [same[i]!, same[i + 1]!];
        const changed = withPart(a.at, proof.slice(b.at, b.at + b.bytes));
        changed.set(proof.subarray(a.at, a.at + a.bytes), b.at);
        expect(changed).not.toEqual(proof);
        refused({ proof: changed });
      }
  });

  test('one byte or one word too few or too many, and no proof at all', () => {
    refused({ proof: proof.subarray(0, -1) }, /expected \d+ bytes/);
    refused({ proof: proof.subarray(0, -32) }, /expected \d+ bytes/);
    refused({ proof: Uint8Array.of(...proof, 0) }, /expected \d+ bytes/);
    refused({ proof: Uint8Array.of(...proof, ...new Uint8Array(64)) }, /expected \d+ bytes/);
    refused({ proof: new Uint8Array() }, /expected \d+ bytes/);
  });

  test('another claim: point, value, coefficients, commitments', () => {
    claim.point.forEach((u, i) => refused({ claim: { ...claim, point: claim.point.with(i, add(u, 1n)) } }));
    refused({ claim: { ...claim, point: [...claim.point].reverse() } });
    refused({ claim: { ...claim, value: add(claim.value, 1n) } });
    refused({ claim: { ...claim, coefficients: [claim.coefficients[0]!, add(claim.coefficients[1]!, 1n)] } });
    refused({ claim: { ...claim, commitments: [...claim.commitments].reverse() } });
    refused({ claim: { ...claim, commitments: [claim.commitments[0]!, encodeG1(G1_GENERATOR)] } });
  });

  test('another n', () => {
    refused({ claim: { ...claim, n: n + 1 } }, /point of 4 coordinates/);
    refused({ claim: { ...claim, n: n + 1, point: [0n, ...claim.point] } });
    refused({ claim: { ...claim, n: n - 1, point: claim.point.slice(1) } });
    for (const bad of [0, -1, 25, 2.5, NaN]) refused({ claim: { ...claim, n: bad, point: [] } }, /variables/);
  });

  test('a malformed claim', () => {
    refused({ claim: { ...claim, coefficients: [1n] } }, '2 commitments but 1 coefficients');
    refused({ claim: { ...claim, value: claim.value + FR_MODULUS } }, 'value');
    refused({ claim: { ...claim, value: -1n } }, 'value');
    refused({ claim: { ...claim, point: claim.point.with(0, claim.point[0]! + FR_MODULUS) } }, 'coordinate');
    refused({ claim: { ...claim, coefficients: claim.coefficients.map((e) => e + FR_MODULUS) } }, 'coefficient');
    refused({ claim: { ...claim, commitments: [claim.commitments[0]!, new Uint8Array(63)] } }, 'commitment 1');
    const offCurve = claim.commitments[1]!.slice();
    offCurve[63]! ^= 1;
    refused({ claim: { ...claim, commitments: [claim.commitments[0]!, offCurve] } }, 'commitment 1');
  });

  test('another transcript, another SRS, the proof of the other scheme', () => {
    const transcript = new KeccakTranscript();
    transcript.absorbBytes('statement', new Uint8Array(1));
    refused({ transcript });
    expect(() => verifyOpening(scheme, new KeccakTranscript(), claim, proof, otherKey)).toThrow(AssayError);
    const other = schemes.find((entry) => entry.scheme !== scheme)!;
    expect(() => verifyOpening(other.scheme, new KeccakTranscript(), claim, proof, key)).toThrow(AssayError);
  });

  test('many openings with one pairing: all true, and one false at any place', () => {
    const run = new KeccakTranscript();
    const proving = new KeccakTranscript();
    const claims: PairingClaim[] = [];
    for (let i = 0; i < 3; i++) {
      const known = randomClaim(n, 1, DEVELOPMENT_TAU, next);
      const bytes = prover.prove(proving, known.claim, known.f, backend);
      claims.push(scheme.reduce(run, known.claim, bytes, key.srsId));
    }
    verifyPairings(new KeccakTranscript(), claims, key);
    claims.forEach((pair, i) => {
      const changed = claims.with(i, { ...pair, left: pair.left.add(G1_GENERATOR) });
      expect(() => verifyPairings(new KeccakTranscript(), changed, key)).toThrow('3 openings together');
    });
    // Errors that cancel in the plain sum.
    const cancelling = claims
      .with(0, { ...claims[0]!, left: claims[0]!.left.add(G1_GENERATOR) })
      .with(1, { ...claims[1]!, left: claims[1]!.left.subtract(G1_GENERATOR) });
    expect(() => verifyPairings(new KeccakTranscript(), cancelling, key)).toThrow('3 openings together');
    expect(() => verifyPairings(new KeccakTranscript(), [], key)).toThrow('no opening');
  });
});
