/** Bundles as files named by their digest. */
import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { AssayError } from '../../common/errors.js';
import { decodeBundle, encodeBundle, type Bundle } from '../../graph/index.js';
import type { BundleStore } from '../ports.js';
import { makeFolder, syncFolder } from '../store/durable-folder.js';

export interface BundleFolder extends BundleStore {
  /** Stores the bundle under its digest. */
  add(bundle: Bundle): Promise<void>;
}

/** Keeps every bundle in memory that has been read once. */
export async function openBundleFolder(directory: string): Promise<BundleFolder> {
  await makeFolder(directory);
  const cache = new Map<string, Promise<Bundle>>();
  const pathOf = (digest: string) => join(directory, `${digest}.assay`);
  const read = async (digest: string): Promise<Bundle> => {
    const path = pathOf(digest);
    let bytes: Uint8Array;
    try {
      bytes = await readFile(path);
    } catch (cause) {
      throw new AssayError('BUNDLE_MISSING', `No bundle with digest ${digest} in ${directory}.`, {
        cause,
        meta: { digest, directory },
      });
    }
    const bundle = decodeBundle(bytes, path);
    if (bundle.digest !== digest) {
      throw new AssayError('STORE_CORRUPT', `${path} holds the bundle ${bundle.digest}.`, {
        meta: { path, expected: digest, found: bundle.digest },
      });
    }
    return bundle;
  };
  return {
    async add(bundle) {
      const temporary = `${pathOf(bundle.digest)}.${randomUUID()}`;
      const file = await open(temporary, 'w');
      try {
        await file.writeFile(encodeBundle(bundle));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, pathOf(bundle.digest));
      await syncFolder(directory);
    },
    async get(digest) {
      if (!/^0x[0-9a-f]{64}$/.test(digest)) {
        throw new AssayError(
          'BUNDLE_MISSING',
          `A model digest is 0x and 64 hex digits, found ${JSON.stringify(digest).slice(0, 80)}.`,
        );
      }
      let bundle = cache.get(digest);
      if (bundle === undefined) {
        bundle = read(digest);
        cache.set(digest, bundle);
        bundle.catch(() => cache.delete(digest));
      }
      return bundle;
    },
  };
}
