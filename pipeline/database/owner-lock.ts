/**
 * One process owns an embedded data directory. The lock is a file with the owner's pid and start time: a pid alone
 * may have been given to another process since.
 */
import {
  closeSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../../common/errors.js';

export interface OwnerLock {
  release(): void;
}

interface Owner {
  readonly pid: number;
  /** Kernel's start time of the process in clock ticks after boot, or null where /proc does not tell. */
  readonly startTicks: string | null;
}

const FILE_NAME = 'owner.json';
/** A take-over lasts microseconds; a guard older than this was left by a process that died in it. */
const GUARD_ABANDONED_MS = 5_000;

function startTicksOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name (field 2) may hold spaces and parentheses: count from its last closing parenthesis.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const ticks = startTicksOf(owner.pid);
  return ticks === null || owner.startTicks === null || ticks === owner.startTicks;
}

function readOwner(path: string): Owner | null {
  try {
    const value = JSON.parse(readFileSync(path, 'utf8')) as Partial<Owner>;
    return typeof value.pid === 'number' ? { pid: value.pid, startTicks: value.startTicks ?? null } : null;
  } catch {
    return null;
  }
}

/**
 * Takes the directory for this process.
 * @throws AssayError DATA_DIRECTORY_BUSY while another living process, or this one, owns it.
 */
export function takeOwnership(directory: string): OwnerLock {
  const path = join(directory, FILE_NAME);
  const mine = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, startTicks: startTicksOf(process.pid) } satisfies Owner));
  try {
    try {
      linkSync(mine, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      takeOver(path, mine, directory);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  return { release: () => rmSync(path, { force: true }) };
}

/** Replaces the lock of a dead owner. The guard makes looking and replacing one step. */
function takeOver(path: string, mine: string, directory: string): void {
  const guard = `${path}.guard`;
  try {
    closeSync(openSync(guard, 'wx'));
  } catch {
    const age = Date.now() - (statSync(guard, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (age < GUARD_ABANDONED_MS) throw busy(directory, null);
    writeFileSync(guard, '');
  }
  try {
    const owner = readOwner(path);
    if (owner !== null && isAlive(owner)) throw busy(directory, owner.pid);
    renameSync(mine, path);
  } finally {
    unlinkSync(guard);
  }
}

function busy(directory: string, pid: number | null): AssayError {
  const who = pid === null ? 'another process that is starting' : `process ${pid}`;
  return new AssayError('DATA_DIRECTORY_BUSY', `The data directory ${directory} is in use by ${who}.`, {
    meta: { directory, pid },
  });
}
