/**
 * A tree of graph/commitment/merkle.ts of which only some nodes are known. Node (h, i): h = 0 the leaves; it covers the
 * leaves i 2^h .. (i + 1) 2^h - 1, as far as they exist, and a node without partner is that below it (merkle.ts step 2).
 */
import { Preimage } from '../../graph/commitment/encoding.js';
import { merkleValue } from '../../graph/commitment/merkle.js';

export class SparseTree {
  private readonly levels: (Uint8Array | undefined)[][] = [];

  /** @param tag of nodes. @param count of leaves. */
  constructor(
    readonly tag: number,
    readonly count: number,
  ) {
    for (let height = 0; height <= this.top; height++) this.levels.push([]);
  }

  static of(tag: number, leaves: readonly Uint8Array[]): SparseTree {
    const tree = new SparseTree(tag, leaves.length);
    leaves.forEach((leaf, i) => tree.set(0, i, leaf));
    return tree;
  }

  /** Height of the only node that has no parent. */
  get top(): number {
    return this.count <= 1 ? 0 : Math.ceil(Math.log2(this.count));
  }

  /** Nodes of a height. */
  width(height: number): number {
    return Math.ceil(this.count / 2 ** height);
  }

  set(height: number, index: number, hash: Uint8Array): void {
    // Above the top there is the same node again: heights of subtrees are multiples of nine, the top is any.
    this.levels[Math.min(height, this.top)]![index] = hash;
  }

  /** The node, from itself or from what lies under it; null where neither is known. */
  get(height: number, index: number): Uint8Array | null {
    const at = Math.min(height, this.top);
    const known = this.levels[at]![index];
    if (known !== undefined) return known;
    if (at === 0 || index >= this.width(at)) return null;
    const left = this.get(at - 1, 2 * index);
    if (left === null) return null;
    const alone = 2 * index + 1 >= this.width(at - 1);
    const right = alone ? null : this.get(at - 1, 2 * index + 1);
    if (!alone && right === null) return null;
    // As merkle.ts step 2, by the fast hash where there is one.
    const hash = right === null ? left : new Preimage().u8(this.tag).raw(left).raw(right).hash();
    this.set(at, index, hash);
    return hash;
  }

  /** The tree's value; null where it does not follow from what is known. */
  value(): Uint8Array | null {
    return this.count === 0 ? merkleValue(this.tag, []) : this.get(this.top, 0);
  }

  /**
   * Siblings of the nodes first..last of a height, as merkle.ts step 4 orders them; null where one is not known. Nodes of a
   * height are the leaves of the tree above them.
   */
  opening(height: number, first: number, last: number): Uint8Array[] | null {
    const siblings: (Uint8Array | null)[] = [];
    let [a, b] = [first, last];
    for (let h = height; h < this.top; h++) {
      if (a % 2 === 1) siblings.push(this.get(h, a - 1));
      if (b % 2 === 0 && b + 1 < this.width(h)) siblings.push(this.get(h, b + 1));
      a = Math.floor(a / 2);
      b = Math.floor(b / 2);
    }
    return siblings.includes(null) ? null : (siblings as Uint8Array[]);
  }
}

/** merkleValue of merkle.ts, by the fast hash where there is one. */
export const treeValueOf = (tag: number, leaves: readonly Uint8Array[]): Uint8Array =>
  SparseTree.of(tag, leaves).value()!;
