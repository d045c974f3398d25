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
  // Absolute throughout: `mkdir` names the first folder it made as it was named to it.
  const folder = resolve(path);
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}
