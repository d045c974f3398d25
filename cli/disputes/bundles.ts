/** The models that a watcher or an answering service knows: bundle files, and folders of them. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../../common/errors.js';
import { decodeBundle, type Bundle } from '../../graph/index.js';
import type { Models } from '../../fraud-proofs/watch/sources.js';
import type { Hex } from '../../receipts/types.js';
import { readInputFile } from '../files.js';

export interface KnownBundles {
  readonly models: Models;
  readonly all: readonly { readonly file: string; readonly bundle: Bundle }[];
}

/** @param paths files (.assay) and folders. @throws AssayError FILE_NOT_FOUND, BUNDLE_CORRUPT ... */
export function readBundles(paths: readonly string[]): KnownBundles {
  const all = paths.flatMap(filesOf).map((file) => ({ file, bundle: decodeBundle(readInputFile(file), file) }));
  const byDigest = new Map(all.map(({ bundle }) => [bundle.digest, bundle]));
  return { all, models: async (digest: Hex) => byDigest.get(digest) ?? null };
}

function filesOf(path: string): string[] {
  let folder: boolean;
  try {
    folder = statSync(path).isDirectory();
  } catch (cause) {
    throw new AssayError('FILE_NOT_FOUND', `${path}: cannot be read`, { cause, meta: { file: path } });
  }
  if (!folder) return [path];
  return readdirSync(path)
    .filter((name) => name.endsWith('.assay'))
    .sort()
    .map((name) => join(path, name));
}
