import { keccak_256 } from '@noble/hashes/sha3.js';

/** Null where it does not take so many bytes, or is not at hand. */
type Keccak = (bytes: Uint8Array, length: number) => Uint8Array | null;

let fast: Keccak = () => null;

/** From now on hashes are taken by this: the kernels of wasm/, 0.5 us instead of 5 for few bytes, where they are loaded. */
export function useFastKeccak(keccak: Keccak): void {
  fast = keccak;
}

/** keccak256 of the first `length` bytes. */
export const keccak256 = (bytes: Uint8Array, length = bytes.length): Uint8Array =>
  fast(bytes, length) ?? keccak_256(bytes.subarray(0, length));
