/** Folders whose entries survive a power failure: a name is on disk only when the folder that holds it has been synced. */
import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Makes the names in the folder durable. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a directory; its file system orders names itself.
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes the folder, and those above it that are missing, durably; does nothing where it is there. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  for (let made = resolve(path); ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first) return;
  }
}
