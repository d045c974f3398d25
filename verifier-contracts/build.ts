/**
 * Compiles the Solidity sources with npm `solc` and keeps the result by content.
 *
 * The cache key is the hash of the whole compiler input and the compiler's version, so an artifact is never stale.
 * The compiler (30 MB of WebAssembly) is loaded only when something has to be compiled.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssayError } from '../common/errors.js';

const require = createRequire(import.meta.url);

/** EIP-170. */
const MAX_CODE_BYTES = 24_576;

const SETTINGS = {
  // The oldest rule set that has everything the sources use; runs unchanged on every later one.
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 10_000 },
  viaIR: true,
  // No path or comment of the build machine in the bytecode: the same sources give the same bytes everywhere.
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
};

export interface Artifact {
  readonly abi: readonly AbiEntry[];
  /** Creation code, 0x-hex, without constructor arguments. */
  readonly bytecode: string;
  /** Size of the deployed code in bytes. */
  readonly deployedBytes: number;
}
export type AbiEntry = Readonly<Record<string, unknown>>;
export type Artifacts = Readonly<Record<string, Artifact>>;

export interface CompileOptions {
  /** Folders under verifier-contracts/, each with .sol files. @default ['src'] */
  readonly folders?: readonly string[];
  /** @default `.cache/contracts` in the package's root */
  readonly cacheDir?: string;
  /** Called before a compilation that takes seconds; not called when the cache serves. */
  readonly onCompile?: () => void;
}

/**
 * Artifacts by contract name. Interfaces and libraries without code are left out.
 * @throws AssayError CONTRACT_BUILD_FAILED
 */
export async function compileContracts(options: CompileOptions = {}): Promise<Artifacts> {
  const root = packageRoot();
  const sources = readSources(join(root, 'verifier-contracts'), options.folders ?? ['src']);
  const input = JSON.stringify({ language: 'Solidity', sources, settings: SETTINGS });
  const compiler = (require('solc/package.json') as { version: string }).version;
  const key = createHash('sha256').update(`${compiler}\n${input}`).digest('hex');
  const cacheDir = options.cacheDir ?? join(root, '.cache', 'contracts');
  const file = join(cacheDir, `${key}.json`);

  const cached = readCache(file);
  if (cached !== null) return cached;
  options.onCompile?.();
  const artifacts = await compile(input);
  // Written aside and renamed: a killed process leaves no half file under the final name.
  mkdirSync(cacheDir, { recursive: true });
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, JSON.stringify(artifacts));
  renameSync(aside, file);
  return artifacts;
}

/** Nearest folder upwards that holds Assay's package.json; sources and dist/ both lie below it. */
function packageRoot(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    try {
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: string };
      if (manifest.name === 'assay') return folder;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    if (folder === dirname(folder)) throw new AssayError('CONTRACT_BUILD_FAILED', 'package.json of assay not found');
  }
}

function readSources(base: string, folders: readonly string[]): Record<string, { content: string }> {
  const sources: Record<string, { content: string }> = {};
  for (const folder of folders) {
    let names: string[];
    try {
      names = readdirSync(join(base, folder)).filter((name) => name.endsWith('.sol'));
    } catch (cause) {
      throw new AssayError('CONTRACT_BUILD_FAILED', `Solidity sources not found in verifier-contracts/${folder}`, {
        cause,
      });
    }
    for (const name of names.sort()) {
      sources[`${folder}/${name}`] = { content: readFileSync(join(base, folder, name), 'utf8') };
    }
  }
  return sources;
}

/** Null where there is nothing usable; a damaged file is compiled anew and overwritten. */
function readCache(file: string): Artifacts | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Artifacts;
  } catch {
    return null;
  }
}

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts?: Record<
    string,
    Record<string, { abi: AbiEntry[]; evm: { bytecode: { object: string }; deployedBytecode: { object: string } } }>
  >;
}

async function compile(input: string): Promise<Artifacts> {
  // The compiler's runtime hooks itself into the process at load and would turn any later unhandled rejection of
  // ours into an abort of its own; what it added is taken off again.
  const before = process.listeners('unhandledRejection');
  const { default: solc } = (await import('solc')) as unknown as { default: { compile(input: string): string } };
  for (const listener of process.listeners('unhandledRejection')) {
    if (!before.includes(listener)) process.off('unhandledRejection', listener);
  }
  const output = JSON.parse(solc.compile(input)) as SolcOutput;
  // Warnings count too: a contract is small enough to have none.
  const complaints = (output.errors ?? []).filter(({ severity }) => severity !== 'info');
  if (complaints.length > 0) {
    throw new AssayError('CONTRACT_BUILD_FAILED', complaints.map((error) => error.formattedMessage).join('\n'));
  }
  const artifacts: Record<string, Artifact> = {};
  for (const contracts of Object.values(output.contracts ?? {})) {
    for (const [name, { abi, evm }] of Object.entries(contracts)) {
      const deployedBytes = evm.deployedBytecode.object.length / 2;
      if (abi.length === 0 || deployedBytes === 0) continue;
      if (deployedBytes > MAX_CODE_BYTES) {
        throw new AssayError('CONTRACT_BUILD_FAILED', `${name}: ${deployedBytes} bytes, limit ${MAX_CODE_BYTES}`);
      }
      artifacts[name] = { abi, bytecode: `0x${evm.bytecode.object}`, deployedBytes };
    }
  }
  return artifacts;
}
