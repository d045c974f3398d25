/**
 * Runs the Solidity tests of this folder with forge, offline.
 *
 *   1. The contracts under test are the artifacts of build.ts, byte for byte what `deploy` sends; they lie as hex files
 *      in a folder named by their content, which the tests read (test/create.sol). So forge compiles only tests.
 *   2. The compiler is npm solc behind solc-for-forge.mjs, started through a launcher, since forge takes no arguments.
 *   3. All that forge writes lies under .cache/forge.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssayError } from '../../common/errors.js';
import type { Artifacts } from '../build.js';

const here = dirname(fileURLToPath(import.meta.url));
/** Root of all paths in foundry.toml. */
const contractsRoot = dirname(here);
const cacheDir = join(dirname(contractsRoot), '.cache', 'forge');

export interface ForgeOptions {
  /** Contracts that the tests deploy, by name. */
  readonly artifacts: Artifacts;
  /** Profile of foundry.toml. */
  readonly profile: 'default' | 'slow' | 'broken';
  /** Fixes every draw of the run. */
  readonly seed: number;
  /** Only test contracts whose name matches. @default all */
  readonly matchContract?: string;
  readonly timeoutMs: number;
}

export interface ForgeTest {
  /** Contract of the test, without its file. */
  readonly contract: string;
  readonly name: string;
  readonly passed: boolean;
  /** Why it failed, with the counterexample; empty for a test that passed. */
  readonly reason: string;
  /** Calls made by an invariant test; runs of a fuzz test; 1 else. */
  readonly calls: number;
}

/** Path of the forge binary; null where there is none, and on Windows, where the compiler's launcher does not run. */
export function forgeBinary(): string | null {
  if (process.platform === 'win32') return null;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/forge-${process.platform}-${arch}`;
  const fromHere = createRequire(import.meta.url);
  let folder: string;
  try {
    const fromForge = createRequire(fromHere.resolve('@foundry-rs/forge/package.json'));
    folder = dirname(fromForge.resolve(`${name}/package.json`));
  } catch {
    return null;
  }
  const binary = join(folder, 'bin', 'forge');
  return existsSync(binary) ? binary : null;
}

/**
 * @param binary of `forgeBinary`
 * @returns every test that ran, in order of contract and name; a failed test is a result, no error
 * @throws AssayError CONTRACT_BUILD_FAILED where the tests do not compile, or forge breaks off
 */
export async function runForge(binary: string, options: ForgeOptions): Promise<ForgeTest[]> {
  const args = ['test', '--root', contractsRoot, '--offline', '--json', '--fuzz-seed', String(options.seed)];
  if (options.matchContract !== undefined) args.push('--match-contract', options.matchContract);
  const contracts = writeArtifacts(options.artifacts);
  const { status, stdout, stderr } = await finish(binary, args, options.timeoutMs, {
    ...process.env,
    FOUNDRY_CONFIG: join(here, 'foundry.toml'),
    FOUNDRY_PROFILE: options.profile,
    FOUNDRY_SOLC: writeLauncher(),
    // Apart, so that runs of two profiles may go on at the same time.
    FOUNDRY_OUT: join(cacheDir, options.profile, 'out'),
    FOUNDRY_CACHE_PATH: join(cacheDir, options.profile, 'cache'),
    // A failure is tried again by the next run over the same contracts, and by no other.
    FOUNDRY_FUZZ_FAILURE_PERSIST_DIR: join(contracts, 'failures'),
    FOUNDRY_INVARIANT_FAILURE_PERSIST_DIR: join(contracts, 'failures'),
    ASSAY_CONTRACTS: contracts,
    // Where forge keeps a table of its own.
    HOME: cacheDir,
  });
  // Status 1 says that a test failed, or that nothing ran at all; the report tells which. Before it, forge may tell
  // single failures in lines of their own.
  const report = stdout.split('\n').findLast((line) => line.startsWith('{'));
  if (report === undefined) {
    throw new AssayError('CONTRACT_BUILD_FAILED', `forge ended with status ${status}:\n${stderr}\n${stdout}`);
  }
  return parseReport(JSON.parse(report) as Report);
}

interface Call {
  readonly func_name: string | null;
  readonly calldata: string;
  readonly raw_args: string | null;
}

interface Report {
  readonly [suite: string]: {
    readonly test_results: {
      readonly [name: string]: {
        readonly status: string;
        readonly reason: string | null;
        readonly counterexample: { readonly Single?: Call; readonly Sequence?: [number, Call[]] } | null;
        readonly kind: { readonly Fuzz?: { runs: number }; readonly Invariant?: { calls: number } };
      };
    };
  };
}

function parseReport(report: Report): ForgeTest[] {
  return Object.entries(report)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([suite, { test_results }]) =>
      Object.entries(test_results)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { status, reason, counterexample, kind }]) => {
          const passed = status === 'Success';
          return {
            contract: suite.slice(suite.indexOf(':') + 1),
            name,
            passed,
            reason: passed ? '' : [reason ?? status, ...callsOf(counterexample)].join('\n'),
            calls: kind.Invariant?.calls ?? kind.Fuzz?.runs ?? 1,
          };
        }),
    );
}

type Counterexample = Report[string]['test_results'][string]['counterexample'];

function callsOf(counterexample: Counterexample): string[] {
  const { Single: single, Sequence: sequence } = counterexample ?? {};
  const calls = sequence === undefined ? (single === undefined ? [] : [single]) : sequence[1];
  return calls.map(({ func_name, raw_args, calldata }) =>
    func_name === null ? calldata : `${func_name}(${raw_args ?? ''})`,
  );
}

function writeLauncher(): string {
  const launcher = join(cacheDir, 'solc');
  const text = `#!/bin/sh\nexec "${process.execPath}" "${join(here, 'solc-for-forge.mjs')}" "$@"\n`;
  writeAside(launcher, text);
  return launcher;
}

/** @returns folder with one file `<name>.hex` for each contract */
function writeArtifacts(artifacts: Artifacts): string {
  const entries = Object.entries(artifacts).map(([name, { bytecode }]) => [name, bytecode] as const);
  const key = createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 32);
  const folder = join(cacheDir, 'contracts', key);
  for (const [name, bytecode] of entries) writeAside(join(folder, `${name}.hex`), bytecode);
  return folder;
}

/** Written aside and renamed: another process that runs forge never sees half a file. */
function writeAside(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, text);
  chmodSync(aside, 0o755);
  renameSync(aside, file);
}

interface Finished {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function finish(binary: string, args: string[], timeoutMs: number, env: NodeJS.ProcessEnv): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.once('error', (cause) =>
      reject(new AssayError('CONTRACT_BUILD_FAILED', `forge did not start: ${cause.message}`, { cause })),
    );
    child.once('close', (status) => resolve({ status, stdout, stderr }));
  });
}
