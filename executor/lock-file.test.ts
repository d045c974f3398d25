import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { moveAside, takeLock } from './lock-file.js';
import type { Lock } from './lock-file.js';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-lock-'));
  path = join(folder, 'lock');
});
afterEach(() => rm(folder, { recursive: true }));

/** This process's id, in an earlier life. */
const STALE = JSON.stringify({ pid: process.pid, started: 'long ago', token: '' });

describe('takeLock', () => {
  it('is held by one at a time, and leaves nothing behind', async () => {
    const lock = await takeLock(path, 'it');
    await expect(takeLock(path, 'it')).rejects.toMatchObject({ code: 'JOURNAL_LOCKED', meta: { pid: process.pid } });
    expect(await lock.isHeld()).toBe(true);
    expect(await readdir(folder)).toEqual(['lock']);
    await lock.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([STALE, '', 'null', '{"pid":"1"}'])('takes over the stale lock %j', async (text) => {
    await writeFile(path, text);
    const lock = await takeLock(path, 'it');
    expect(await lock.isHeld()).toBe(true);
    expect(await readdir(folder)).toEqual(['lock']);
  });

  it('goes to one of many starters that see the same stale lock', async () => {
    for (let round = 0; round < 20; round++) {
      await writeFile(path, STALE);
      const taken = await Promise.allSettled(Array.from({ length: 8 }, () => takeLock(path, 'it')));
      const locks = taken.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      for (const result of taken) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'JOURNAL_LOCKED' });
      }
      expect(locks.length, `round ${round}`).toBe(1);
      expect(await locks[0]!.isHeld()).toBe(true);
      await locks[0]!.release();
      expect(await readdir(folder)).toEqual([]);
    }
  });

  it('goes on where a starter died while it took over', async () => {
    await writeFile(path, STALE);
    await writeFile(`${path}.takeover`, STALE);
    const lock: Lock = await takeLock(path, 'it');
    expect(await lock.isHeld()).toBe(true);
    expect(await readdir(folder)).toEqual(['lock']);
  });

  it('waits for nobody: a starter that is taking over has the lock as good as taken', async () => {
    const other = await takeLock(`${path}.takeover`, 'the takeover');
    await writeFile(path, STALE);
    await expect(takeLock(path, 'it')).rejects.toMatchObject({ code: 'JOURNAL_LOCKED' });
    expect(await readFile(path, 'utf8')).toBe(STALE);
    await other.release();
  });

  it('releases no lock but its own', async () => {
    const lock = await takeLock(path, 'it');
    await rm(path);
    const second = await takeLock(path, 'it');
    await lock.release();
    expect(await second.isHeld()).toBe(true);
    expect(await lock.isHeld()).toBe(false);
  });
});

describe('moveAside', () => {
  it('removes what was read, and puts back what has come in its place', async () => {
    await writeFile(path, 'new');
    expect(await moveAside(path, 'old')).toBe(false);
    expect(await readFile(path, 'utf8')).toBe('new');
    expect(await moveAside(path, 'new')).toBe(true);
    expect(await readdir(folder)).toEqual([]);
    expect(await moveAside(path, 'new')).toBe(false);
  });
});
