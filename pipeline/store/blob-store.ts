/**
 * Content-addressed files: inputs, outputs, traces, proofs. The name is the SHA-256 of the bytes.
 *
 * Order of writing: folder, fsync of its parent, file, fsync, rename, fsync of the folder; only then may a row name it.
 * What a crash leaves behind is a temporary file or a file that no row names: neither does harm.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { AssayError } from '../../common/errors.js';
import { makeFolder, syncFolder } from './durable-folder.js';

export interface BlobStore {
  /** @returns the name under which `get` finds the bytes. @throws AssayError STORE_UNAVAILABLE */
  put(bytes: Uint8Array): Promise<string>;
  /** @throws AssayError STORE_UNAVAILABLE when it cannot be read, STORE_CORRUPT when it does not hash to its name. */
  get(name: string): Promise<Uint8Array>;
}

const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export async function openBlobStore(directory: string): Promise<BlobStore> {
  const guarded = async <T>(path: string, doing: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new AssayError('STORE_UNAVAILABLE', `The file ${path} cannot be ${doing}: ${why}.`, {
        cause: error,
        meta: { path },
      });
    }
  };
  await guarded(directory, 'made', () => makeFolder(directory));
  /** Folders that this process has made durable. */
  const folders = new Set<string>();
  let counter = 0;
  return {
    async put(bytes) {
      const name = hash(bytes);
      const folder = join(directory, name.slice(0, 2));
      const path = join(folder, name);
      await guarded(path, 'written', async () => {
        const existing = await readFile(path).catch(() => null);
        // A damaged file under this name is mended.
        if (existing !== null && hash(existing) === name) return;
        await mkdir(folder, { recursive: true });
        if (!folders.has(folder)) {
          // Also where it was there: who made it may not have come to this yet.
          await syncFolder(directory);
          folders.add(folder);
        }
        const temporary = `${path}.${process.pid}.${counter++}`;
        const handle = await open(temporary, 'w');
        try {
          await handle.writeFile(bytes);
          await handle.sync();
        } finally {
          await handle.close();
        }
        await rename(temporary, path);
        await syncFolder(folder);
      });
      return name;
    },
    async get(name) {
      const path = join(directory, name.slice(0, 2), name);
      const bytes = await guarded(path, 'read', () => readFile(path));
      const found = hash(bytes);
      if (found !== name) {
        throw new AssayError(
          'STORE_CORRUPT',
          `The file ${path} holds other bytes: expected hash ${name}, found ${found}.`,
          {
            meta: { path, expected: name, found },
          },
        );
      }
      return bytes;
    },
  };
}
