/** The hash of a key moves with everything in it. */
import { expect, it } from 'vitest';
import { randomCase } from '../audit/cases.js';
import { Draw } from '../audit/draw.js';
import { plainKey } from '../audit/plain-prover.js';
import { modelKeyDigest, modelKeyHash } from './model-key.js';

it('the hash and the digest of a key move with the SRS, the program, every commitment and their order', () => {
  const key = plainKey(randomCase('conv', new Draw('key', 1)).built);
  const flip = (bytes: Uint8Array, at: number): Uint8Array => bytes.map((b, i) => (i === at ? b ^ 1 : b));
  const others = [
    { ...key, srsId: flip(key.srsId, 31) },
    { ...key, program: { ...key.program, modelBits: key.program.modelBits + 1 } },
    ...key.commitments.map((_, c) => ({
      ...key,
      commitments: key.commitments.map((own, i) => (i === c ? flip(own, 63) : own)),
    })),
    { ...key, commitments: [...key.commitments, key.commitments[0]!] },
  ];
  const hashes = [key, ...others].map(modelKeyHash);
  expect(new Set(hashes).size).toBe(hashes.length);
  const rooted = { ...key, roots: { ...key.roots, opCount: key.roots.opCount + 1 } };
  const digests = [key, ...others, rooted].map(modelKeyDigest);
  expect(new Set(digests).size).toBe(digests.length);
  expect(modelKeyHash(rooted)).toBe(modelKeyHash(key));
});
