/**
 * Commitments to an execution: its inputs, its outputs, and the materialised tensors in between.
 *
 *   1. Trace. Slots are the tensors of `slotsOf(graph)`: the inputs first, then operators in node order. c_0 < .. < c_(n-1)
 *      are the numbers of the committed ones (commit-table.ts); c_k = k where every slot is committed.
 *      Leaf k: keccak256(0x20 | uint32 c_k | root of slot c_k). Tree: merkle.ts with node tag 0x21.
 *      traceRoot = keccak256(0x22 | uint32 n | tree value).
 *   2. Inputs and outputs. Leaf i: keccak256(0x30 | uint8 role | uint32 i | tensor root), role 0 for graph inputs and
 *      1 for graph outputs, i the position in graph.inputs or graph.outputs. Tree with node tag 0x31.
 *      Root = keccak256(0x32 | uint8 role | uint32 count | tree value).
 * The same tensor root stands in both, so that a receipt's input and output bind to the slots of its trace.
 */
import { AssayError } from '../../common/errors.js';
import type { IntegerGraph, TensorId } from '../integer/types.js';
import { committedTensors } from './commit-table.js';
import { fromHex, Preimage, toHex } from './encoding.js';
import { HASH_BYTES, merkleOpening, merkleValue, valueFromOpening } from './merkle.js';
import { TAG } from './tags.js';
import { tensorRootBytes } from './tensor-root.js';
import { fastMerkleValue } from './wasm/own-kernels.js';

/** Steps 1 and 2 need roots of tensors only; this computes them. */
function tensorRoots(
  graph: IntegerGraph,
  ids: readonly TensorId[],
  values: readonly Int32Array[],
  items: number,
  what: string,
): Uint8Array[] {
  if (values.length !== ids.length)
    throw new AssayError(
      'INPUT_RANGE',
      `graph '${graph.name}' has ${ids.length} ${what}, ${values.length} arrays were given`,
    );
  return ids.map((id, i) => tensorRootBytes(graph.tensors[id]!, values[i]!, items));
}

function portsRoot(role: 0 | 1, roots: readonly Uint8Array[]): string {
  const leaves = roots.map((root, i) => new Preimage().u8(TAG.port).u8(role).u32(i).raw(root).hash());
  return toHex(
    new Preimage().u8(TAG.portRoot).u8(role).u32(roots.length).raw(merkleValue(TAG.portNode, leaves)).hash(),
  );
}

/** Step 2 over tensor roots of 32 bytes, one per graph input. */
export const inputRootOf = (roots: readonly Uint8Array[]): string => portsRoot(0, roots);

/** Step 2 over tensor roots of 32 bytes, one per graph output. */
export const outputRootOf = (roots: readonly Uint8Array[]): string => portsRoot(1, roots);

/** @param inputs one array per graph input. @throws AssayError INPUT_RANGE as tensorRoot. */
export function inputRoot(graph: IntegerGraph, inputs: readonly Int32Array[], items: number): string {
  return inputRootOf(tensorRoots(graph, graph.inputs, inputs, items, 'inputs'));
}

/** @param outputs one array per graph output. @throws AssayError INPUT_RANGE as tensorRoot. */
export function outputRoot(graph: IntegerGraph, outputs: readonly Int32Array[], items: number): string {
  return outputRootOf(tensorRoots(graph, graph.outputs, outputs, items, 'outputs'));
}

const slotLeaf = (slot: number, root: Uint8Array): Uint8Array => new Preimage().u8(TAG.slot).u32(slot).raw(root).hash();

const traceFromTree = (slotCount: number, treeValue: Uint8Array): string =>
  toHex(new Preimage().u8(TAG.traceRoot).u32(slotCount).raw(treeValue).hash());

const slotLeaves = (roots: readonly Uint8Array[], committedSlots: readonly number[] | undefined): Uint8Array[] =>
  roots.map((root, k) => slotLeaf(committedSlots?.[k] ?? k, root));

/**
 * Step 1 over tensor roots of 32 bytes, one per committed slot.
 * @param committedSlots of the model; absent where it commits every slot.
 */
export function traceRootOf(roots: readonly Uint8Array[], committedSlots?: readonly number[]): string {
  const leaves = slotLeaves(roots, committedSlots);
  const value = fastMerkleValue(TAG.traceNode, leaves) ?? merkleValue(TAG.traceNode, leaves);
  return traceFromTree(roots.length, value);
}

/**
 * @param values one array per committed slot, in the order of `committedTensors`.
 * @param committedSlots of the model; absent where it commits every slot.
 * @throws AssayError INPUT_RANGE as tensorRoot.
 */
export function traceRoot(
  graph: IntegerGraph,
  values: readonly Int32Array[],
  items: number,
  committedSlots?: readonly number[],
): string {
  const ids = committedTensors(graph, committedSlots);
  return traceRootOf(tensorRoots(graph, ids, values, items, 'committed slots'), committedSlots);
}

/** Shows the tensor root of one slot under a trace root. Plain JSON. */
export interface SlotOpening {
  /** Number of the slot. */
  readonly slot: number;
  /** Position of its leaf in the trace; the slot's number where every slot is committed. */
  readonly position: number;
  /** Number of committed slots. */
  readonly slotCount: number;
  readonly tensorRoot: string;
  readonly siblings: readonly string[];
}

/**
 * @param values as traceRoot.
 * @throws AssayError OPENING_INVALID where the trace does not commit the slot.
 */
export function openSlot(
  graph: IntegerGraph,
  values: readonly Int32Array[],
  items: number,
  slot: number,
  committedSlots?: readonly number[],
): SlotOpening {
  const ids = committedTensors(graph, committedSlots);
  const roots = tensorRoots(graph, ids, values, items, 'committed slots');
  const position = committedSlots === undefined ? slot : committedSlots.indexOf(slot);
  const root = roots[position];
  if (root === undefined)
    throw new AssayError('OPENING_INVALID', `slot ${slot} is none of the ${roots.length} that the trace commits`);
  return {
    slot,
    position,
    slotCount: roots.length,
    tensorRoot: toHex(root),
    siblings: merkleOpening(TAG.traceNode, slotLeaves(roots, committedSlots), position, position).map(toHex),
  };
}

const isUint32 = (value: number): boolean => Number.isInteger(value) && value >= 0 && value < 2 ** 32;

/**
 * True where the opening shows its tensor root at its slot of the trace behind `root`. Whether the model commits that slot
 * at that position is another question: commit-table.ts.
 */
export function verifySlot(root: string, opening: SlotOpening): boolean {
  const { slot, position, slotCount } = opening;
  const tensor = fromHex(opening.tensorRoot, HASH_BYTES);
  const siblings = opening.siblings.map((text) => fromHex(text, HASH_BYTES));
  if (
    tensor === null ||
    siblings.includes(null) ||
    !isUint32(slot) ||
    !isUint32(position) ||
    !isUint32(slotCount) ||
    position >= slotCount
  )
    return false;
  const value = valueFromOpening(
    TAG.traceNode,
    [slotLeaf(slot, tensor)],
    position,
    slotCount,
    siblings as Uint8Array[],
  );
  return value !== null && traceFromTree(slotCount, value) === root;
}
