/**
 * Traces for the tests of the game, and what demands and answers about them hold: a second source, written from the
 * definitions of graph/commitment/ without its code.
 */
import { concat, keccak256 } from 'ethers';
import type { Hex } from '../../../receipts/types.js';
import { ROOT_HEIGHT, type GameNode, type NodePath } from '../../dispute-types.js';

const FANOUT = 512;
const HEIGHTS = 9;
const CHUNK_ELEMENTS = 64;
const ZERO_HASH: Hex = `0x${'00'.repeat(32)}`;

const TAG = { chunk: 0x10, tensorNode: 0x11, tensorRoot: 0x12, slot: 0x20, traceNode: 0x21, traceRoot: 0x22 };
const PORT = { leaf: 0x30, node: 0x31, root: 0x32 };

/** Big-endian, two's complement. */
const uint = (value: number, bytes: number): Hex =>
  `0x${BigInt.asUintN(8 * bytes, BigInt(value))
    .toString(16)
    .padStart(2 * bytes, '0')}`;
const u8 = (value: number): Hex => uint(value, 1);
const u32 = (value: number): Hex => uint(value, 4);
const join = (parts: readonly Hex[]): Hex => concat(parts) as Hex;
const hash = (...parts: readonly Hex[]): Hex => keccak256(concat(parts)) as Hex;

/** The next level of a tree: a last node without partner rises. */
function parents(tag: number, level: readonly Hex[]): Hex[] {
  return Array.from({ length: Math.ceil(level.length / 2) }, (_, i) => {
    const [left, right] = [level[2 * i]!, level[2 * i + 1]];
    return right === undefined ? left : hash(u8(tag), left, right);
  });
}

function treeValue(tag: number, leaves: readonly Hex[]): Hex {
  if (leaves.length === 0) return ZERO_HASH;
  let level = leaves;
  while (level.length > 1) level = parents(tag, level);
  return level[0]!;
}

/** Siblings of nodes first..last, from below. */
function siblings(tag: number, leaves: readonly Hex[], first: number, last: number): Hex[] {
  const found: Hex[] = [];
  for (let level = leaves; level.length > 1; level = parents(tag, level)) {
    if (first % 2 === 1) found.push(level[first - 1]!);
    if (last % 2 === 0 && last + 1 < level.length) found.push(level[last + 1]!);
    first = Math.floor(first / 2);
    last = Math.floor(last / 2);
  }
  return found;
}

export const NO_NODE: GameNode = { kind: 'trace', slot: 0, height: 0, first: 0, count: 0 };
export const NO_PATH: NodePath = {
  slotCount: 0,
  position: 0,
  tracePath: [],
  segment: NO_NODE,
  segmentRoots: [],
  tensorRoot: ZERO_HASH,
  tensorHeader: '0x',
  values: [],
  chunkPath: [],
};

/** max(1, ceil(log512 n)), by multiplication. */
export function depthOf(n: number): number {
  let depth = 1;
  for (let reach = FANOUT; reach < n; reach *= FANOUT) depth++;
  return depth;
}

/** Nodes of a tree at a height. */
function atHeight(tag: number, leaves: readonly Hex[], height: number): Hex[] {
  const size = 2 ** height;
  return Array.from({ length: Math.ceil(leaves.length / size) }, (_, i) =>
    treeValue(tag, leaves.slice(i * size, (i + 1) * size)),
  );
}

/** What lies under a node of height `height`, 9 heights down. */
function children(tag: number, leaves: readonly Hex[], { height, first }: GameNode): Hex[] {
  const top = HEIGHTS * depthOf(leaves.length);
  const below = atHeight(tag, leaves, (height === ROOT_HEIGHT ? top : height) - HEIGHTS);
  return height === ROOT_HEIGHT ? below : below.slice(first * FANOUT, (first + 1) * FANOUT);
}

/** A tensor [elements] of signed integers of `width` bytes, of one item. */
export class TestTensor {
  readonly chunks: readonly Hex[];
  readonly leaves: readonly Hex[];
  readonly header: Hex;
  readonly root: Hex;

  constructor(data: readonly number[], width: 1 | 2 | 4) {
    const count = Math.ceil(data.length / CHUNK_ELEMENTS);
    const runs = Array.from({ length: count }, (_, i) => data.slice(CHUNK_ELEMENTS * i, CHUNK_ELEMENTS * (i + 1)));
    this.chunks = runs.map((run) => join(run.map((value) => uint(value, width))));
    this.leaves = this.chunks.map((chunk, i) => hash(u8(TAG.chunk), u32(i), u8(runs[i]!.length), chunk));
    const bound = 2 ** (8 * width - 1);
    this.header = join([u32(-bound), u32(bound - 1), u8(1), u32(data.length), u8(0), u32(1), u32(count)]);
    this.root = hash(u8(TAG.tensorRoot), this.header, treeValue(TAG.tensorNode, this.leaves));
  }
}

/** Elements that count from -128 to 127 and over. */
export function countingTensor(elements: number, width: 1 | 2 | 4 = 1): TestTensor {
  return new TestTensor(
    Array.from({ length: elements }, (_, i) => (i % 256) - 128),
    width,
  );
}

export class TestTrace {
  readonly #leaves: readonly Hex[];
  readonly slotCount: number;
  readonly traceRoot: Hex;

