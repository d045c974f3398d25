/** A PostgreSQL cluster of our own in a temporary directory, on loopback. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';

export interface PrivatePostgres {
  readonly url: string;
  /** An empty database of that name on the same server. */
  createDatabase(name: string): string;
  stop(): void;
}

/** The directory with initdb and pg_ctl, or null where PostgreSQL is not installed. */
function binDirectory(): string | null {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const candidates = [...versions.map((version) => join(root, version, 'bin')), '/usr/local/bin', '/usr/bin'];
  return candidates.find((path) => existsSync(join(path, 'initdb')) && existsSync(join(path, 'pg_ctl'))) ?? null;
}

const isRoot = process.getuid?.() === 0;
/** PostgreSQL refuses to run as root: then an ordinary account runs it. */
const account = isRoot ? ['postgres', 'nobody'].find((name) => spawnSync('id', [name]).status === 0) : undefined;
const bin = binDirectory();

/** Why there is no server for tests, or null when there can be one. */
export const postgresMissing: string | null =
  bin === null
    ? 'initdb and pg_ctl are not installed'
    : isRoot && (account === undefined || spawnSync('runuser', ['--version']).status !== 0)
      ? 'running as root without an account for PostgreSQL'
      : null;

function run(command: string, args: readonly string[]): void {
  if (account === undefined) execFileSync(command, args, { stdio: 'ignore' });
  else execFileSync('runuser', ['-u', account, '--', command, ...args], { stdio: 'ignore' });
}

export async function startPostgres(): Promise<PrivatePostgres> {
  if (bin === null || postgresMissing !== null) throw new Error(`no PostgreSQL: ${postgresMissing}`);
  const directory = mkdtempSync(join(tmpdir(), 'assay-postgres-'));
  if (account !== undefined) execFileSync('chown', [account, directory]);
  const data = join(directory, 'data');
  const port = await freePort();
  run(join(bin, 'initdb'), ['-D', data, '-U', 'assay', '--auth=trust', '-E', 'UTF8', '--no-locale']);
  run(join(bin, 'pg_ctl'), [
    ...['-D', data, '-w', '-l', join(directory, 'log')],
    ...['-o', `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${directory}`, 'start'],
  ]);
  const urlOf = (name: string) => `postgres://assay@127.0.0.1:${port}/${name}`;
  return {
    url: urlOf('postgres'),
    createDatabase(name) {
      run(join(bin, 'createdb'), ['-h', '127.0.0.1', '-p', String(port), '-U', 'assay', name]);
      return urlOf(name);
    },
    stop() {
      run(join(bin, 'pg_ctl'), ['-D', data, '-m', 'immediate', '-w', 'stop']);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
