/** RandomAccess to a file on disk (Node). */
import { open } from 'node:fs/promises';
import { AssayError } from '../../common/errors.js';
import type { RandomAccess } from './random-access.js';

/**
 * Calls `use` with the open file and closes it afterwards.
 * @throws AssayError FILE_NOT_FOUND.
 */
export async function withFile<T>(path: string, use: (file: RandomAccess) => Promise<T>): Promise<T> {
  const handle = await open(path, 'r').catch((cause: unknown) => {
    throw new AssayError('FILE_NOT_FOUND', `${path}: cannot be read`, { cause, meta: { file: path } });
  });
  try {
    const { size } = await handle.stat();
    return await use({
      name: path,
      sizeBytes: size,
      async read(offset, length) {
        const bytes = new Uint8Array(length);
        for (let done = 0; done < length;) {
          const { bytesRead } = await handle.read(bytes, done, length - done, offset + done);
          if (bytesRead === 0)
            throw new AssayError('SRS_INVALID', `${path}: became shorter while it was read`, { meta: { file: path } });
          done += bytesRead;
        }
        return bytes;
      },
    });
  } finally {
    await handle.close();
  }
}
