/**
 * A lock that one process holds at a time, as a file that survives its holder's crash without outliving its meaning.
 *
 * The file names its holder: process id and, on Linux, the process's start time, since a restarted container may give
 * a new process the old id; and a random token, which tells two holders in one process apart. The lock of a process
 * that is gone is stale and is taken over:
 *
 *   1. A lock is taken by linking a file that is already written to the lock's name, which fails where there is one.
 *      So a lock is never seen without its holder.
 *   2. A stale lock is removed only by who holds the takeover guard, a second lock beside it, and only after reading it
 *      again under the guard. Without this, of two starters that saw the same stale lock the second would remove the
 *      new lock of the first.
 *   3. A guard whose holder died in the middle of 2 is moved aside by a rename, which only one of many succeeds in, and
 *      is put back if what was moved is another guard than the one that was read.
 */
import { randomBytes } from 'node:crypto';
import { link, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { AssayError } from '../common/errors.js';
import { diskError } from './durable-file.js';

export interface Lock {
  readonly path: string;
  /** Is the lock still this one? Somebody who removed the file by hand may have let another in. */
  isHeld(): Promise<boolean>;
  /** Does nothing to a lock that is not this one any more. */
  release(): Promise<void>;
}

/**
 * @param path of the lock file, in a folder that exists.
 * @param subject what the lock is for, for the message.
 * @throws AssayError JOURNAL_LOCKED while a living process holds it, STORE_FULL; the ENOENT of a missing folder.
 */
export async function takeLock(path: string, subject: string): Promise<Lock> {
  const mine = `${path}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`;
  const token = randomBytes(16).toString('hex');
  const text = JSON.stringify({ pid: process.pid, started: await startTime(process.pid), token });
  try {
    await writeFile(mine, text, { flush: true });
    if (!(await linked(mine, path))) {
      await removeStale(path, mine, subject);
      // Somebody else may have been faster; then the lock is theirs.
      if (!(await linked(mine, path))) throw locked(subject, holderOf(await read(path)));
    }
  } catch (error) {
    throw diskError(error, path);
  } finally {
    await remove(mine);
  }
  const isHeld = async (): Promise<boolean> => (await read(path)) === text;
  return {
    path,
    isHeld,
    release: async () => {
      if (await isHeld()) await remove(path);
    },
  };
}

/**
 * Removes the lock where its holder is gone.
 * @param mine a file that names this process, to be linked as the takeover guard.
 * @throws AssayError JOURNAL_LOCKED where the holder, or another that is taking over, lives.
 */
async function removeStale(path: string, mine: string, subject: string): Promise<void> {
  const guard = `${path}.takeover`;
  if (!(await isStale(path, subject))) return;
  if (!(await linked(mine, guard))) {
    const seen = await read(guard);
    if (seen !== null) {
      if (await lives(seen)) throw locked(subject, holderOf(seen));
      await moveAside(guard, seen);
    }
    if (!(await linked(mine, guard))) throw locked(subject, holderOf(await read(guard)));
  }
  try {
    if (await isStale(path, subject)) await remove(path);
  } finally {
    await remove(guard);
  }
}

/** False where there is no lock. @throws AssayError JOURNAL_LOCKED where its holder lives. */
async function isStale(path: string, subject: string): Promise<boolean> {
  const text = await read(path);
  if (text === null) return false;
  if (await lives(text)) throw locked(subject, holderOf(text));
  return true;
}

/**
 * Removes the file if it still holds `expected`; another one is left, or put back, in its place.
 * @returns whether it was removed.
 */
export async function moveAside(path: string, expected: string): Promise<boolean> {
  const aside = `${path}.${process.pid}.${randomBytes(6).toString('hex')}.aside`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  const moved = (await read(aside)) === expected;
  if (!moved) await linked(aside, path);
  await remove(aside);
  return moved;
}

/** Gives a file a second name, unless that is taken. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function read(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function remove(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

function locked(subject: string, { pid }: Holder): AssayError {
  return new AssayError('JOURNAL_LOCKED', `${subject} is held by process ${pid}`, { meta: { subject, pid } });
}

interface Holder {
  readonly pid: number;
  readonly started: string;
}

const NOBODY: Holder = { pid: -1, started: '' };

/** Nobody for a text that is no holder: a crash may have left the file empty. */
function holderOf(text: string | null): Holder {
  if (text === null) return NOBODY;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return NOBODY;
    throw error;
  }
  if (typeof value !== 'object' || value === null) return NOBODY;
  const { pid, started } = value as Record<string, unknown>;
  return typeof pid === 'number' && typeof started === 'string' ? { pid, started } : NOBODY;
}

async function lives(text: string): Promise<boolean> {
  const { pid, started } = holderOf(text);
  return pid > 0 && (await startTime(pid)) === started;
}

/** Something that tells this process from a later one of the same id; null where no such process runs. */
async function startTime(pid: number): Promise<string | null> {
  if (process.platform === 'linux') {
    try {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
      // Field 22, counted behind the command name, which is in parentheses and may hold spaces.
      return `${boot.trim()} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
    } catch (error) {
      if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
      throw error;
    }
  }
  try {
    process.kill(pid, 0);
    return 'running';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'running' : null;
  }
}
