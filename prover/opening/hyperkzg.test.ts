import { describe, expect, test } from 'vitest';
import { encodeG1, G1_INFINITY } from '../curve/g1.js';
import { add, inverse, mul, sub } from '../field/fr.js';
import { DEVELOPMENT_TAU } from '../srs/development-srs.js';
import { openingKey, srsPrefix } from '../srs/srs.js';
import { referenceSrs } from '../srs/testing/reference-srs.js';
import { KeccakTranscript, type Transcript } from '../transcript/transcript.js';
import { absorbClaim } from './claim.js';
import { hyperKzgProver } from './hyperkzg-prover.js';
import { hyperKzg, HYPERKZG_TAG } from './hyperkzg.js';
import { ProofWriter } from './proof-writer.js';
import { referenceBackend } from './reference-backend.js';
import { commitWithTau, knownClaim, randomClaim, seededScalars } from './testing/random-claim.js';
import { verifyOpening } from './verify.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`hyperkzg seed ${seed}`);
const tau = DEVELOPMENT_TAU;
const srs = referenceSrs(tau, 256);
const key = openingKey(srs);
const transcript = () => new KeccakTranscript();

describe.each([1, 2, 3, 4, 5, 6, 7, 8])('n = %i', (n) => {
  const next = seededScalars(`${seed}/${n}`);
  const backend = referenceBackend(srsPrefix(srs, 2 ** n));

  test('an honest proof is accepted and has the stated length', () => {
    const { claim, f } = randomClaim(n, 3, tau, next);
    const proof = hyperKzgProver.prove(transcript(), claim, f, backend);
    expect(proof.length).toBe(hyperKzg.proofBytes(n));
    expect(proof.length).toBe(64 * (n + 2) + 96 * n);
    verifyOpening(hyperKzg, transcript(), claim, proof, key);
  });

  test('prover and verifier leave their transcripts in the same state', () => {
    const { claim, f } = randomClaim(n, 1, tau, next);
    const [proving, verifying] = [transcript(), transcript()];
    const proof = hyperKzgProver.prove(proving, claim, f, backend);
    hyperKzg.reduce(verifying, claim, proof, key.srsId);
    expect(proving.challenge('next')).toBe(verifying.challenge('next'));
  });

  if (n <= 5)
    test('zero, one entry, vertices (zero folds) and constants are opened', () => {
      const zero = Array<bigint>(2 ** n).fill(0n);
      const random = Array.from({ length: n }, next);
      const vertex = Array.from({ length: n }, (_, i) => BigInt(i % 2));
      for (const f of [zero, [1n, ...zero.slice(1)], [...zero.slice(1), 1n], zero.map(() => 7n)])
        for (const point of [random, vertex, zero.slice(0, n)]) {
          const { claim } = knownClaim([commitWithTau(f, tau)], [1n], f, point);
          verifyOpening(hyperKzg, transcript(), claim, hyperKzgProver.prove(transcript(), claim, f, backend), key);
        }
    });

  test('a wrong value is refused although the prover does its best', () => {
    const { claim, f } = randomClaim(n, 1, tau, next);
    const wrong = { ...claim, value: add(claim.value, 1n) };
    const proof = hyperKzgProver.prove(transcript(), wrong, f, backend);
    expect(() => verifyOpening(hyperKzg, transcript(), wrong, proof, key)).toThrow(`fold ${n} of ${n}`);
  });
});

test('every fold is opened at r too: the relation alone can be solved for a_i, so f = 0 would open to anything', () => {
  const n = 4;
  const next = seededScalars(`${seed}/removal`);
  const point = Array.from({ length: n }, next);
  const claim = { n, commitments: [encodeG1(G1_INFINITY)], coefficients: [1n], point, value: next() };
  const run = transcript();
  absorbClaim(HYPERKZG_TAG, run, claim, key.srsId);
  const writer = new ProofWriter(run);
  writer.points('folds', Array<Uint8Array>(n - 1).fill(encodeG1(G1_INFINITY)));
  const r = run.challenge('r');
  const zeros = Array<bigint>(n).fill(0n);
  // 2 r v = a (r (1 - x) + x) with x the first coordinate: the last relation holds, and the others as 0 = 0.
  const a = mul(mul(add(r, r), claim.value), inverse(add(mul(r, sub(1n, point[0]!)), point[0]!)));
  writer.scalars('a', [...zeros.slice(1), a]);
  writer.scalars('b', zeros);
  writer.scalars('c', zeros);
  run.challenge('q');
  writer.points('witnesses', Array<Uint8Array>(3).fill(encodeG1(G1_INFINITY)));
  expect(() => verifyOpening(hyperKzg, transcript(), claim, writer.proof(), key)).toThrow('pairing equation');
});

test('the challenge r = 0 is refused', () => {
  const next = seededScalars(`${seed}/zero`);
  const { claim, f } = randomClaim(2, 1, tau, next);
  const proof = hyperKzgProver.prove(transcript(), claim, f, referenceBackend(srsPrefix(srs, 4)));
  const rigged: Transcript = Object.assign(transcript(), { challenge: () => 0n });
  expect(() => hyperKzg.reduce(rigged, claim, proof, key.srsId)).toThrow('r is 0');
});
