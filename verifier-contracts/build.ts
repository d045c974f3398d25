/**
 * Compiles the Solidity sources with npm `solc` and keeps the result by content.
 *
 * The cache key is the hash of a source's whole compiler input and the compiler's version, so an artifact is never stale.
 * The compiler (30 MB of WebAssembly) is loaded only when something has to be compiled, in threads of its own: as many
 * sources at once as there are cores.
 *
 * Sources are those of the given folders and what they import: each other by relative path, packages by name, of which
 * only the files reached are read.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { AssayError } from '../common/errors.js';

const require = createRequire(import.meta.url);
const COMPILER = (require('solc/package.json') as { version: string }).version;

/** EIP-170. */
const MAX_CODE_BYTES = 24_576;

/** The optimizer recurses deeper than a thread's usual 4 MB. */
const COMPILER_STACK_MB = 64;

/** Compilers at once: each takes some 400 MB. */
const MAX_COMPILERS = 4;

const DEFAULT_FOLDERS = ['src', 'src/batch', 'src/court', 'src/direct', 'src/dispute', 'src/dispute/float'];

/** For how many calls a piece of code is worth to be made cheap rather than short. */
const DEFAULT_RUNS = 10_000;

/** Contracts that the default would bring above EIP-170's limit, or close to it. */
const RUNS: Readonly<Record<string, number>> = {
  Escrow: 200,
  DirectVerifier: 2000,
  TapeMaker: 1,
  DisputeGame: 200,
  IntegerArithmetic: 1000,
  IntegerStep: 1000,
};

const SETTINGS = {
  // The oldest rule set that has everything the sources use; runs unchanged on every later one.
  evmVersion: 'cancun',
  viaIR: true,
  // No path or comment of the build machine in the bytecode: the same sources give the same bytes everywhere.
  metadata: { bytecodeHash: 'none', appendCBOR: false },
};
const OUTPUTS = ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'];

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
  /**
   * Folders under verifier-contracts/, each with .sol files.
   * @default ['src', 'src/batch', 'src/court', 'src/direct', 'src/dispute', 'src/dispute/float']
   */
  readonly folders?: readonly string[];
  /** @default `.cache/contracts` in the package's root */
  readonly cacheDir?: string;
  /** Called before a compilation that takes seconds; not called when the cache serves. */
  readonly onCompile?: () => void;
}

/**
 * Artifacts by contract name, of the contracts in the given folders. Interfaces and libraries are left out: nothing of
 * them is deployed.
 * Each source is compiled with what it imports and nothing else, so that its code does not depend on its neighbours, and
 * a change of one source compiles that one and those above it.
 * @throws AssayError CONTRACT_BUILD_FAILED
 */
export async function compileContracts(options: CompileOptions = {}): Promise<Artifacts> {
  const root = packageRoot();
  const base = join(root, 'verifier-contracts');
  const cacheDir = options.cacheDir ?? join(root, '.cache', 'contracts');
  mkdirSync(cacheDir, { recursive: true });
  const sources = readSources(base, options.folders ?? DEFAULT_FOLDERS);
  let announced = false;
  const made = new Map<string, Artifacts>();
  // What imports most takes longest, and is begun first.
  const waiting = sources.roots
    .filter((name) => /^contract\s/m.test(sources.texts[name]!))
    .map((name) => ({ name, input: compilerInput(name, sources.texts) }))
    .sort((a, b) => a.input.length - b.input.length);
  const work = async (): Promise<void> => {
    const compiler = new CompilerThread();
    try {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const { name, input } = next;
        const key = createHash('sha256').update(`${COMPILER}\n${input}`).digest('hex');
        const artifacts = await cached(join(cacheDir, `${key}.json`), async () => {
          if (!announced) options.onCompile?.();
          announced = true;
          return artifactsOf(await compiler.compile(input));
        });
        made.set(name, artifacts);
      }
    } finally {
      await compiler.end();
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), MAX_COMPILERS) }, work));
  return Object.fromEntries(sources.roots.flatMap((name) => Object.entries(made.get(name) ?? {})));
}

const LOCK_POLL_MS = 100;

/**
 * What the file holds, else what is made, by one process at a time: the others wait for it. A process that died over it
 * holds up nobody.
 */
async function cached(file: string, make: () => Promise<Artifacts>): Promise<Artifacts> {
  const lock = `${file}.lock`;
  for (;;) {
    const found = readCache(file);
    if (found !== null) return found;
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (!isHeld(lock)) rmSync(lock, { force: true });
      else await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
      continue;
    }
    try {
      const artifacts = await make();
      // Written aside and renamed: a killed process leaves no half file under the final name.
      const aside = `${file}.${process.pid}`;
      writeFileSync(aside, JSON.stringify(artifacts));
      renameSync(aside, file);
      return artifacts;
    } finally {
      rmSync(lock, { force: true });
    }
  }
}

