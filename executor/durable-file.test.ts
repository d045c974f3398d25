import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { diskError, writeDurably } from './durable-file.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-durable-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('writeDurably', () => {
  it('makes the folder, writes the whole content, and leaves nothing else', async () => {
    const path = join(folder, 'a/b/file');
    await writeDurably(path, Buffer.from('one'));
    await writeDurably(path, Buffer.from('two'), 0o600);
    expect(await readFile(path, 'utf8')).toBe('two');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(folder, 'a/b'))).toEqual(['file']);
  });

  it('leaves the old content and no temporary file where it fails', async () => {
    // A folder stands where the file should be: the rename fails.
    await writeDurably(join(folder, 'taken/inside'), Buffer.from('old'));
    await expect(writeDurably(join(folder, 'taken'), Buffer.from('new'))).rejects.toThrow();
    expect(await readdir(folder)).toEqual(['taken']);
  });

  /** /dev/full answers every write with "no space left on device". */
  it.skipIf(!existsSync('/dev/full'))('names a full disk', () => {
    const full = spawnSync(process.execPath, ['-e', "require('fs').writeFileSync('/dev/full', 'x')"], {
      encoding: 'utf8',
    });
    expect(full.stderr).toContain('ENOSPC');
    expect(diskError(Object.assign(new Error('no space'), { code: 'ENOSPC' }), '/data/x')).toMatchObject({
      code: 'STORE_FULL',
      meta: { path: '/data/x' },
    });
  });

  it('passes other errors on as they are', () => {
    const error = Object.assign(new Error('denied'), { code: 'EACCES' });
    expect(diskError(error, '/data/x')).toBe(error);
  });
});
