/** Inputs as files, by their root. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AssayError } from '../../common/errors.js';
import type { FileSource } from '../../fraud-proofs/watch/sources.js';
import type { Hex } from '../../receipts/types.js';

/** As in `3f..9a.input`; form: fraud-proofs/watch/tensor-file.ts. */
export const inputFile = (folder: string, root: Hex): string => join(folder, `${root.slice(2)}.input`);

export function inputFolder(folder: string): FileSource {
  return async (kind, root) => {
    if (kind !== 'inputs') return null;
    try {
      return await readFile(inputFile(folder, root));
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? 'unreadable';
      if (reason === 'ENOENT') return null;
      throw new AssayError('FILE_NOT_FOUND', `${inputFile(folder, root)}: cannot be read (${reason})`, {
        cause: error,
      });
    }
  };
}
