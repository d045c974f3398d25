/**
 * Takes what was answered, or served, into what is known of a claim. Anybody may have written it: a content counts only where
 * it is the one that hashes to the node (IDisputeGame.answer states their encodings), a segment or sums only where they have
 * the form that was asked for; who signed them the chain has checked.
 */
import { hexToBytes } from '@noble/hashes/utils.js';
import { Preimage, toHex } from '../../graph/commitment/encoding.js';
import { TAG } from '../../graph/commitment/tags.js';
import {
  chunkLeaf,
  chunkLength,
  encodeHeader,
  rootFromTree,
  tensorHeader,
} from '../../graph/commitment/tensor-root.js';
import type { Hex } from '../../receipts/types.js';
import { ROOT_HEIGHT, type GameNode } from '../../verifier-contracts/dispute-types.js';
import { claimedSlot } from '../step/claimed-slot.js';
import type { StepModel } from '../step/step-model.js';
import { FullTrace, portsRoot, traceRootOf } from './full-trace.js';
import { KnownTrace, traceLeafHash, type KnownClaim, type TraceLeaf } from './known-claim.js';
import { KnownTensor } from './known-tensor.js';
import { childHeight, childrenOf, depthOf } from './places.js';
import { headerLength, readHeader } from './read-header.js';
import { treeValueOf, type SparseTree } from './sparse-tree.js';

export type Learned = { readonly learned: true } | { readonly learned: false; readonly reason: string };

/** The content is not the one of the node, or the node cannot be placed yet. */
class Refused extends Error {}

function require(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new Refused(reason);
}

/** Pieces of `size` bytes, exactly `count` of them. */
function pieces(bytes: Uint8Array, size: number, count: number): Uint8Array[] {
  require(bytes.length === size * count, `${bytes.length} bytes, expected ${count} times ${size}`);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}

const uint32 = (bytes: Uint8Array): number => {
  require(bytes.length >= 4, 'the content ends early');
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
};

const hex = (bytes: Uint8Array): Hex => toHex(bytes) as Hex;

/** Children of one node of a tree, which must give the node's value. */
function learnChildren(tree: SparseTree, node: GameNode, children: readonly Uint8Array[]): void {
  const height = childHeight(node, tree.count);
  require(node.height < 9 * depthOf(tree.count) && node.first < tree.width(node.height), 'there is no such node');
  const expected = tree.get(node.height, node.first);
  require(expected !== null, 'the node is not known yet');
  require(hex(treeValueOf(tree.tag, children)) === hex(expected), 'the content does not hash to the node');
  const { first } = childrenOf(node, tree.count);
  children.forEach((child, i) => tree.set(height, first + i, child));
}

function learnTrace(claim: KnownClaim, node: GameNode, bytes: Uint8Array): void {
  const slotCount = uint32(bytes);
  const root = node.height === ROOT_HEIGHT;
  require(root ? slotCount >= 0 : claim.trace?.slotCount === slotCount, 'the number of slots is another one');
  const trace = claim.trace?.slotCount === slotCount ? claim.trace : new KnownTrace(slotCount);
  const { first, count } = childrenOf(node, slotCount);
  const leaves: TraceLeaf[] = [];
  let children: Uint8Array[];
  if (childHeight(node, slotCount) > 0) children = pieces(bytes.subarray(4), 32, count);
  else {
    const numbered = slotCount < claim.receipt.opCount;
    for (const [i, piece] of pieces(bytes.subarray(4), numbered ? 36 : 32, count).entries())
      leaves.push({ slot: numbered ? uint32(piece) : first + i, root: hex(piece.subarray(-32)) });
    children = leaves.map(traceLeafHash);
  }
  if (root) {
    const value = treeValueOf(TAG.traceNode, children);
    const found = new Preimage().u8(TAG.traceRoot).u32(slotCount).raw(value).hash();
    require(hex(found) === claim.receipt.traceRoot, 'the content does not hash to traceRoot');
    children.forEach((child, i) => trace.tree.set(childHeight(node, slotCount), first + i, child));
  } else learnChildren(trace.tree, node, children);
  leaves.forEach((leaf, i) => trace.learnLeaf(first + i, leaf));
  claim.trace = trace;
}

function learnPorts(claim: KnownClaim, role: 0 | 1, bytes: Uint8Array): void {
  const roots = pieces(bytes.subarray(4), 32, uint32(bytes)).map(hex);
  const expected = role === 0 ? claim.receipt.inputRoot : claim.receipt.outputRoot;
  require(portsRoot(role, roots) === expected, 'the content does not hash to the root of the ports');
  if (role === 0) claim.inputs = roots;
  else claim.outputs = roots;
}

