/** The development SRS from memory, from a file, or made now and kept in both (Node). */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../common/package-root.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { isDevelopmentSrs } from './development-srs.js';
import { makeDevelopmentSrs } from './make-development-srs.js';
import { decodeSrs, encodeSrs } from './srs-file.js';
import { srsIdOf, srsPrefix, srsSize, type Srs } from './srs.js';

export interface DevelopmentSrsOptions {
  readonly arithmetic: Arithmetic;
  /** @default `.cache/srs` in the package's root */
  readonly cacheDir?: string;
  /** Told the points made so far; not called where a cache serves. */
  readonly onProgress?: (donePoints: number) => void;
}

let inMemory: Srs | undefined;

/** The development SRS with `size` points, at least 2. A cache that cannot be read or written only costs time. */
export function developmentSrs(size: number, { arithmetic, cacheDir, onProgress }: DevelopmentSrsOptions): Srs {
  if (inMemory === undefined || srsSize(inMemory) < size) {
    const folder = cacheDir ?? fileURLToPath(new URL('.cache/srs', packageRoot()));
    inMemory = readCache(folder, size) ?? writeCache(folder, makeDevelopmentSrs(size, arithmetic, onProgress));
  }
  return srsPrefix(inMemory, size);
}

const fileOf = (folder: string, size: number) => join(folder, `development-${size}.srs`);

/** Undefined where there is nothing usable; the checksum of the file finds damage. */
function readCache(folder: string, size: number): Srs | undefined {
  try {
    const srs = decodeSrs(readFileSync(fileOf(folder, size)), fileOf(folder, size));
    return isDevelopmentSrs(srsIdOf(srs)) && srsSize(srs) === size ? srs : undefined;
  } catch {
    return undefined;
  }
}

/** Written aside and renamed: a killed process leaves no half file under the final name. */
function writeCache(folder: string, srs: Srs): Srs {
  const aside = `${fileOf(folder, srsSize(srs))}.${process.pid}`;
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(aside, encodeSrs(srs));
    renameSync(aside, fileOf(folder, srsSize(srs)));
  } catch {
    // A read-only installation: the SRS is made again by the next process.
  }
  return srs;
}
