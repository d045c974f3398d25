/**
 * Compiles circom sources, or finds what they once compiled to: entries are named by everything that decides the result,
 * which is the text of all files, the level of simplification and the version of the compiler.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { defaultCircuitCache, readCacheEntry, writeCacheEntry } from '../file-cache.js';
import { runInThread } from '../run-apart.js';
import type { CompileResult, CompileTask } from './compile-worker.js';
import type { CircuitSources, CompiledCircuit, Simplification } from './types.js';

export interface CompileOptions {
  /** @default 1, which keeps the cuts that templates/poseidon.circom makes on purpose */
  readonly simplification?: Simplification;
  /** @default `.cache/circuits` in the package's root */
  readonly cacheDir?: string;
  /** Told the compiler's lines; not called where a cache serves. */
  readonly onProgress?: (text: string) => void;
}

const NAMES = ['circuit.r1cs', 'witness.wasm', 'symbols.csv'] as const;

/** @throws AssayError INTERNAL with the compiler's message: our sources are wrong. */
export async function compileCircuit(sources: CircuitSources, options: CompileOptions = {}): Promise<CompiledCircuit> {
  const { simplification = 1, cacheDir = defaultCircuitCache(), onProgress } = options;
  const key = `r1cs-${sourcesHash(sources, simplification)}`;
  const paths =
    (await readCacheEntry(cacheDir, key, NAMES)) ??
    (await writeCacheEntry(cacheDir, key, NAMES, async (folder) => {
      const task: CompileTask = { entry: sources.entry, files: [...sources.files], simplification };
      const worker = new URL('./compile-worker', import.meta.url);
      const made = await runInThread<CompileTask, CompileResult>(worker, task, onProgress);
      writeFileSync(join(folder, 'circuit.r1cs'), made.r1cs);
      writeFileSync(join(folder, 'witness.wasm'), made.witnessProgram);
      writeFileSync(join(folder, 'symbols.csv'), made.symbols);
    }));
  const r1cs = readFileSync(paths['circuit.r1cs']);
  return {
    circuitHash: createHash('sha256').update(r1cs).digest('hex'),
    r1cs,
    witnessProgram: readFileSync(paths['witness.wasm']),
    symbols: readFileSync(paths['symbols.csv'], 'utf8'),
  };
}

/** Of the compiler's version, the level, and every file by name and text. */
export function sourcesHash({ entry, files }: CircuitSources, simplification: Simplification): string {
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  const content = JSON.stringify([compilerVersion(), simplification, entry, sorted]);
  return createHash('sha256').update(content).digest('hex');
}

/** Of the circom2 package: it decides the version of the language and of the compiler. */
function compilerVersion(): string {
  const file = createRequire(import.meta.url).resolve('circom2/package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
