/**
 * Builds the WebAssembly into dist/:
 *   prover/wasm/            the prover's: writes the field arithmetic, lays a copy of assembly/field.ts beside it for each
 *                           field, and compiles assembly/index.ts twice, for one thread and for a shared memory.
 *   graph/commitment/wasm/  what hashes traces: graph/commitment/wasm/hash-code.ts, for a shared memory.
 * What is generated lives in memory only; `asc` names its lines in an error.
 *
 *     npm run build
 *
 * Skipped while nothing that goes into a result has changed: the key beside it is the hash of all of it.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { packageRoot } from '../../../common/package-root.js';
import { hashCode } from '../../../graph/commitment/wasm/hash-code.js';
import { FQ_MODULUS, FR_MODULUS } from '../../field/bn254.params.js';
import { fieldCode } from './field-code.js';

const SOURCES = new URL('../assembly/', import.meta.url);

/** `--runtime stub`: the code never allocates; memory is the caller's. */
const FLAGS = ['-O3', '--runtime', 'stub', '--importMemory', '--noAssert', '--enable', 'simd'];
const SHARED_FLAGS = [
  ...FLAGS,
  '--enable',
  'threads',
  '--sharedMemory',
  '--initialMemory',
  '1',
  '--maximumMemory',
  '65536',
];
/** Flags by name of the result. */
type Builds = Readonly<Record<string, readonly string[]>>;
/** Texts by name; index.ts is compiled. */
type Sources = Readonly<Record<string, string>>;

function readSources(): Record<string, string> {
  const names = readdirSync(SOURCES).filter((name) => name.endsWith('.ts'));
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(new URL(name, SOURCES), 'utf8')]));
}

/** Everything of the prover that is compiled: the sources, and for each field its arithmetic with a copy of field.ts. */
function proverSources(): Sources {
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

async function compile(sources: Sources, flags: readonly string[]): Promise<Uint8Array> {
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

async function build(folder: string, sources: Sources, builds: Builds): Promise<void> {
  const target = new URL(`dist/${folder}`, packageRoot());
  const keyFile = new URL('wasm.key', target);
  const { version } = createRequire(import.meta.url)('assemblyscript/package.json') as { version: string };
  const key = createHash('sha256')
    .update(JSON.stringify([version, builds, sources]))
    .digest('hex');
  const complete = Object.keys(builds).every((name) => existsSync(new URL(name, target)));
  if (complete && existsSync(keyFile) && readFileSync(keyFile, 'utf8') === key) return;
  mkdirSync(target, { recursive: true });
  for (const [name, flags] of Object.entries(builds)) replaceFile(new URL(name, target), await compile(sources, flags));
  replaceFile(keyFile, key);
}

await build('prover/wasm/', proverSources(), { 'single.wasm': FLAGS, 'threads.wasm': SHARED_FLAGS });
await build('graph/commitment/wasm/', { 'index.ts': hashCode() }, { 'hash.wasm': SHARED_FLAGS });
