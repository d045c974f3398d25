/** A file that is read in parts, so that gigabytes need not fit in memory. */
import { AssayError } from '../../common/errors.js';

export interface RandomAccess {
  /** For messages. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Exactly `length` bytes; the caller stays inside the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

export function inMemory(name: string, bytes: Uint8Array): RandomAccess {
  return {
    name,
    sizeBytes: bytes.length,
    read: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)),
  };
}

/**
 * Part of a file.
 * @throws AssayError SRS_INVALID where the file ends before.
 */
export async function readInside(file: RandomAccess, offset: number, length: number): Promise<Uint8Array> {
  if (offset + length > file.sizeBytes)
    throw new AssayError(
      'SRS_INVALID',
      `${file.name}: ends at byte ${file.sizeBytes}, expected ${length} bytes at ${offset}; the copy is truncated`,
    );
  return file.read(offset, length);
}
