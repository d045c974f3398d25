/** Files that survive a crash: what has been written is on the disk, whole, or is not there at all. */
import { open, mkdir, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { randomBytes } from 'node:crypto';
import { AssayError } from '../common/errors.js';

/**
 * Writes to a temporary file beside the target, syncs it, renames it onto the target and syncs the folder.
 * @param mode permission bits of the new file.
 * @throws AssayError STORE_FULL where the disk is full.
 */
export async function writeDurably(path: string, bytes: Uint8Array, mode = 0o644): Promise<void> {
  const temporary = `${path}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await unlink(temporary).catch((missing: NodeJS.ErrnoException) => {
      if (missing.code !== 'ENOENT') throw missing;
    });
    throw diskError(error, path);
  }
}

/** Makes a rename or a new file in the folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a folder; there a rename is made durable by the file system itself.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A full disk as the typed error that names it; any other error as it is. */
export function diskError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new AssayError('STORE_FULL', `no room on the disk to write ${path}`, { meta: { path }, cause: error });
}