function learnTensor(model: StepModel, claim: KnownClaim, node: GameNode, bytes: Uint8Array): void {
  const claimed = claimedSlot(model, claim, node.slot);
  require(claimed !== null, 'the slot is not known yet');
  if (node.height !== ROOT_HEIGHT) {
    require(claimed.tensor !== null, 'the tensor is not known yet');
    const tree = claimed.tensor.hashes();
    learnChildren(tree, node, pieces(bytes, 32, childrenOf(node, tree.count).count));
    return;
  }
  const length = headerLength(bytes);
  require(length !== null && length <= bytes.length, 'the content ends early');
  const encoded = hex(bytes.subarray(0, length));
  const header = readHeader(encoded);
  require(header !== null, 'the header is none that a tensor has');
  const { count } = childrenOf(node, header.chunkCount);
  const children = pieces(bytes.subarray(length), 32, count);
  const value = treeValueOf(TAG.tensorNode, children);
  require(hex(rootFromTree(header, value)) === claimed.root, 'the content does not hash to the tensor root');
  const info = model.infoOfSlot(node.slot);
  const { items } = claim.receipt;
  if (encoded !== hex(encodeHeader(tensorHeader(info, items)))) {
    claim.foreign.set(claimed.root, { header: encoded, treeValue: hex(value) });
    return;
  }
  const tensor = claimed.tensor ?? new KnownTensor(info, items);
  const height = childHeight(node, header.chunkCount);
  children.forEach((child, i) => tensor.hashes().set(height, i, child));
  claim.tensors.set(claimed.root, tensor);
}

function learnChunks(model: StepModel, claim: KnownClaim, node: GameNode, bytes: Uint8Array): void {
  const tensor = claimedSlot(model, claim, node.slot)?.tensor ?? null;
  require(tensor !== null, 'the tensor is not known yet');
  let at = 0;
  for (let index = node.first; index < node.first + node.count; index++) {
    const length = chunkLength(tensor.header, index);
    const chunk = bytes.slice(at, at + length * tensor.width);
    at += length * tensor.width;
    const expected = length === 0 ? null : tensor.hashes().get(0, index);
    require(expected !== null && chunk.length === length * tensor.width, 'the content has another length');
    require(hex(chunkLeaf(index, length, chunk)) === hex(expected), 'the content does not hash to its chunk');
    tensor.learnChunk(index, chunk);
  }
  require(at === bytes.length, 'the content has surplus bytes');
}

function learn(model: StepModel, claim: KnownClaim, node: GameNode, bytes: Uint8Array): void {
  switch (node.kind) {
    case 'trace':
      return learnTrace(claim, node, bytes);
    case 'inputs':
      return learnPorts(claim, 0, bytes);
    case 'outputs':
      return learnPorts(claim, 1, bytes);
    case 'tensor':
      return learnTensor(model, claim, node, bytes);
    case 'chunks':
      return learnChunks(model, claim, node, bytes);
    case 'segment': {
      require(node.slot + 1 < model.committed.length, 'there is no such segment');
      const { first, count } = model.segment(node.slot);
      require(node.first === first && node.count === count, 'there is no such segment');
      claim.segments.set(node.slot, { node, roots: pieces(bytes, 32, count).map(hex) });
      return;
    }
    case 'sums': {
      const parts = pieces(bytes, 8, node.count);
      const int64 = (part: Uint8Array): bigint => new DataView(part.buffer, part.byteOffset).getBigInt64(0);
      claim.learnSums({ node, parts: parts.map(int64) });
    }
  }
}

/**
 * @param content as it was answered, from anybody.
 * @returns not learned, with the reason, where it is not the node's or nothing is known of the node; `claim` is unchanged then
 */
export function learnAnswer(model: StepModel, claim: KnownClaim, node: GameNode, content: Hex): Learned {
  if (!/^0x(?:[0-9a-f]{2})*$/.test(content)) return { learned: false, reason: 'the content is no lower-case hex' };
  try {
    if (node.kind === 'trace' || node.kind === 'tensor')
      require(node.height === ROOT_HEIGHT || node.height % 9 === 0, 'there is no such node');
    learn(model, claim, node, hexToBytes(content.slice(2)));
    return { learned: true };
  } catch (error) {
    if (error instanceof Refused) return { learned: false, reason: error.message };
    throw error;
  }
}

/**
 * Takes in a trace that was served: the tensors of the committed slots, in their order.
 * @returns whether they are the trace of the claim
 */
export function learnServedTrace(
  model: StepModel,
  claim: KnownClaim,
  committed: readonly Int32Array[],
  items: number,
): boolean {
  if (committed.length !== model.committed.length || items !== claim.receipt.items) return false;
  const slots: Int32Array[] = [];
  committed.forEach((data, position) => (slots[model.committed[position]!] = data));
  const served = new FullTrace(model, slots, items);
  if (traceRootOf(served.trace()) !== claim.receipt.traceRoot) return false;
  claim.trace = served.trace();
  for (const slot of model.committed) claim.tensors.set(served.root(slot), served.tensor(slot));
  return true;
}
