/** What each scheme absorbs and draws, in order: a message that is dropped, moved or resized shows here as a diff. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { expect, test } from 'vitest';
import { developmentHead, DEVELOPMENT_TAU } from '../srs/development-srs.js';
import { openingKey } from '../srs/srs.js';
import { referenceSrs } from '../srs/testing/reference-srs.js';
import { KeccakTranscript } from '../transcript/transcript.js';
import { hyperKzgProver } from './hyperkzg-prover.js';
import { hyperKzg } from './hyperkzg.js';
import { mercuryProver } from './mercury-prover.js';
import { mercury } from './mercury.js';
import { referenceBackend } from './reference-backend.js';
import { randomClaim, seededScalars } from './testing/random-claim.js';
import { verifyOpening } from './verify.js';

const n = 3;
const CLAIM = [
  'absorb opening srs 32',
  'absorb opening n 32',
  'absorb opening commitment 64',
  'absorb opening point 96',
  'absorb opening value 32',
];

test.each([
  {
    scheme: mercury,
    prover: mercuryProver,
    steps: [
      'absorb opening scheme 23',
      ...CLAIM,
      'absorb mercury rows 64',
      'challenge mercury alpha 1',
      'absorb mercury division 128',
      'challenge mercury gamma 1',
      'absorb mercury products 128',
      'challenge mercury zeta 1',
      'absorb mercury values 192',
      'absorb mercury quotient 64',
      'challenge mercury beta 1',
      'absorb mercury batch 64',
      'challenge mercury z 1',
      'absorb mercury batch at z 64',
      'challenge mercury rho 1',
    ],
    proofHash: '88417cb2475e7c502b86b7d8eaf6a17463d051d2b773033d488a560485213119',
  },
  {
    scheme: hyperKzg,
    prover: hyperKzgProver,
    steps: [
      'absorb opening scheme 24',
      ...CLAIM,
      'absorb hyperkzg folds 128',
      'challenge hyperkzg r 1',
      'absorb hyperkzg at r 96',
      'absorb hyperkzg at -r 96',
      'absorb hyperkzg at r^2 96',
      'challenge hyperkzg q 1',
      'absorb hyperkzg witnesses 192',
      'challenge hyperkzg d 1',
    ],
    proofHash: 'd1193d0596872f2bbd4621f46a55681a5fa4286cbcab2cb60f281e87cb3d9147',
  },
])('$scheme.name', ({ scheme, prover, steps, proofHash }) => {
  const { claim, f } = randomClaim(n, 2, DEVELOPMENT_TAU, seededScalars('inventory'));
  const record = () => {
    const seen: string[] = [];
    return { seen, transcript: new KeccakTranscript(({ kind, label, size }) => seen.push(`${kind} ${label} ${size}`)) };
  };
  const [proving, verifying] = [record(), record()];
  const proof = prover.prove(proving.transcript, claim, f, referenceBackend(referenceSrs(DEVELOPMENT_TAU, 2 ** n)));
  verifyOpening(scheme, verifying.transcript, claim, proof, openingKey(developmentHead()));
  expect(verifying.seen).toEqual(steps);
  expect(proving.seen).toEqual(steps);
  expect(bytesToHex(keccak_256(proof))).toBe(proofHash);
});
