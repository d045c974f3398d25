import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { openArithmetic } from '../wasm/node-arithmetic.js';
import { checkPowers } from './check-powers.js';
import { DEVELOPMENT_TAU } from './development-srs.js';
import { makeDevelopmentSrs } from './make-development-srs.js';
import { encodeSrs } from './srs-file.js';
import { referenceSrs } from './testing/reference-srs.js';
import { wasmMsm } from './wasm-msm.js';

let arithmetic: Arithmetic;
beforeAll(async () => {
  arithmetic = await openArithmetic({ threads: 2 });
});
afterAll(() => arithmetic.close());

test('the fast development SRS is the slow one, across chunks too', () => {
  expect(makeDevelopmentSrs(300, arithmetic)).toEqual(referenceSrs(DEVELOPMENT_TAU, 300));
  const progress: number[] = [];
  const large = makeDevelopmentSrs(2 ** 14 + 5, arithmetic, (done) => progress.push(done));
  expect(progress).toEqual([2 ** 14, 2 ** 14 + 5]);
  checkPowers(large, wasmMsm(arithmetic));
});

describe('cache', () => {
  let cacheDir: string;
  beforeEach(() => {
    cacheDir = mkdtempSync(join(tmpdir(), 'assay-srs-'));
    vi.resetModules();
  });
  afterEach(() => rmSync(cacheDir, { recursive: true }));

  /** A fresh copy of the module stands for a new process. */
  const load = async (folder: string, size: number) => {
    const { developmentSrs } = await import('./development-cache.js');
    let made = 0;
    const srs = developmentSrs(size, { arithmetic, cacheDir: folder, onProgress: () => made++ });
    return { srs, made };
  };

  test('made once, then served from memory, then from the file', async () => {
    const first = await load(cacheDir, 16);
    expect(first.made).toBe(1);
    expect(first.srs).toEqual(referenceSrs(DEVELOPMENT_TAU, 16));
    expect(await load(cacheDir, 16)).toEqual({ srs: first.srs, made: 0 });
    expect((await load(cacheDir, 4)).srs).toEqual(referenceSrs(DEVELOPMENT_TAU, 4));
    vi.resetModules();
    expect(await load(cacheDir, 16)).toEqual({ srs: first.srs, made: 0 });
    expect(readdirSync(cacheDir)).toEqual(['development-16.srs']);
  });

  test('a damaged file, and a sound one of another tau or size, are made anew', async () => {
    const file = join(cacheDir, 'development-16.srs');
    const sound = encodeSrs(referenceSrs(DEVELOPMENT_TAU, 16));
    const damaged = sound.slice();
    damaged[500]! ^= 1;
    for (const bytes of [damaged, encodeSrs(referenceSrs(5n, 16)), encodeSrs(referenceSrs(DEVELOPMENT_TAU, 8))]) {
      writeFileSync(file, bytes);
      vi.resetModules();
      expect((await load(cacheDir, 16)).made).toBe(1);
      expect(new Uint8Array(readFileSync(file))).toEqual(sound);
    }
  });

  test('a folder that cannot be made only costs time', async () => {
    const file = join(cacheDir, 'a-file');
    writeFileSync(file, '');
    expect((await load(join(file, 'below'), 4)).srs).toEqual(referenceSrs(DEVELOPMENT_TAU, 4));
  });
});
