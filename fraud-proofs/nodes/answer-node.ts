/**
 * Nodes of a claim as far as it is known: the path that shows one, for whoever demands it, and the content that answers it.
 * An executor knows his claims altogether (full-trace.ts); anybody else may answer what he has been served.
 */
import { Preimage, toHex } from '../../graph/commitment/encoding.js';
import { CHUNK_ELEMENTS } from '../../graph/commitment/tensor-root.js';
import type { Hex } from '../../receipts/types.js';
import { HEIGHTS_AT_ONCE, ROOT_HEIGHT, type GameNode, type NodePath } from '../../verifier-contracts/dispute-types.js';
import { claimedSlot, type ClaimedSlot } from '../step/claimed-slot.js';
import type { StepModel } from '../step/step-model.js';
import { MAX_CONTRACTION, ownSums } from '../step/sums.js';
import { packRoots, packSums } from './ids.js';
import type { KnownClaim } from './known-claim.js';
import { ZERO_HASH, type KnownTensor } from './known-tensor.js';
import { childHeight, childrenOf, depthOf } from './places.js';
import type { SparseTree } from './sparse-tree.js';

const NO_NODE: GameNode = { kind: 'trace', slot: 0, height: 0, first: 0, count: 0 };

const NO_PATH: NodePath = {
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

const hexes = (hashes: readonly Uint8Array[]): Hex[] => hashes.map((hash) => toHex(hash) as Hex);

/** There is a node of this height and index in a tree of so many leaves. */
const exists = (node: GameNode, leaves: number): boolean =>
  node.height === ROOT_HEIGHT ||
  (node.height < HEIGHTS_AT_ONCE * depthOf(leaves) && node.first < Math.ceil(leaves / 2 ** node.height));

/** One inner node of a tree: its value and siblings; null where they are not known or there is no such node. */
function innerNode(tree: SparseTree, node: GameNode): { value: Hex; siblings: Hex[] } | null {
  if (!exists(node, tree.count)) return null;
  const { height, first } = node;
  const value = tree.get(height, first);
  const siblings = tree.opening(height, first, first);
  return value === null || siblings === null ? null : { value: toHex(value) as Hex, siblings: hexes(siblings) };
}

/** Shows where a slot's tensor root stands. */
function slotPath(claim: KnownClaim, { root, position, segment }: ClaimedSlot): NodePath | null {
  if (segment !== null) return { ...NO_PATH, segment: segment.node, segmentRoots: segment.roots, tensorRoot: root };
  const { trace } = claim;
  const tracePath = trace?.tree.opening(0, position, position) ?? null;
  if (trace === null || tracePath === null) return null;
  return { ...NO_PATH, slotCount: trace.slotCount, position, tensorRoot: root, tracePath: hexes(tracePath) };
}

/**
 * The path of a node; null where it does not follow from what is known, or there is no such node. Sums are shown with the
 * one chunk that holds the element.
 */
export function nodePath(model: StepModel, claim: KnownClaim, node: GameNode): NodePath | null {
  const { trace } = claim;
  switch (node.kind) {
    case 'inputs':
    case 'outputs':
      return NO_PATH;
    case 'trace': {
      if (node.height === ROOT_HEIGHT) return NO_PATH;
      const inner = trace === null ? null : innerNode(trace.tree, node);
      if (trace === null || inner === null) return null;
      return { ...NO_PATH, slotCount: trace.slotCount, tracePath: inner.siblings, values: [inner.value] };
    }
    case 'segment': {
      const leaf = trace?.leaves[node.slot];
      if (leaf === undefined) return null;
      return slotPath(claim, { slot: leaf.slot, root: leaf.root, position: node.slot, segment: null, tensor: null });
    }
    default: {
      const claimed = claimedSlot(model, claim, node.slot);
      const path = claimed && slotPath(claim, claimed);
      if (path === null || (node.kind === 'tensor' && node.height === ROOT_HEIGHT)) return path;
      const tensor = claimed!.tensor;
      if (tensor === null) return null;
      const below = node.kind === 'tensor' ? innerNode(tensor.hashes(), node) : chunkNode(tensor, node);
      if (below === null) return null;
      const values = 'value' in below ? [below.value] : below.values;
      return { ...path, tensorHeader: toHex(tensor.headerBytes) as Hex, values, chunkPath: below.siblings };
    }
  }
}

/** Hashes and siblings of the chunks of a Chunks node, or of the chunk under a Sums node. */
function chunkNode(tensor: KnownTensor, node: GameNode): { values: Hex[]; siblings: Hex[] } | null {
  const first = node.kind === 'sums' ? Math.floor(node.first / CHUNK_ELEMENTS) : node.first;
  const last = node.kind === 'sums' ? first : first + node.count - 1;
  if (last >= tensor.header.chunkCount) return null;
  const tree = tensor.hashes();
  const values = Array.from({ length: last - first + 1 }, (_, i) => tree.get(0, first + i));
  const siblings = tree.opening(0, first, last);
  return values.includes(null) || siblings === null
    ? null
    : { values: hexes(values as Uint8Array[]), siblings: hexes(siblings) };
}

/** Values of the children of a tree's node; null where one is not known. */
function childValues(tree: SparseTree, node: GameNode): Hex | null {
  if (!exists(node, tree.count)) return null;
  const height = childHeight(node, tree.count);
  const { first, count } = childrenOf(node, tree.count);
  const values = Array.from({ length: count }, (_, i) => tree.get(height, first + i));
  return values.includes(null) ? null : packRoots(hexes(values as Uint8Array[]));
}

const concat = (first: Hex, second: Hex): Hex => `${first}${second.slice(2)}` as Hex;

const word = (value: number): Hex => toHex(new Preimage().u32(value).done()) as Hex;

/**
 * Content that answers a node (IDisputeGame.answer); null where it does not follow from what is known. Segments and sums are
 * given as the claim's own executor gives them: from his tensors.
 */
export function nodeContent(
  model: StepModel,
  claim: KnownClaim,
  node: GameNode,
  maxContraction = MAX_CONTRACTION,
): Hex | null {
  switch (node.kind) {
    case 'inputs':
    case 'outputs': {
      const roots = node.kind === 'inputs' ? claim.inputs : claim.outputs;
      return roots && concat(word(roots.length), packRoots(roots));
    }
    case 'trace': {
      const { trace } = claim;
      if (trace === null || !exists(node, trace.slotCount)) return null;
      const height = childHeight(node, trace.slotCount);
      const children = height > 0 ? childValues(trace.tree, node) : traceLeaves(claim, node);
      return children && concat(word(trace.slotCount), children);
    }
    case 'segment': {
      const segment = claim.segments.get(node.slot);
      if (segment === undefined || segment.node.first !== node.first || segment.node.count !== node.count) return null;
      return packRoots(segment.roots);
    }
    case 'sums': {
      const sums = ownSums(model, claim, node.slot, node.first, maxContraction);
      return sums !== null && sums.length === node.count ? packSums(sums) : null;
    }
    case 'tensor': {
      const tensor = claimedSlot(model, claim, node.slot)?.tensor ?? null;
      const children = tensor && childValues(tensor.hashes(), node);
      if (tensor === null || children === null) return null;
      return node.height === ROOT_HEIGHT ? concat(toHex(tensor.headerBytes) as Hex, children) : children;
    }
    case 'chunks': {
      const tensor = claimedSlot(model, claim, node.slot)?.tensor ?? null;
      if (tensor === null) return null;
      if (node.first + node.count > tensor.header.chunkCount) return null;
      const chunks = Array.from({ length: node.count }, (_, i) => tensor.chunk(node.first + i));
      return chunks.includes(null) ? null : packRoots(hexes(chunks as Uint8Array[]));
    }
  }
}

/** Leaves that a node of the trace reveals: tensor roots, with the slot's number before each where the trace leaves slots out. */
function traceLeaves({ trace, receipt }: KnownClaim, node: GameNode): Hex | null {
  const numbered = trace!.slotCount < receipt.opCount;
  const { first, count } = childrenOf(node, trace!.slotCount);
  const leaves = Array.from({ length: count }, (_, i) => trace!.leaves[first + i]);
  if (leaves.includes(undefined)) return null;
  return packRoots(leaves.map((leaf) => (numbered ? concat(word(leaf!.slot), leaf!.root) : leaf!.root)));
}
