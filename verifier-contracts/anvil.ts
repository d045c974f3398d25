/**
 * A private development chain: anvil from the npm package `@foundry-rs/anvil`, on a free loopback port.
 *
 * With `stateDir` the chain outlives this process. Two ways: stopped cleanly, anvil leaves its state in a file and
 * the next start loads it; killed without warning, this process leaves anvil running, and the next start finds it by
 * the note in `stateDir` and takes it over. So nothing that was mined is lost with its owner.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { HDNodeWallet } from 'ethers';
import { DEVELOPMENT_CHAIN_ID } from '../common/development-keys.js';
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';

// The pipeline asks for these by the names they have here.
export {
  DEVELOPMENT_CHAIN_ID as ANVIL_CHAIN_ID,
  isDevelopmentAccount as isAnvilAccount,
} from '../common/development-keys.js';

const MNEMONIC = 'test test test test test test test test test test test junk';
const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 20_000;

export interface AnvilOptions {
  /** Folder for the chain's state and the note of the running process; absent: the chain is gone after `stop`. */
  readonly stateDir?: string;
  /** Seconds between blocks; absent: a block for every transaction, at once. */
  readonly blockTimeS?: number;
  /** @default 31337 */
  readonly chainId?: bigint;
}

export interface Anvil {
  readonly url: string;
  readonly pid: number;
  /** True where a running anvil was taken over instead of a new one started. */
  readonly adopted: boolean;
  /** Mines empty blocks. @throws AssayError CHAIN_UNAVAILABLE */
  mine(blocks: number): Promise<void>;
  /** Ends anvil and waits until its state is on disk. May be called again. @throws AssayError ANVIL_FAILED */
  stop(): Promise<void>;
}

/** Private key of one of anvil's ten funded accounts, 0 to 9. Publicly known: for chain 31337 only. */
export function anvilKey(account: number): Hex {
  return HDNodeWallet.fromPhrase(MNEMONIC, undefined, `m/44'/60'/0'/0/${account}`).privateKey as Hex;
}

/** @throws AssayError ANVIL_MISSING, ANVIL_FAILED */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const { stateDir } = options;
  if (stateDir !== undefined) {
    mkdirSync(stateDir, { recursive: true });
    const running = await findRunning(stateDir);
    if (running !== null) return handle(running, stateDir, true);
  }
  const stateFile = stateDir === undefined ? null : join(stateDir, 'state.json');
  const resumed = stateFile !== null && existsSync(stateFile);
  const outlives = stateDir !== undefined;
  const states = stateDir === undefined ? mkdtempSync(join(tmpdir(), 'assay-anvil-')) : join(stateDir, 'states');
  // What an earlier run left is of no use to a new one: what goes on is in the state file.
  if (stateDir !== undefined) rmSync(states, { recursive: true, force: true });
  const { child, port } = await launch(outlives, states, [
    // Osaka: the rules of mainnet, its cap of 2^24 gas a transaction included.
    ...[
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--chain-id',
      String(options.chainId ?? DEVELOPMENT_CHAIN_ID),
      '--hardfork',
      'osaka',
    ],
    // One slot an epoch: `safe` is one block behind the newest and `finalized` two.
    ...['--slots-in-an-epoch', '1'],
    ...(options.blockTimeS === undefined ? [] : ['--block-time', String(options.blockTimeS)]),
    ...(stateFile === null ? [] : ['--state', stateFile, '--state-interval', '1']),
  ]);
  const process_: RunningAnvil = { pid: child.pid!, port, genesis: await genesisOf(port) };
  if (stateDir !== undefined) {
    writeNote(stateDir, process_);
    // A loaded chain answers questions only about blocks mined since: two more, and `finalized` is one of them.
    if (resumed) await rpc(port, 'anvil_mine', ['0x2']);
  }
  return handle(process_, stateDir, false);
}

interface RunningAnvil {
  readonly pid: number;
  readonly port: number;
  /** Hash of block 0: tells this chain from another anvil that got the same port later. */
  readonly genesis: string;
}

