/** EZKL's files: never taken for ours, nor for another version's. Its proofs: ezkl.slow.test.ts. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { checkProof } from '../../verifier/index.js';
import { decodeEzklKey, decodeEzklProof, encodeEzklFile, isEzklFile } from './ezkl-file.js';
import { EZKL_VERSION } from './ezkl.js';

const HASH = createHash('sha256').update('a model').digest('hex');
const proof = { proofSystem: `ezkl/${EZKL_VERSION}`, modelHash: HASH, target: 'accuracy', proof: '{}' } as const;

test('a file names its proof system; ours refuses it, and another version is refused', () => {
  const bytes = encodeEzklFile(proof);
  expect(isEzklFile(bytes)).toBe(true);
  expect(decodeEzklProof(bytes, 'p')).toEqual(proof);
  expect(checkProof(bytes, [])).toMatchObject({ verdict: 'invalid' });
  const other = encodeEzklFile({ ...proof, proofSystem: 'ezkl/1.0.0' });
  expect(() => decodeEzklProof(other, 'p')).toThrow(expect.objectContaining({ code: 'PROOF_INVALID' }));
  expect(() => decodeEzklKey(bytes, 'k')).toThrow(expect.objectContaining({ code: 'MODEL_KEY_INVALID' }));
  expect(isEzklFile(new TextEncoder().encode('ASSAYPRF'))).toBe(false);
});