  /**
   * @param roots of all slots
   * @param committed numbers of the slots that the trace holds, ascending
   * @param tensors of some slots
   */
  constructor(
    readonly roots: readonly Hex[],
    readonly committed: readonly number[] = roots.map((_, i) => i),
    readonly tensors: ReadonlyMap<number, TestTensor> = new Map(),
  ) {
    this.slotCount = committed.length;
    this.#leaves = committed.map((slot) => hash(u8(TAG.slot), u32(slot), roots[slot]!));
    this.traceRoot = hash(u8(TAG.traceRoot), u32(this.slotCount), treeValue(TAG.traceNode, this.#leaves));
  }

  /** Segment k: the slots between committed ones k and k + 1. */
  segment(k: number): GameNode {
    const before = this.committed[k]!;
    return { kind: 'segment', slot: k, height: 0, first: before + 1, count: this.committed[k + 1]! - before - 1 };
  }

  segmentRoots(k: number): Hex[] {
    const { first, count } = this.segment(k);
    return this.roots.slice(first, first + count);
  }

  /** @param group of a sums node: show the 64 chunks around its element, not one */
  path(node: GameNode, group = false): NodePath {
    if (node.kind === 'inputs' || node.kind === 'outputs') return NO_PATH;
    if (node.kind === 'trace') {
      if (node.height === ROOT_HEIGHT) return NO_PATH;
      const nodes = atHeight(TAG.traceNode, this.#leaves, node.height);
      return {
        ...NO_PATH,
        slotCount: this.slotCount,
        values: [nodes[node.first]!],
        tracePath: siblings(TAG.traceNode, nodes, node.first, node.first),
      };
    }
    if (node.kind === 'segment') return this.#committedPath(node.slot);
    const position = this.committed.indexOf(node.slot);
    const slot = position >= 0 ? this.#committedPath(position) : this.#listPath(node.slot);
    if (node.kind === 'tensor' && node.height === ROOT_HEIGHT) return slot;
    const tensor = this.tensors.get(node.slot)!;
    const shown = { ...slot, tensorHeader: tensor.header };
    if (node.kind === 'tensor') {
      const nodes = atHeight(TAG.tensorNode, tensor.leaves, node.height);
      return {
        ...shown,
        values: [nodes[node.first]!],
        chunkPath: siblings(TAG.tensorNode, nodes, node.first, node.first),
      };
    }
    let { first, count } = node;
    if (node.kind === 'sums') {
      first = Math.floor(node.first / 64);
      count = 1;
      if (group) {
        first -= first % 64;
        count = Math.min(64, tensor.leaves.length - first);
      }
    }
    return {
      ...shown,
      values: tensor.leaves.slice(first, first + count),
      chunkPath: siblings(TAG.tensorNode, tensor.leaves, first, first + count - 1),
    };
  }

  /** What an answer to this node must be; of sums nothing is known here. */
  content(node: GameNode): Hex {
    switch (node.kind) {
      case 'trace': {
        const top = HEIGHTS * depthOf(this.slotCount);
        const isLeaves = (node.height === ROOT_HEIGHT ? top : node.height) === HEIGHTS;
        const first = node.height === ROOT_HEIGHT ? 0 : node.first * FANOUT;
        const entries = isLeaves
          ? this.committed
              .slice(first, first + FANOUT)
              .map((slot) => join([...(this.#leavesOut ? [u32(slot)] : []), this.roots[slot]!]))
          : children(TAG.traceNode, this.#leaves, node);
        return join([u32(this.slotCount), ...entries]);
      }
      case 'tensor': {
        const { header, leaves } = this.tensors.get(node.slot)!;
        return join([...(node.height === ROOT_HEIGHT ? [header] : []), ...children(TAG.tensorNode, leaves, node)]);
      }
      case 'chunks':
        return join(this.tensors.get(node.slot)!.chunks.slice(node.first, node.first + node.count));
      case 'segment':
        return join(this.segmentRoots(node.slot));
      default:
        throw new Error(`no content for ${node.kind}`);
    }
  }

  get #leavesOut(): boolean {
    return this.slotCount < this.roots.length;
  }

  #committedPath(position: number): NodePath {
    return {
      ...NO_PATH,
      slotCount: this.slotCount,
      position,
      tensorRoot: this.roots[this.committed[position]!]!,
      tracePath: siblings(TAG.traceNode, this.#leaves, position, position),
    };
  }

  #listPath(slot: number): NodePath {
    const k = this.committed.findIndex((_, i) => slot > this.committed[i]! && slot < (this.committed[i + 1] ?? 0));
    return { ...NO_PATH, segment: this.segment(k), segmentRoots: this.segmentRoots(k), tensorRoot: this.roots[slot]! };
  }
}

/** Root over inputs (role 0) or outputs (role 1) with these tensor roots, and the content of the answer about them. */
export function ports(role: 0 | 1, roots: readonly Hex[]): { readonly root: Hex; readonly content: Hex } {
  const leaves = roots.map((root, i) => hash(u8(PORT.leaf), u8(role), u32(i), root));
  return {
    root: hash(u8(PORT.root), u8(role), u32(roots.length), treeValue(PORT.node, leaves)),
    content: join([u32(roots.length), ...roots]),
  };
}

export const traceRootNode: GameNode = { ...NO_NODE, kind: 'trace', height: ROOT_HEIGHT };
export const inputsNode: GameNode = { ...NO_NODE, kind: 'inputs' };
export const outputsNode: GameNode = { ...NO_NODE, kind: 'outputs' };
export const tensorNode = (slot: number): GameNode => ({ ...NO_NODE, kind: 'tensor', slot, height: ROOT_HEIGHT });
export const chunksNode = (slot: number, first: number, count = 1): GameNode => ({
  ...NO_NODE,
  kind: 'chunks',
  slot,
  first,
  count,
});
export const sumsNode = (slot: number, element: number, parts: number): GameNode => ({
  ...NO_NODE,
  kind: 'sums',
  slot,
  first: element,
  count: parts,
});
