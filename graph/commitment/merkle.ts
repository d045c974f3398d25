/**
 * The Merkle tree of every commitment: keccak256, tagged, over any number of leaves, with range proofs.
 *
 * Symbols. leaf hashes h_0 .. h_{n-1} (32 bytes each, already tagged by their maker), t the tree's node tag (1 byte).
 *   1. n = 0: the tree's value is 32 zero bytes. n = 1: it is h_0.
 *   2. Level 0 is the leaves. Level i+1 holds, for each pair (2j, 2j+1) of level i, keccak256(t | left | right), a
 *      preimage of 65 bytes. A last node without partner rises to level i+1 unchanged; nothing is duplicated.
 *      (This is the tree of RFC 6962 section 2.1: the left subtree is the largest power of two below n.)
 *   3. The value is the only node of the last level. n is not in it: whoever uses the tree puts n into its own root.
 *   4. Opening of leaves a..b (a <= b < n): per level, from the leaves up, the left sibling if a is odd, then the right
 *      sibling if b is even and b+1 is on the level; then a and b are halved (rounding down) and n halved (rounding
 *      up), until n is 1. At most two hashes a level. A verifier that knows n, a and b knows the exact number of hashes.
 * Tags of leaves, nodes and roots are pairwise different, so that no preimage can be read in two roles.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';

export const HASH_BYTES = 32;

function hashPair(tag: number, left: Uint8Array, right: Uint8Array): Uint8Array {
  const preimage = new Uint8Array(1 + 2 * HASH_BYTES);
  preimage[0] = tag;
  preimage.set(left, 1);
  preimage.set(right, 1 + HASH_BYTES);
  return keccak_256(preimage);
}

/** Step 2: the next level up. */
function parents(tag: number, level: readonly Uint8Array[]): Uint8Array[] {
  const next: Uint8Array[] = [];
  for (let i = 0; i + 1 < level.length; i += 2) next.push(hashPair(tag, level[i]!, level[i + 1]!));
  if (level.length % 2 === 1) next.push(level.at(-1)!);
  return next;
}

export function merkleValue(tag: number, leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return new Uint8Array(HASH_BYTES);
  let level = leaves;
  while (level.length > 1) level = parents(tag, level);
  return level[0]!;
}

/** Step 4: the siblings for leaves first..last. */
export function merkleOpening(tag: number, leaves: readonly Uint8Array[], first: number, last: number): Uint8Array[] {
  const siblings: Uint8Array[] = [];
  let [a, b] = [first, last];
  for (let level = leaves; level.length > 1; level = parents(tag, level)) {
    if (a % 2 === 1) siblings.push(level[a - 1]!);
    if (b % 2 === 0 && b + 1 < level.length) siblings.push(level[b + 1]!);
    a >>>= 1;
    b >>>= 1;
  }
  return siblings;
}

/**
 * The tree's value from consecutive leaves and an opening.
 * @returns null where the range is empty or outside 0..count-1, or the number of siblings is not the exact one.
 */
export function valueFromOpening(
  tag: number,
  opened: readonly Uint8Array[],
  first: number,
  count: number,
  siblings: readonly Uint8Array[],
): Uint8Array | null {
  if (opened.length === 0 || first < 0 || first + opened.length > count) return null;
  let level = [...opened];
  let a = first;
  let used = 0;
  for (let size = count; size > 1; size = Math.ceil(size / 2)) {
    const b = a + level.length - 1;
    const left = a % 2 === 1 ? siblings[used++] : null;
    const right = b % 2 === 0 && b + 1 < size ? siblings[used++] : null;
    if (left === undefined || right === undefined) return null;
    level = parents(tag, [...(left ? [left] : []), ...level, ...(right ? [right] : [])]);
    a >>>= 1;
  }
  return used === siblings.length ? level[0]! : null;
}
