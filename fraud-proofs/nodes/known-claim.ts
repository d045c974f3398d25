/**
 * What is known of a claim: the receipt, and whatever of the trees under its roots was served or answered. Every piece was
 * checked against the hash above it before it was taken in, except for what only the executor can say: his segments and
 * sums, which count because he signed them.
 */
import { Preimage } from '../../graph/commitment/encoding.js';
import { TAG } from '../../graph/commitment/tags.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import type { GameNode, SegmentOpening } from '../../verifier-contracts/dispute-types.js';
import { rootBytes } from './ids.js';
import type { KnownTensor } from './known-tensor.js';
import { SparseTree } from './sparse-tree.js';

/** A leaf of the trace. */
export interface TraceLeaf {
  readonly slot: number;
  readonly root: Hex;
}

/** A tensor whose header is not that of the model. */
export interface ForeignTensor {
  readonly header: Hex;
  readonly treeValue: Hex;
}

/** Partial sums as stated. */
export interface StatedSums {
  readonly node: GameNode;
  readonly parts: readonly bigint[];
}

export const traceLeafHash = ({ slot, root }: TraceLeaf): Uint8Array =>
  new Preimage().u8(TAG.slot).u32(slot).raw(rootBytes(root)).hash();

export const portLeafHash = (role: 0 | 1, index: number, root: Hex): Uint8Array =>
  new Preimage().u8(TAG.port).u8(role).u32(index).raw(rootBytes(root)).hash();

/** The trace under traceRoot. */
export class KnownTrace {
  readonly tree: SparseTree;
  readonly leaves: (TraceLeaf | undefined)[] = [];

  constructor(readonly slotCount: number) {
    this.tree = new SparseTree(TAG.traceNode, slotCount);
  }

  learnLeaf(position: number, leaf: TraceLeaf): void {
    this.leaves[position] = leaf;
    this.tree.set(0, position, traceLeafHash(leaf));
  }
}

export class KnownClaim {
  trace: KnownTrace | null = null;
  inputs: readonly Hex[] | null = null;
  outputs: readonly Hex[] | null = null;
  /** Tensors by their root. */
  readonly tensors = new Map<Hex, KnownTensor>();
  readonly foreign = new Map<Hex, ForeignTensor>();
  /** By number. */
  readonly segments = new Map<number, SegmentOpening>();
  private readonly sums = new Map<string, StatedSums>();

  constructor(readonly receipt: Receipt) {}

  learnSums(sums: StatedSums): void {
    this.sums.set(`${sums.node.slot}:${sums.node.first}`, sums);
  }

  /** @param position of the element in committed order. */
  statedSums(slot: number, position: number): StatedSums | null {
    return this.sums.get(`${slot}:${position}`) ?? null;
  }
}