function handle(running: RunningAnvil, stateDir: string | undefined, adopted: boolean): Anvil {
  return {
    url: `http://127.0.0.1:${running.port}`,
    pid: running.pid,
    adopted,
    mine: async (blocks) => {
      await rpc(running.port, 'anvil_mine', [`0x${blocks.toString(16)}`]);
    },
    stop: async () => {
      if (isAlive(running.pid)) {
        process.kill(running.pid, 'SIGINT');
        const end = Date.now() + STOP_TIMEOUT_MS;
        while (isAlive(running.pid)) {
          if (Date.now() > end) {
            throw new AssayError('ANVIL_FAILED', `anvil (process ${running.pid}) did not end in ${STOP_TIMEOUT_MS} ms`);
          }
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
      if (stateDir !== undefined) rmSync(noteFile(stateDir), { force: true });
    },
  };
}

/** @param states where old states go when there are too many for the memory. */
async function launch(
  outlives: boolean,
  states: string,
  args: readonly string[],
): Promise<{ child: ChildProcess; port: number }> {
  // Own process group for a chain that outlives us: Ctrl-C in the terminal reaches this process alone, which then
  // stops anvil in order. One that does not outlive us shall get the Ctrl-C too.
  // Anvil's own place for them is the home folder, where nobody removes what a killed chain leaves: 1 GB an hour.
  const child = spawn(anvilBinary(), [...args, '--cache-path', states], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: outlives,
  });
  if (!outlives) {
    const end = (): void => {
      child.kill('SIGKILL');
      rmSync(states, { recursive: true, force: true });
    };
    process.once('exit', end);
    child.once('exit', () => {
      process.off('exit', end);
      rmSync(states, { recursive: true, force: true });
    });
  }
  let output = '';
  try {
    const port = await new Promise<number>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new AssayError('ANVIL_FAILED', `anvil is not listening after ${START_TIMEOUT_MS} ms: ${output}`)),
        START_TIMEOUT_MS,
      );
      const read = (chunk: Buffer): void => {
        output += chunk.toString();
        const match = /Listening on 127\.0\.0\.1:(\d+)/.exec(output);
        if (match !== null) {
          clearTimeout(timer);
          resolve(Number(match[1]));
        }
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('error', (cause) => {
        clearTimeout(timer);
        reject(new AssayError('ANVIL_FAILED', `anvil did not start: ${cause.message}`, { cause }));
      });
      child.once('exit', (status) => {
        clearTimeout(timer);
        reject(new AssayError('ANVIL_FAILED', `anvil ended with status ${status}: ${output.slice(-2000)}`));
      });
    });
    // Read on and forget, or a full pipe would halt anvil; without holding this process open.
    for (const stream of [child.stdout, child.stderr]) {
      stream.removeAllListeners('data');
      stream.resume();
      (stream as unknown as { unref(): void }).unref();
    }
    child.unref();
    return { child, port };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** The binary lies in a package of its own for each platform; no install script is needed to find it. */
function anvilBinary(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`;
  try {
    const fromHere = createRequire(import.meta.url);
    const fromAnvil = createRequire(fromHere.resolve('@foundry-rs/anvil/package.json'));
    const folder = dirname(fromAnvil.resolve(`${name}/package.json`));
    const binary = join(folder, 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil');
    if (existsSync(binary)) return binary;
    throw new Error(`${binary} does not exist`);
  } catch (cause) {
    throw new AssayError('ANVIL_MISSING', `package ${name} is not installed`, { cause });
  }
}

async function rpc(port: number, method: string, params: readonly unknown[]): Promise<unknown> {
  let reply: { result?: unknown; error?: { message: string } };
  try {
    const response = await fetch(`http://127.0.0.1:${port}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(10_000),
    });
    reply = (await response.json()) as typeof reply;
  } catch (cause) {
    throw new AssayError('CHAIN_UNAVAILABLE', `anvil on port ${port} does not answer ${method}`, { cause });
  }
  if (reply.error !== undefined) throw new AssayError('CHAIN_UNAVAILABLE', `anvil: ${method}: ${reply.error.message}`);
  return reply.result;
}

async function genesisOf(port: number): Promise<string> {
  return ((await rpc(port, 'eth_getBlockByNumber', ['0x0', false])) as { hash: string }).hash;
}

const noteFile = (stateDir: string): string => join(stateDir, 'anvil.json');

function writeNote(stateDir: string, running: RunningAnvil): void {
  const aside = `${noteFile(stateDir)}.${process.pid}`;
  writeFileSync(aside, JSON.stringify(running));
  renameSync(aside, noteFile(stateDir));
}

/** The anvil that an earlier, killed owner of this folder left running. */
async function findRunning(stateDir: string): Promise<RunningAnvil | null> {
  let note: RunningAnvil;
  try {
    note = JSON.parse(readFileSync(noteFile(stateDir), 'utf8')) as RunningAnvil;
  } catch {
    return null;
  }
  if (!isAlive(note.pid)) return null;
  try {
    return (await genesisOf(note.port)) === note.genesis ? note : null;
  } catch (error) {
    if (error instanceof AssayError && error.code === 'CHAIN_UNAVAILABLE') return null;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // An adopted anvil whose first parent is gone may stay in the table as a zombie (state Z): it has ended.
    return process.platform !== 'linux' || !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
