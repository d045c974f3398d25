/** `assay watch` as a process of its own, which knows an RPC endpoint, the bundle, and where inputs and traces are served. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../../common/package-root.js';
import { AssayError } from '../../../common/errors.js';
import { encodeBundle, type Bundle } from '../../../graph/index.js';
import type { Arena, ArenaParty } from './arena.js';

export interface WatchProcess {
  readonly pid: number;
  /** Waits until it has seen the newest block and has nothing more to do. */
  turn(): Promise<void>;
  /** As a power cut: no signal that it could catch. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface WatchProcessOptions {
  readonly bundles: readonly Bundle[];
  /** Of a server of traces and inputs; absent: everything is demanded on chain. */
  readonly tracesUrl?: string;
  /** Kept between lives: salts of announcements. @default a fresh one */
  readonly folder?: string;
  readonly act?: 'challenge' | 'defend';
}

const POLL_SECONDS = '0.1';
const PATIENCE_MS = 60_000;

/** A poll as `--json` prints it. */
interface Printed {
  readonly head?: { readonly number: number };
  readonly claims?: readonly { readonly step: string }[];
  readonly moves?: readonly { readonly sent: unknown }[];
}

/** @throws AssayError DRILL_FAILED where it ends by itself, or sees nothing for a minute */
export function startWatchProcess(
  arena: Pick<Arena, 'anvil' | 'provider' | 'rollup'>,
  party: Pick<ArenaParty, 'wallet'>,
  options: WatchProcessOptions,
): WatchProcess {
  const { folder = mkdtempSync(join(tmpdir(), 'assay-watch-')), bundles, tracesUrl, act = 'challenge' } = options;
  const files = bundles.map((bundle) => {
    const file = join(folder, `${bundle.digest.slice(2, 18)}.assay`);
    writeFileSync(file, encodeBundle(bundle));
    return file;
  });
  const args = [
    fileURLToPath(new URL('bin/assay.mjs', packageRoot())),
    ...['--json', 'watch', '--rpc', arena.anvil.url, '--rollup', arena.rollup],
    ...['--act', act, '--poll', POLL_SECONDS, '--engine', 'reference', '--state', join(folder, 'state')],
    ...(tracesUrl === undefined ? [] : ['--traces', tracesUrl]),
    ...['--bundles', ...files],
  ];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ASSAY_KEY: party.wallet.privateKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines = new Lines(child);
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  };
  return {
    pid: child.pid!,
    turn: async () => {
      for (;;) {
        const newest = await arena.provider.getBlockNumber();
        lines.forget();
        const quiet = await lines.until(
          ({ head, claims = [], moves = [] }) =>
            head !== undefined &&
            head.number >= newest &&
            claims.every(({ step }) => step !== 'pending') &&
            moves.every(({ sent }) => sent === null),
        );
        if ((await arena.provider.getBlockNumber()) === quiet.head!.number) return;
      }
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}

/** The lines of JSON that a child prints. */
class Lines {
  #printed: Printed[] = [];
  #errors = '';
  #ended = false;
  #told: () => void = () => undefined;

  constructor(child: ChildProcess) {
    let rest = '';
    child.stdout!.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop()!;
      this.#printed.push(...lines.map((line) => JSON.parse(line) as Printed));
      this.#told();
    });
    child.stderr!.on('data', (chunk: Buffer) => (this.#errors = (this.#errors + chunk.toString()).slice(-4_000)));
    child.once('close', () => {
      this.#ended = true;
      this.#told();
    });
  }

  forget(): void {
    this.#printed = [];
  }

  async until(holds: (line: Printed) => boolean): Promise<Printed> {
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      const found = this.#printed.find(holds);
      if (found !== undefined) return found;
      if (this.#ended) throw new AssayError('DRILL_FAILED', `the watcher's process has ended: ${this.#errors}`);
      const left = until - Date.now();
      if (left <= 0)
        throw new AssayError('DRILL_FAILED', `the watcher's process does not come to rest: ${this.#errors}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#told = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}
