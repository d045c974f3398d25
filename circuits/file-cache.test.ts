import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readCacheEntry, writeCacheEntry } from './file-cache.js';

const folder = mkdtempSync(join(tmpdir(), 'assay-cache-'));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (key: string, content: string, during: () => Promise<unknown> = () => Promise.resolve()) =>
  writeCacheEntry(folder, key, ['file'], async (aside) => {
    await during();
    writeFileSync(join(aside, 'file'), content);
  });

describe('cache of files', () => {
  test('gives back what was written; damage and absence are the same', async () => {
    expect(await readCacheEntry(folder, 'a', ['file'])).toBeUndefined();
    const { file } = await write('a', 'content');
    expect(await readCacheEntry(folder, 'a', ['file'])).toEqual({ file });
    expect(await readCacheEntry(folder, 'a', ['file', 'other'])).toBeUndefined();
    writeFileSync(file, 'damaged');
    expect(await readCacheEntry(folder, 'a', ['file'])).toBeUndefined();
    expect(readFileSync((await write('a', 'content')).file, 'utf8')).toBe('content');
  });

  test('of two that make one entry the first stays', async () => {
    const second = await write('b', 'second', () => write('b', 'first'));
    expect(readFileSync(second.file, 'utf8')).toBe('first');
  });

  test('a folder that cannot be made is named', async () => {
    const { file } = await write('d', 'a file, and no folder');
    const inside = writeCacheEntry(file, 'e', ['file'], () => Promise.resolve());
    await expect(inside).rejects.toMatchObject({ code: 'FILE_NOT_WRITABLE' });
    rmSync(join(folder, 'd'), { recursive: true });
  });

  test('a failure leaves nothing behind', async () => {
    const failing = write('c', '', () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(existsSync(join(folder, 'c'))).toBe(false);
    expect(readdirSync(folder).sort()).toEqual(['a', 'b']);
  });
});
