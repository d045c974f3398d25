/** 10^5 hostile files each; the seed of a failure is in its message. */
import { beforeAll, expect, test } from 'vitest';
import { decodeModelKey, type ModelKeyFile } from '../../prover/verifier/index.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import { attackKey, attackProgram, attackProof } from './hostile-files.js';
import { provedModel } from './proved-model.js';

const CASES = 100_000;
const FIRST_SEED = 1_000_000;

let keyBytes: Uint8Array;
let proof: Uint8Array;
let key: ModelKeyFile;
beforeAll(async () => {
  ({ key: keyBytes, proof } = await provedModel('iris', 2));
  key = decodeModelKey(keyBytes, 'key');
});

test('proof files', () => {
  for (let i = 0; i < CASES; i++) attackProof(proof, key, FIRST_SEED + i);
});

test('key files', () => {
  for (let i = 0; i < CASES; i++) attackKey(keyBytes, proof, FIRST_SEED + i);
});

test('programs', () => {
  const program = encodeProgram(key.key.program);
  let read = 0;
  for (let i = 0; i < CASES; i++) if (attackProgram(program, FIRST_SEED + i)) read++;
  expect(read).toBeGreaterThan(0);
});
