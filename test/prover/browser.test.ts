/**
 * The verifier in a browser: bundled, it runs where nothing of Node exists, and in a real Chromium where there is one.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import { build, type Rollup } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { provedModel } from './proved-model.js';

const folder = mkdtempSync(join(tmpdir(), 'assay-browser-'));
afterAll(() => rmSync(folder, { recursive: true }));

let code = '';
/** A script that checks a proof five times and leaves what it found in `found`. */
let script = '';

beforeAll(async () => {
  const entry = fileURLToPath(new URL('../../prover/verifier/index.ts', import.meta.url));
  const [{ output }] = (await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2022',
      lib: { entry, formats: ['iife'], name: 'AssayVerifier', fileName: 'verifier' },
    },
  })) as Rollup.RollupOutput[] as [Rollup.RollupOutput];
  code = output[0].code;
  const { key, proof } = await provedModel('lenet5');
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  script = `
    const bytes = (hex) => Uint8Array.from(hex.match(/../g), (byte) => parseInt(byte, 16));
    const key = AssayVerifier.decodeModelKey(bytes('${hex(key)}'), 'key');
    const proof = bytes('${hex(proof)}');
    const changed = proof.slice();
    changed[proof.length - 1] ^= 1;
    const options = { acceptDevelopmentSrs: true };
    const times = [];
    let verdict;
    for (let i = 0; i < 5; i++) {
      const start = globalThis.performance?.now() ?? 0;
      verdict = AssayVerifier.checkProof(proof, [key], options);
      times.push((globalThis.performance?.now() ?? 0) - start);
    }
    const scores = verdict.verdict === 'valid' ? [...verdict.groups[0].outputs[0]] : [];
    globalThis.found = JSON.stringify({
      verdict: verdict.verdict,
      label: scores.indexOf(Math.max(...scores)),
      changed: AssayVerifier.checkProof(changed, [key], options).verdict,
      times,
    });`;
});

const EXPECTED = { verdict: 'valid', label: 7, changed: 'invalid' };

test('bundled, it needs nothing of Node and brings no prover', () => {
  // Not toMatch, which would print the whole bundle.
  expect(/["'`]node:|\brequire\(|\bWebAssembly\.|\bprocess\.|\bBuffer\./.exec(code)?.[0]).toBeUndefined();
  console.log(`verifier bundle: ${code.length} bytes`);
  // Intrinsics of the language and TextEncoder, which every browser has; no process, no Buffer, no require.
  const context = createContext({ TextEncoder, TextDecoder });
  runInContext(`${code}\n${script}`, context);
  expect(JSON.parse((context as { found: string }).found)).toMatchObject(EXPECTED);
});

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const chromium = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((path) => NAMES.map((name) => join(path, name)))
  .find((file) => existsSync(file));

test.skipIf(chromium === undefined)('in Chromium (skipped where none is installed)', async () => {
  const page = join(folder, 'verify.html');
  writeFileSync(
    page,
    `<!doctype html><meta charset="utf-8"><pre id="found"></pre><script>${code}</script><script>${script}
     document.getElementById('found').textContent = found;</script>`,
  );
  const { stdout } = await promisify(execFile)(
    chromium!,
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      `--user-data-dir=${join(folder, 'profile')}`,
      '--dump-dom',
      `file://${page}`,
    ],
    { timeout: 60_000 },
  );
  const [, found] = /<pre id="found">(.*?)<\/pre>/.exec(stdout) ?? [];
  const result = JSON.parse(found!) as { times: number[] };
  console.log(`LeNet-5 verified in Chromium: ${result.times.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  expect(result).toMatchObject(EXPECTED);
});
