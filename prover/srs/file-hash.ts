/** Pinning of a downloaded file: its hash must be the one that the ceremony published. */
import { blake2b } from '@noble/hashes/blake2.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import type { RandomAccess } from './random-access.js';

/** blake2b with its full 64 bytes, as the lists of ceremony files give it. */
const HASHES = { sha256, blake2b, keccak256: keccak_256 };

export interface FilePin {
  readonly algorithm: keyof typeof HASHES;
  /** Hex digits, upper or lower case, with or without 0x. */
  readonly hash: string;
}

const CHUNK_BYTES = 1 << 22;

/**
 * Reads the whole file once.
 * @param onProgress told the bytes hashed so far.
 * @throws AssayError SRS_INVALID for another hash.
 */
export async function checkFileHash(
  file: RandomAccess,
  pin: FilePin,
  onProgress?: (doneBytes: number) => void,
): Promise<void> {
  const state = HASHES[pin.algorithm].create();
  for (let at = 0; at < file.sizeBytes; at += CHUNK_BYTES) {
    const length = Math.min(CHUNK_BYTES, file.sizeBytes - at);
    state.update(await file.read(at, length));
    onProgress?.(at + length);
  }
  const found = bytesToHex(state.digest());
  const expected = pin.hash.toLowerCase().replace(/^0x/, '');
  if (found !== expected)
    throw new AssayError('SRS_INVALID', `${file.name}: expected ${pin.algorithm} ${expected}, found ${found}`, {
      meta: { file: file.name, algorithm: pin.algorithm, expected, found },
    });
}
