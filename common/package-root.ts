import { existsSync } from 'node:fs';

let cached: URL | undefined;

/** Folder of package.json, as a URL that ends in '/': the same from the sources and from dist/. */
export function packageRoot(): URL {
  if (cached !== undefined) return cached;
  let folder = new URL('.', import.meta.url);
  while (!existsSync(new URL('package.json', folder))) folder = new URL('..', folder);
  cached = folder;
  return folder;
}
