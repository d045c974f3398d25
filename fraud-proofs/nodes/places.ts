/**
 * Where a node stands, and what reveals it; verifier-contracts/src/dispute/NodeTree.sol states the same for the chain.
 *
 * Symbols: n leaves of a tree, d(n) = max(1, ceil(log512 n)) answers from its root to its leaves. Below the root the answers
 * reveal heights 9 (d - 1), 9 (d - 2), .. 0; a node of height 9 m stands d - m below the root. Level of a node = answers
 * above it: roots of the receipt 0; Trace of height 9 m: d(slots) - m; Segment d(slots); Tensor T = d(slots), one more where
 * its slot is in a segment or the trace leaves slots out; Tensor of height 9 m: T + d(chunks) - m; Chunks T + d(chunks); Sums
 * one more.
 */
import { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import { HEIGHTS_AT_ONCE, ROOT_HEIGHT, type GameNode, type NodePath } from '../../verifier-contracts/dispute-types.js';
import { readHeader } from './read-header.js';

/** Children that an answer reveals at most. */
export const FANOUT = 2 ** HEIGHTS_AT_ONCE;

export interface NodePlace {
  readonly level: number;
  /** The node whose answer reveals it; null for a root of the receipt. */
  readonly parent: GameNode | null;
}

/** d(n). */
export function depthOf(leaves: number): number {
  let depth = 1;
  for (let n = leaves; n > FANOUT; n = Math.ceil(n / FANOUT)) depth++;
  return depth;
}

/** Height of what the answer of a node of a tree reveals. */
export const childHeight = (node: GameNode, leaves: number): number =>
  (node.height === ROOT_HEIGHT ? HEIGHTS_AT_ONCE * depthOf(leaves) : node.height) - HEIGHTS_AT_ONCE;

/** First child of a node and how many it has, at `childHeight`. */
export function childrenOf(node: GameNode, leaves: number): { readonly first: number; readonly count: number } {
  const width = Math.ceil(leaves / 2 ** childHeight(node, leaves));
  if (node.height === ROOT_HEIGHT) return { first: 0, count: width };
  const first = node.first * FANOUT;
  return { first, count: Math.min(FANOUT, width - first) };
}

const BLANK: GameNode = { kind: 'trace', slot: 0, height: 0, first: 0, count: 0 };

export const TRACE_ROOT: GameNode = { ...BLANK, height: ROOT_HEIGHT };
export const INPUTS: GameNode = { ...BLANK, kind: 'inputs' };
export const OUTPUTS: GameNode = { ...BLANK, kind: 'outputs' };

/** The root of a slot's tensor. */
export const tensorNode = (slot: number): GameNode => ({ ...BLANK, kind: 'tensor', slot, height: ROOT_HEIGHT });

export const chunksNode = (slot: number, first: number, count = 1): GameNode => ({
  ...BLANK,
  kind: 'chunks',
  slot,
  first,
  count,
});

/** The node of a tree that reveals its node (height, index). */
export function revealing(
  kind: 'trace' | 'tensor',
  slot: number,
  height: number,
  index: number,
  leaves: number,
): GameNode {
  const above = height + HEIGHTS_AT_ONCE;
  if (above >= HEIGHTS_AT_ONCE * depthOf(leaves)) return { ...BLANK, kind, slot, height: ROOT_HEIGHT };
  return { ...BLANK, kind, slot, height: above, first: Math.floor(index / FANOUT) };
}

/**
 * @param path shows the node (NodePath); trusted to do so.
 * @param opCount of the receipt.
 * @param segmentLevel level at which the segment in the path was asked for, where there is one.
 * @throws AssayError INTERNAL where the path shows no such node.
 */
export function placeOf(node: GameNode, path: NodePath, opCount: number, segmentLevel = 0): NodePlace {
  const { slotCount, position } = path;
  switch (node.kind) {
    case 'inputs':
    case 'outputs':
      return { level: 0, parent: null };
    case 'trace': {
      if (node.height === ROOT_HEIGHT) return { level: 0, parent: null };
      const level = depthOf(slotCount) - node.height / HEIGHTS_AT_ONCE;
      return { level, parent: revealing('trace', 0, node.height, node.first, slotCount) };
    }
    case 'segment':
      return { level: depthOf(slotCount), parent: revealing('trace', 0, 0, position, slotCount) };
    default: {
      const inSegment = path.segmentRoots.length > 0;
      const above = inSegment ? segmentLevel + 1 : depthOf(slotCount) + (slotCount < opCount ? 1 : 0);
      if (node.kind === 'tensor' && node.height === ROOT_HEIGHT)
        return { level: above, parent: inSegment ? path.segment : revealing('trace', 0, 0, position, slotCount) };
      const chunks = chunksUnder(path.tensorHeader);
      const level = above + depthOf(chunks);
      if (node.kind === 'tensor')
        return {
          level: level - node.height / HEIGHTS_AT_ONCE,
          parent: revealing('tensor', node.slot, node.height, node.first, chunks),
        };
      if (node.kind === 'chunks') return { level, parent: revealing('tensor', node.slot, 0, node.first, chunks) };
      const chunk = Math.floor(node.first / 64);
      const count = path.values.length;
      return { level: level + 1, parent: chunksNode(node.slot, count === 1 ? chunk : chunk - (chunk % 64), count) };
    }
  }
}

function chunksUnder(header: Hex): number {
  const found = readHeader(header);
  if (found === null) throw new AssayError('INTERNAL', `the path of a node holds ${header}, which is no header`);
  return found.chunkCount;
}