/** Is the process alive that wrote this lock? One that is not written yet counts as held. */
function isHeld(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    if (pid !== 0) process.kill(pid, 0);
    return true;
  } catch (error) {
    // ESRCH: no such process; ENOENT: the lock is gone, and so is the reason to wait.
    return !['ESRCH', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
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

/** Text by name: `folder/File.sol` for our own, the import's path for a package's. */
type Sources = Readonly<Record<string, string>>;

/** @returns roots: the sources that lie in the folders; texts: these and all that they import */
function readSources(base: string, folders: readonly string[]): { roots: string[]; texts: Sources } {
  const sources: Record<string, string> = {};
  const roots: string[] = [];
  const read = (name: string): void => {
    if (sources[name] !== undefined) return;
    try {
      sources[name] = readFileSync(isOwn(name) ? join(base, name) : packageFile(name), 'utf8');
    } catch (cause) {
      throw new AssayError('CONTRACT_BUILD_FAILED', `Solidity source ${name} cannot be read`, { cause });
    }
    importsOf(name, sources[name]).forEach(read);
  };
  for (const folder of folders) {
    let names: string[];
    try {
      names = readdirSync(join(base, folder)).filter((name) => name.endsWith('.sol'));
    } catch (cause) {
      throw new AssayError('CONTRACT_BUILD_FAILED', `Solidity sources not found in verifier-contracts/${folder}`, {
        cause,
      });
    }
    roots.push(...names.sort().map((name) => `${folder}/${name}`));
  }
  roots.forEach(read);
  return { roots, texts: sources };
}

const isOwn = (name: string): boolean => !name.startsWith('@');

/** @param name as in `@scope/package/path/File.sol` */
function packageFile(name: string): string {
  const [scope, folder, ...path] = name.split('/');
  return join(dirname(require.resolve(`${scope}/${folder}/package.json`)), ...path);
}

/** Names of the sources that a source imports. */
function importsOf(name: string, text: string): string[] {
  return [...text.matchAll(/^import\s[^;"]*"([^"]+)"\s*;/gm)].map(([, target]) =>
    target!.startsWith('.') ? posix.normalize(posix.join(posix.dirname(name), target!)) : target!,
  );
}

function compilerInput(name: string, sources: Sources): string {
  return JSON.stringify({
    language: 'Solidity',
    sources: Object.fromEntries(reachedFrom(name, sources).map((reached) => [reached, { content: sources[reached] }])),
    settings: {
      ...SETTINGS,
      optimizer: { enabled: true, runs: RUNS[posix.basename(name, '.sol')] ?? DEFAULT_RUNS },
      outputSelection: { [name]: { '*': OUTPUTS } },
    },
  });
}

/** A source and all that it imports, in order of name. */
function reachedFrom(name: string, sources: Sources): string[] {
  const reached = new Set<string>();
  const visit = (at: string): void => {
    if (reached.has(at)) return;
    reached.add(at);
    importsOf(at, sources[at]!).forEach(visit);
  };
  visit(name);
  return [...reached].sort();
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

/** A thread: the compiler blocks for seconds, and its runtime hooks itself into the process that it is loaded in. */
const COMPILER_THREAD = `
  const { parentPort, workerData } = require('node:worker_threads');
  const solc = require(workerData.solc);
  parentPort.on('message', (input) => parentPort.postMessage(solc.compile(input)));
`;

/** A compiler that is started when there is something to compile, and then compiles one input at a time. */
class CompilerThread {
  #thread: Worker | null = null;

  async compile(input: string): Promise<SolcOutput> {
    const thread = (this.#thread ??= new Worker(COMPILER_THREAD, {
      eval: true,
      execArgv: [],
      workerData: { solc: require.resolve('solc') },
      resourceLimits: { stackSizeMb: COMPILER_STACK_MB },
    }));
    const answer = await new Promise<string>((resolve, reject) => {
      const failed = (why: string, cause?: unknown): void =>
        reject(new AssayError('CONTRACT_BUILD_FAILED', `the Solidity compiler failed: ${why}`, { cause }));
      thread.removeAllListeners();
      thread.once('message', resolve);
      thread.once('error', (error: Error) => failed(error.message, error));
      thread.once('exit', (code) => failed(`its thread ended with code ${code}`));
      thread.postMessage(input);
    });
    return JSON.parse(answer) as SolcOutput;
  }

  async end(): Promise<void> {
    this.#thread?.removeAllListeners();
    await this.#thread?.terminate();
  }
}

/** @throws AssayError CONTRACT_BUILD_FAILED with what the compiler complains about, or for code that is too long */
function artifactsOf(output: SolcOutput): Artifacts {
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
