import { keccak_256 } from '@noble/hashes/sha3.js';
import { getBytes, hexlify, toUtf8Bytes } from 'ethers';
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';

/**
 * A number that nobody could know before the seed, for one purpose: keccak(keccak(label) | seed | parts), where each
 * part is a 32-byte big-endian word, so that no two questions share a preimage.
 * @param seed the contract's, over the block hash and the batch hash (`drawSeed`): it binds the whole commitment
 * @param parts numbers below 2^32, or hex of at most 32 bytes
 * @throws AssayError DRAW_INVALID
 */
export function ticket(label: string, seed: Hex, ...parts: readonly (number | Hex)[]): Hex {
  if (!/^0x[0-9a-f]{64}$/.test(seed)) {
    throw new AssayError('DRAW_INVALID', `seed: expected 32 bytes of lower-case hex, found ${seed}`);
  }
  const preimage = new Uint8Array(32 * (2 + parts.length));
  preimage.set(keccak_256(toUtf8Bytes(label)), 0);
  preimage.set(getBytes(seed), 32);
  const view = new DataView(preimage.buffer);
  parts.forEach((part, i) => {
    const end = 32 * (3 + i);
    if (typeof part === 'number') view.setUint32(end - 4, part);
    else {
      const bytes = getBytes(part);
      preimage.set(bytes, end - bytes.length);
    }
  });
  return hexlify(keccak_256(preimage)) as Hex;
}
