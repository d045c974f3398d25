import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { openBlobStore } from './blob-store.js';
import { makeFolder } from './durable-folder.js';
import { decodeValues, encodeValues } from './values-file.js';

const directory = mkdtempSync(join(tmpdir(), 'assay-store-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('blob store', () => {
  it('gives back what was put, under the hash of the bytes', async () => {
    const store = await openBlobStore(directory);
    const bytes = Buffer.from('abc');
    const name = await store.put(bytes);
    // FIPS 180-2, appendix B.1.
    expect(name).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(await store.put(bytes)).toBe(name);
    expect(Buffer.from(await store.get(name))).toEqual(bytes);
    expect(readdirSync(join(directory, 'ba'))).toEqual([name]);
  });

  it('refuses a file that holds other bytes, and one that is missing', async () => {
    const store = await openBlobStore(directory);
    const name = await store.put(Buffer.from('true'));
    writeFileSync(join(directory, name.slice(0, 2), name), 'fake');
    await expect(store.get(name)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    await expect(store.get('00'.repeat(32))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      kind: 'infrastructure',
    });
  });

  it('writes a file again that a crash left short', async () => {
    const store = await openBlobStore(directory);
    const name = await store.put(Buffer.from('whole'));
    writeFileSync(join(directory, name.slice(0, 2), name), 'who');
    await store.put(Buffer.from('whole'));
    expect(Buffer.from(await store.get(name)).toString()).toBe('whole');
  });

  it('writes a file again whose bytes were changed', async () => {
    const store = await openBlobStore(directory);
    const name = await store.put(Buffer.from('sound'));
    writeFileSync(join(directory, name.slice(0, 2), name), 'wrong');
    await store.put(Buffer.from('sound'));
    expect(Buffer.from(await store.get(name)).toString()).toBe('sound');
  });

  it('names the file when the disk refuses', async () => {
    const file = join(directory, 'a-file');
    writeFileSync(file, '');
    chmodSync(file, 0o600);
    await expect(openBlobStore(join(file, 'below'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('folders', () => {
  it('are made with all that are missing above them, and left alone where they are there', async () => {
    const folder = join(directory, 'one', 'two', 'three');
    await makeFolder(folder);
    writeFileSync(join(folder, 'kept'), '');
    await makeFolder(folder);
    expect(readdirSync(folder)).toEqual(['kept']);
  });

  it('are made where the path is relative too', async () => {
    const folder = join(relative(process.cwd(), directory), 'four', 'five');
    await makeFolder(folder);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('values file', () => {
  it('keeps every int32 of every array', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }))), (arrays) => {
        const values = arrays.map((array) => Int32Array.from(array));
        expect(decodeValues(encodeValues(values), 'x')).toEqual(values);
      }),
    );
  });

  it('refuses every truncation and every surplus byte', () => {
    const bytes = encodeValues([Int32Array.of(1, -2), new Int32Array(0), Int32Array.of(3)]);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeValues(bytes.subarray(0, length), 'cut.asv')).toThrow(/cut\.asv/);
    }
    expect(() => decodeValues(Buffer.concat([bytes, Buffer.of(0)]), 'long.asv')).toThrow(/1 bytes follow/);
  });
});
