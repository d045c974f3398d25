import { concat, id, keccak256 } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchRoot, leafHash, MAX_BATCH, merklePath, merklePaths, verifyPath } from './merkle.js';
import type { Hex } from './types.js';
import { merkleCases } from './vectors/read-vectors.js';

const structHashes = (count: number): Hex[] =>
  Array.from({ length: count }, (_, i) => id(`receipt ${i} of ${count}`) as Hex);
const leavesOf = (count: number): Hex[] => structHashes(count).map((hash, i) => leafHash(i, 'sampled', hash));

/** RFC 6962 section 2.1, written as it stands there. */
function referenceRoot(leaves: readonly Hex[]): Hex {
  if (leaves.length === 1) return leaves[0]!;
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return keccak256(concat(['0x01', referenceRoot(leaves.slice(0, k)), referenceRoot(leaves.slice(k))])) as Hex;
}

describe('vectors', () => {
  it.each(merkleCases.map((c) => [c.count, c] as const))('%i leaves', (count, c) => {
    const leaves = structHashes(count).map((hash, i) => leafHash(i, c.lane, hash));
    expect(batchRoot(leaves)).toBe(c.root);
    for (const { index, leaf, path } of c.paths) {
      expect(leaves[index]).toBe(leaf);
      expect(merklePath(leaves, index)).toEqual(path);
      expect(verifyPath(leaf, index, count, path, c.root)).toBe(true);
    }
  });
});

describe('tree', () => {
  it('equals RFC 6962 for every size, and every path verifies', () => {
    for (let count = 1; count <= 40; count++) {
      const leaves = leavesOf(count);
      const root = batchRoot(leaves);
      expect(root).toBe(referenceRoot(leaves));
      const paths = merklePaths(leaves);
      leaves.forEach((leaf, index) => expect(verifyPath(leaf, index, count, paths[index]!, root)).toBe(true));
      expect(merklePath(leaves, count >> 1)).toEqual(paths[count >> 1]);
    }
    for (const count of [127, 128, 129, 255, MAX_BATCH]) {
      expect(batchRoot(leavesOf(count))).toBe(referenceRoot(leavesOf(count)));
    }
  });

  it('one leaf is its own root, with an empty path', () => {
    const [leaf] = leavesOf(1);
    expect(batchRoot([leaf!])).toBe(leaf);
    expect(merklePath([leaf!], 0)).toEqual([]);
  });

  it('no leaf, too many, a foreign index: refused', () => {
    expect(() => batchRoot([])).toThrow(expect.objectContaining({ code: 'BATCH_INVALID' }));
    const many = Array.from({ length: MAX_BATCH + 1 }, () => leavesOf(1)[0]!);
    expect(() => batchRoot(many)).toThrow(expect.objectContaining({ code: 'BATCH_INVALID' }));
    for (const index of [-1, 3, 0.5, Number.NaN]) {
      expect(() => merklePath(leavesOf(3), index)).toThrow(expect.objectContaining({ code: 'BATCH_INVALID' }));
    }
  });

  it('a doubled last leaf gives another root (CVE-2012-2459)', () => {
    const three = leavesOf(3);
    expect(batchRoot([...three, three[2]!])).not.toBe(batchRoot(three));
  });

  it('an inner node does not pass as a leaf', () => {
    const leaves = leavesOf(4);
    const [, sibling] = merklePath(leaves, 0);
    const inner = batchRoot(leaves.slice(0, 2));
    expect(verifyPath(inner, 0, 2, [sibling!], batchRoot(leaves))).toBe(true);
    // The equation holds, as it must; what keeps the node from being a receipt is that no leaf hashes to it: a
    // leaf's preimage begins with 0x00 and has 42 bytes.
    expect(leavesOf(2)).not.toContain(inner);
    expect(verifyPath(inner, 0, 4, [sibling!], batchRoot(leaves))).toBe(false);
  });

  it('leaf holds index and lane', () => {
    const [hash] = structHashes(1);
    const leaves = [leafHash(0, 'sampled', hash!), leafHash(1, 'sampled', hash!), leafHash(0, 'zk', hash!)];
    expect(new Set(leaves).size).toBe(3);
  });

  it('refuses every single change to leaf, index, count, path and root (random)', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 64 }), fc.nat(), fc.nat(), (count, a, b) => {
        const leaves = leavesOf(count);
        const index = a % count;
        const path = merklePath(leaves, index);
        const root = batchRoot(leaves);
        const leaf = leaves[index]!;
        const flip = (hash: Hex): Hex => {
          const at = 2 + (b % 64);
          return `${hash.slice(0, at)}${hash[at] === '0' ? '1' : '0'}${hash.slice(at + 1)}` as Hex;
        };
        const slot = b % path.length;
        expect(verifyPath(flip(leaf), index, count, path, root)).toBe(false);
        expect(verifyPath(leaf, index, count, path, flip(root))).toBe(false);
        expect(
          verifyPath(
            leaf,
            index,
            count,
            path.map((hash, i) => (i === slot ? flip(hash) : hash)),
            root,
          ),
        ).toBe(false);
        expect(verifyPath(leaf, index, count, path.slice(0, -1), root)).toBe(false);
        expect(verifyPath(leaf, index, count, [...path, root], root)).toBe(false);
        expect(verifyPath(leaf, (index + 1 + (b % (count - 1))) % count, count, path, root)).toBe(false);
        expect(verifyPath(leaf, index, index, path, root)).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  it('malformed arguments are false, not a crash', () => {
    const leaves = leavesOf(2);
    const path = merklePath(leaves, 0);
    const root = batchRoot(leaves);
    expect(verifyPath(leaves[0]!, 0, 2, path, root)).toBe(true);
    expect(verifyPath('0x' as Hex, 0, 2, path, root)).toBe(false);
    expect(verifyPath(leaves[0]!, 0, 2, ['0xzz' as Hex], root)).toBe(false);
    expect(verifyPath(leaves[0]!, Number.NaN, 2, path, root)).toBe(false);
    expect(verifyPath(leaves[0]!, 0, 257, path, root)).toBe(false);
    expect(verifyPath(leaves[0]!, 0, 1.5, path, root)).toBe(false);
  });
});
