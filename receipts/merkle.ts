/**
 * The Merkle tree over the receipts of one batch.
 *
 * Statement. `root` commits to an ordered list of `count` receipts in one lane; a path shows which receipt
 * stands at `index`.
 *
 * Symbols
 *   leaf(i)  = keccak(0x00 | uint64 i | uint8 lane | receiptStructHash)           42 bytes hashed
 *   node     = keccak(0x01 | left | right)                                        65 bytes hashed
 *
 * Rules
 *   1. Level by level, neighbours (0,1), (2,3), ... are joined. A last node without neighbour moves up
 *      unchanged: it is never joined with itself, so two different lists never share a root (CVE-2012-2459).
 *   2. One leaf: the root is the leaf and the path is empty. No leaf: there is no such batch.
 *   3. The path's length follows from index and count; a longer or shorter one is refused.
 *   4. Leaf and node differ in the first byte and in length: an inner node is never a leaf. Index and lane stand
 *      inside the leaf: neither the position nor a weaker lane can be passed off as another.
 *
 * Source: the tree is that of RFC 6962 section 2.1 with keccak-256. BatchTree.sol is the same in Solidity;
 * vectors/merkle.json holds the two together.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { getBytes, keccak256 } from 'ethers';
import { AssayError } from '../common/errors.js';
import { checkHex, checkUint, laneNumber } from './eip712.js';
import type { Hex, Lane } from './types.js';

/** A batch's bitmaps are one 256-bit word on chain. */
export const MAX_BATCH = 256;

/**
 * @param index position in the batch, 0 to count - 1
 * @param structHash of the receipt, without the domain
 * @throws AssayError RECEIPT_FIELD_INVALID
 */
export function leafHash(index: number, lane: Lane, structHash: Hex): Hex {
  const i = checkUint('leaf', 'index', index, 64).toString(16).padStart(16, '0');
  const l = laneNumber('leaf', lane).toString(16).padStart(2, '0');
  return keccak256(`0x00${i}${l}${checkHex('leaf', 'receiptHash', structHash, 32).slice(2)}`) as Hex;
}

function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(65);
  bytes[0] = 1;
  bytes.set(left, 1);
  bytes.set(right, 33);
  return keccak_256(bytes);
}

/** All levels, leaves first; the last holds the root alone. */
function levels(leaves: readonly Hex[]): Uint8Array[][] {
  if (leaves.length === 0 || leaves.length > MAX_BATCH) {
    throw new AssayError('BATCH_INVALID', `batch: expected 1 to ${MAX_BATCH} leaves, found ${leaves.length}`);
  }
  let level = leaves.map((leaf, i) => getBytes(checkHex('batch', `leaves[${i}]`, leaf, 32)));
  const all = [level];
  while (level.length > 1) {
    const next: Uint8Array[] = [];
    for (let i = 0; i < level.length; i += 2) {
      next.push(i + 1 < level.length ? nodeHash(level[i]!, level[i + 1]!) : level[i]!);
    }
    all.push(next);
    level = next;
  }
  return all;
}

const toHex = (bytes: Uint8Array): Hex =>
  `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

/** Root over 1 to 256 leaf hashes in order. @throws AssayError BATCH_INVALID, RECEIPT_FIELD_INVALID */
export function batchRoot(leaves: readonly Hex[]): Hex {
  return toHex(levels(leaves).at(-1)![0]!);
}

/** Siblings from the leaf upwards; levels where the node moves up alone have none. @throws AssayError BATCH_INVALID */
export function merklePath(leaves: readonly Hex[], index: number): Hex[] {
  const all = levels(leaves);
  if (!Number.isInteger(index) || index < 0 || index >= leaves.length) {
    throw new AssayError('BATCH_INVALID', `batch: expected an index from 0 to ${leaves.length - 1}, found ${index}`);
  }
  return pathIn(all, index);
}

/** The paths of all leaves, hashing the tree once. @throws AssayError BATCH_INVALID */
export function merklePaths(leaves: readonly Hex[]): Hex[][] {
  const all = levels(leaves);
  return leaves.map((_leaf, index) => pathIn(all, index));
}

function pathIn(all: readonly (readonly Uint8Array[])[], index: number): Hex[] {
  const path: Hex[] = [];
  let i = index;
  for (const level of all.slice(0, -1)) {
    const sibling = level[i ^ 1];
    if (sibling !== undefined) path.push(toHex(sibling));
    i >>= 1;
  }
  return path;
}

/** True where `leaf` stands at `index` under `root` of a batch of `count`. Never throws: a malformed path is false. */
export function verifyPath(leaf: Hex, index: number, count: number, path: readonly Hex[], root: Hex): boolean {
  if (!Number.isInteger(count) || count < 1 || count > MAX_BATCH) return false;
  if (!Number.isInteger(index) || index < 0 || index >= count) return false;
  if (![leaf, root, ...path].every((hash) => /^0x[0-9a-f]{64}$/.test(hash))) return false;
  let node = getBytes(leaf);
  let used = 0;
  for (let i = index, width = count; width > 1; i >>= 1, width = (width + 1) >> 1) {
    if ((i ^ 1) >= width) continue;
    const sibling = path[used++];
    if (sibling === undefined) return false;
    node = i % 2 === 0 ? nodeHash(node, getBytes(sibling)) : nodeHash(getBytes(sibling), node);
  }
  return used === path.length && toHex(node) === root;
}
