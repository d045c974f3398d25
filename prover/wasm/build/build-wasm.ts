/**
 * Builds the WebAssembly of the prover into dist/prover/wasm/: writes the field arithmetic, lays a copy of
 * assembly/field.ts beside it for each field, and compiles assembly/index.ts twice, for one thread and for a shared
 * memory. What is generated lives in memory only; `asc` names its lines in an error.
 *
 *     npm run build
 *
 * Skipped while nothing that goes into the result has changed: the key beside the result is the hash of all of it.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { packageRoot } from '../../../common/package-root.js';
import { FQ_MODULUS, FR_MODULUS } from '../../field/bn254.params.js';
import { fieldCode } from './field-code.js';

const SOURCES = new URL('../assembly/', import.meta.url);
const TARGET = new URL('dist/prover/wasm/', packageRoot());
const KEY = new URL('wasm.key', TARGET);

/** `--runtime stub`: the code never allocates; memory is the caller's. */
const FLAGS = ['-O3', '--runtime', 'stub', '--importMemory', '--noAssert', '--enable', 'simd'];
const BUILDS = {
  'single.wasm': FLAGS,
  'threads.wasm': [
    ...FLAGS,
    '--enable',
    'threads',
    '--sharedMemory',
    '--initialMemory',
    '1',
    '--maximumMemory',
    '65536',
  ],
};

function readSources(): Record<string, string> {
  const names = readdirSync(SOURCES).filter((name) => name.endsWith('.ts'));
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(new URL(name, SOURCES), 'utf8')]));
}

/** Everything that is compiled, by name: the sources, and for each field its arithmetic with a copy of field.ts. */
function allSources(): Record<string, string> {
  const sources = readSources();
  for (const [field, modulus] of Object.entries({ fr: FR_MODULUS, fq: FQ_MODULUS })) {
    sources[`generated/${field}/arithmetic.ts`] = fieldCode(modulus);
    // The imports of field.ts are written for where it lies, two folders up; only the arithmetic lies beside the copy.
    sources[`generated/${field}/field.ts`] = sources['field.ts']!.replaceAll("'./", "'../../").replace(
      "'../../generated/fr/arithmetic'",
      "'./arithmetic'",
    );
  }
  return sources;
}

async function compile(sources: Readonly<Record<string, string>>, flags: readonly string[]): Promise<Uint8Array> {
  const { default: asc } = await import('assemblyscript/asc');
  let code: Uint8Array | undefined;
  const { error, stderr } = await asc.main(['index.ts', '--outFile', 'code.wasm', ...flags], {
    readFile: (name) => sources[name] ?? null,
    writeFile: (_, contents) => {
      if (typeof contents !== 'string') code = contents;
    },
    listFiles: () => [],
  });
  if (error !== null || code === undefined) throw new Error(`${error?.message ?? 'no code'}\n${stderr.toString()}`);
  return code;
}

/** Never half a file: another process may be reading, or building too. */
function replaceFile(file: URL, contents: Uint8Array | string): void {
  const temporary = new URL(`${file.href}.${process.pid}`);
  writeFileSync(temporary, contents);
  renameSync(temporary, file);
}

const sources = allSources();
const { version } = createRequire(import.meta.url)('assemblyscript/package.json') as { version: string };
const key = createHash('sha256')
  .update(JSON.stringify([version, BUILDS, sources]))
  .digest('hex');
const complete = Object.keys(BUILDS).every((name) => existsSync(new URL(name, TARGET)));
if (!complete || !existsSync(KEY) || readFileSync(KEY, 'utf8') !== key) {
  mkdirSync(TARGET, { recursive: true });
  for (const [name, flags] of Object.entries(BUILDS)) replaceFile(new URL(name, TARGET), await compile(sources, flags));
  replaceFile(KEY, key);
}
