/**
 * A folder of results that are expensive to make, one sub-folder per key. Each keeps the SHA-256 of its files, so damage
 * is found at reading; it is written aside and renamed, so a killed process leaves no half entry under its name. What
 * cannot be read is made again.
 */
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { AssayError } from '../common/errors.js';
import { packageRoot } from '../common/package-root.js';

/** Names and SHA-256, hex, of the files of an entry. */
type Manifest = Readonly<Record<string, string>>;

const MANIFEST = 'manifest.json';

/** `.cache/circuits` in the package's root. */
export const defaultCircuitCache = (): string => fileURLToPath(new URL('.cache/circuits', packageRoot()));

/**
 * Paths of the files of an entry whose checksums fit, or undefined.
 * @param names the files that must be there.
 */
export async function readCacheEntry<Name extends string>(
  folder: string,
  key: string,
  names: readonly Name[],
): Promise<Record<Name, string> | undefined> {
  const entry = join(folder, key);
  try {
    const manifest = JSON.parse(readFileSync(join(entry, MANIFEST), 'utf8')) as Manifest;
    const paths = {} as Record<Name, string>;
    for (const name of names) {
      paths[name] = join(entry, name);
      if ((await sha256OfFile(paths[name])) !== manifest[name]) return undefined;
    }
    return paths;
  } catch {
    return undefined;
  }
}

/**
 * Makes an entry. Where another process was faster, its entry stays: somebody may be reading it.
 * @param make writes the files into the folder that it is given.
 * @returns their paths.
 * @throws AssayError FILE_NOT_WRITABLE, or what `make` throws.
 */
export async function writeCacheEntry<Name extends string>(
  folder: string,
  key: string,
  names: readonly Name[],
  make: (folder: string) => Promise<void>,
): Promise<Record<Name, string>> {
  const entry = join(folder, key);
  const aside = newFolder(folder, `${key}.`);
  try {
    await make(aside);
    const manifest: Record<string, string> = {};
    for (const name of names) manifest[name] = await sha256OfFile(join(aside, name));
    writeFileSync(join(aside, MANIFEST), JSON.stringify(manifest));
    const faster = await readCacheEntry(folder, key, names);
    if (faster !== undefined) return faster;
    rmSync(entry, { recursive: true, force: true });
    renameSync(aside, entry);
  } catch (error) {
    // Between the look and the renaming.
    const faster = await readCacheEntry(folder, key, names);
    if (faster !== undefined) return faster;
    throw error;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return Object.fromEntries(names.map((name) => [name, join(entry, name)])) as Record<Name, string>;
}

function newFolder(parent: string, prefix: string): string {
  try {
    mkdirSync(parent, { recursive: true });
    return mkdtempSync(join(parent, prefix));
  } catch (cause) {
    throw new AssayError('FILE_NOT_WRITABLE', `${parent}: the cache of circuits cannot be written`, { cause });
  }
}

async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}
