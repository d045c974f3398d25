import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { AssayError } from '../common/errors.js';

/** @throws AssayError FILE_NOT_FOUND naming the path. */
export function readInputFile(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unreadable';
    throw new AssayError('FILE_NOT_FOUND', `${path}: cannot be read (${reason})`, {
      cause,
      meta: { file: path, reason },
    });
  }
}

/**
 * Says before any work that a result could not be kept.
 * @throws AssayError FILE_NOT_WRITABLE naming the path.
 */
export function checkWritable(path: string): void {
  attempt(path, () => accessSync(dirname(path), constants.W_OK));
}

/** @throws AssayError FILE_NOT_WRITABLE naming the path. */
export function writeOutputFile(path: string, content: Uint8Array | string): void {
  attempt(path, () => writeFileSync(path, content));
}

function attempt(path: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    throw new AssayError('FILE_NOT_WRITABLE', `${path}: cannot be written (${reason})`, {
      cause,
      meta: { file: path, reason },
    });
  }
}
