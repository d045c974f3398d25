import { readFileSync } from 'node:fs';
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
