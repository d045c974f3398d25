import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { permutation } from '../poseidon/poseidon.js';
import { circuitSize } from '../r1cs/circuit-size.js';
import { readR1cs } from '../r1cs/read-r1cs.js';
import { SMALL_CIRCUIT } from '../testing/small-circuit.js';
import { witnessOf } from '../testing/test-circuit.js';
import { compileCircuit, sourcesHash } from './compile-circuit.js';
import type { CircuitSources } from './types.js';

const cacheDir = mkdtempSync(join(tmpdir(), 'assay-compile-'));
afterAll(() => rmSync(cacheDir, { recursive: true }));

const sources = (text: string): CircuitSources => ({ entry: 'main.circom', files: new Map([['main.circom', text]]) });

describe('compiling', () => {
  test('says what it does, and the second time finds what it did', async () => {
    const lines: string[] = [];
    const first = await compileCircuit(sources(SMALL_CIRCUIT), { cacheDir, onProgress: (line) => lines.push(line) });
    expect(lines).toContain('Everything went okay');
    const again = await compileCircuit(sources(SMALL_CIRCUIT), {
      cacheDir,
      onProgress: () => {
        throw new Error('compiled again');
      },
    });
    expect(again).toEqual(first);
  });

  test('a damaged entry is made again', async () => {
    const [entry] = readdirSync(cacheDir);
    const file = join(cacheDir, entry!, 'circuit.r1cs');
    const bytes = readFileSync(file);
    bytes[100]! ^= 1;
    writeFileSync(file, bytes);
    const lines: string[] = [];
    await compileCircuit(sources(SMALL_CIRCUIT), { cacheDir, onProgress: (line) => lines.push(line) });
    expect(lines.length).toBeGreaterThan(0);
    expect(readdirSync(cacheDir)).toEqual([entry]);
  });

  test('an error names the file, the line and the reason, and leaves nothing behind', async () => {
    const before = readdirSync(cacheDir);
    const bad = sources(
      'pragma circom 2.1.0;\ntemplate T() {\n    signal input a;\n    a === b;\n}\ncomponent main = T();\n',
    );
    await expect(compileCircuit(bad, { cacheDir })).rejects.toThrow(/main\.circom":4:[^]*Using unknown symbol/);
    expect(readdirSync(cacheDir)).toEqual(before);
  });

  test('the name of an entry depends on every text and on the level', () => {
    const one = sources(SMALL_CIRCUIT);
    const names = [
      sourcesHash(one, 1),
      sourcesHash(one, 2),
      sourcesHash(sources(`${SMALL_CIRCUIT} `), 1),
      sourcesHash({ ...one, entry: 'other.circom' }, 1),
      sourcesHash({ ...one, files: new Map([...one.files, ['more.circom', '']]) }, 1),
    ];
    expect(new Set(names).size).toBe(names.length);
  });

  test("circomlib's Poseidon compiles from its package's files, and computes what ours does", async () => {
    const library = dirname(createRequire(import.meta.url).resolve('circomlib/circuits/poseidon.circom'));
    const file = (name: string): [string, string] => [name, readFileSync(join(library, name), 'utf8')];
    const circuit = await compileCircuit(
      {
        entry: 'main.circom',
        files: new Map([
          ['main.circom', 'pragma circom 2.1.0;\ninclude "poseidon.circom";\ncomponent main = PoseidonEx(4, 5);\n'],
          file('poseidon.circom'),
          file('poseidon_constants.circom'),
        ]),
      },
      { cacheDir, simplification: 2 },
    );
    const state = [11n, 12n, 13n, 14n, 15n];
    const [initialState, ...inputs] = state;
    const witness = await witnessOf(circuit, { initialState: initialState!, inputs });
    expect(witness.slice(1, 6)).toEqual(permutation(state));
    // Ours has 302 without a cut, 307 with one.
    expect(circuitSize(readR1cs(circuit.r1cs)).constraints).toBe(300);
  });
});
