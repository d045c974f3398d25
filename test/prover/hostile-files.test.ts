/** Keys and proofs from an adversary: only typed refusals, bounded work. The long run is hostile-files.slow.test.ts. */
import { beforeAll, describe, expect, test } from 'vitest';
import { NODE_KINDS, randomNodeCase, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { AssayError } from '../../common/errors.js';
import { makePlan } from '../../prover/plan/plan.js';
import { buildProgram } from '../../prover/program/build-program.js';
import { decodeProgram } from '../../prover/program/decode-program.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import { mercury } from '../../prover/opening/mercury.js';
import { hyperKzg } from '../../prover/opening/hyperkzg.js';
import { productShape } from '../../prover/verifier/product-shape.js';
import { proofBytes, proofShape } from '../../prover/verifier/proof.js';
import { checkProof, decodeModelKey, decodeProofFile, type ModelKeyFile } from '../../prover/verifier/index.js';
import { encodeProofFile } from '../../prover/index.js';
import { attackKey, attackProgram, attackProof } from './hostile-files.js';
import { provedModel } from './proved-model.js';

let keyBytes: Uint8Array;
let proof: Uint8Array;
let key: ModelKeyFile;
beforeAll(async () => {
  ({ key: keyBytes, proof } = await provedModel('iris', 2));
  key = decodeModelKey(keyBytes, 'key');
});
const check = (file: Uint8Array) => checkProof(file, [key], { acceptDevelopmentSrs: true });

test('honest files are accepted and are the only files of their content', () => {
  expect(check(proof)).toMatchObject({ verdict: 'valid' });
  expect(encodeProofFile(decodeProofFile(proof, 'proof'))).toEqual(proof);
});

test('changed proof files', () => {
  for (let seed = 1; seed <= 400; seed++) attackProof(proof, key, seed);
});

test('changed key files', () => {
  for (let seed = 1; seed <= 1000; seed++) attackKey(keyBytes, proof, seed);
});

test('changed programs: refused, or checked without a crash', () => {
  let read = 0;
  for (const kind of NODE_KINDS)
    for (let seed = 1; seed <= 3; seed++) {
      let program: Uint8Array;
      try {
        program = encodeProgram(buildProgram(randomNodeCase(kind, seededRandom(seed)).graph).program);
      } catch (error) {
        if (error instanceof AssayError && error.code === 'NOT_PROVABLE') continue;
        throw error;
      }
      for (let change = 1; change <= 60; change++) if (attackProgram(program, 1000 * seed + change)) read++;
    }
  expect(read).toBeGreaterThan(20);
});

describe('the size of the columns is the choice of the prover', () => {
  const withHeader = (change: (proofBytes: Uint8Array) => Uint8Array): Uint8Array => {
    const file = decodeProofFile(proof, 'proof');
    return encodeProofFile({ ...file, proof: change(file.proof) });
  };

  test('every n but the right one is refused', () => {
    const right = decodeProofFile(proof, 'proof').proof[10];
    for (let n = 0; n < 256; n++) {
      const file = withHeader((bytes) => bytes.map((byte, i) => (i === 10 ? n : byte)));
      expect(check(file).verdict).toBe(n === right ? 'valid' : 'invalid');
    }
  });

  test.each([
    { scheme: mercury, code: 1 },
    { scheme: hyperKzg, code: 2 },
  ])('n = 24 with all its bytes costs no 2^24 steps: $scheme.name', ({ scheme, code }) => {
    const plan = makePlan([{ program: key.key.program, items: 2 }], 24);
    const length = proofBytes(proofShape(plan, productShape(plan), scheme.proofBytes(24)));
    const file = withHeader((bytes) => {
      const large = new Uint8Array(length);
      large.set(bytes.subarray(0, 11));
      large[9] = code;
      large[10] = 24;
      return large;
    });
    const before = process.memoryUsage().heapUsed;
    expect(check(file)).toMatchObject({ verdict: 'invalid' });
    // 2^24 scalars would take half a gibibyte.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(2 ** 27);
  });
});

test('a program of a few bytes that asks for much work or memory', () => {
  const { program } = key.key;
  const side = 2 ** 11;
  const huge = {
    ...program,
    modelBits: 24,
    model: [{ name: 'm', axes: [side * side] }],
    tables: program.tables.filter(({ kind }) => kind !== 'values'),
    inputs: program.inputs,
    witness: program.witness.slice(0, 1),
    requants: [],
    maxima: [],
    outputs: [
      {
        range: { lo: 0, hi: 1 },
        argMaxAxis: null,
        expression: {
          axes: [side, side],
          products: [],
          linear: [
            {
              coefficient: 1n,
              source: { kind: 'model' as const, slot: 0 },
              blocks: [
                { target: [0, 1], source: [0], targetSides: [side, side], sourceSides: [side * side], entries: null },
              ],
            },
          ],
        },
      },
    ],
  };
  expect(() => decodeProgram(encodeProgram(huge))).toThrow(/steps; at most/);
  expect(() => decodeProgram(encodeProgram({ ...huge, witness: [], inputs: [] }))).toThrow(/no witness/);
});
