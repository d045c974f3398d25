/**
 * Commitments to an execution: its inputs, its outputs, and every materialised tensor in between.
 *
 *   1. Trace. Slots are the tensors of `slotsOf(graph)`, k = 0 .. S-1: the inputs first, then operators in node order.
 *      Leaf k: keccak256(0x20 | uint32 k | tensor root). Tree: merkle.ts with node tag 0x21.
 *      traceRoot = keccak256(0x22 | uint32 S | tree value).
 *   2. Inputs and outputs. Leaf i: keccak256(0x30 | uint8 role | uint32 i | tensor root), role 0 for graph inputs and
 *      1 for graph outputs, i the position in graph.inputs or graph.outputs. Tree with node tag 0x31.
 *      Root = keccak256(0x32 | uint8 role | uint32 count | tree value).
 * The same tensor root stands in both, so that a receipt's input and output bind to the slots of its trace.
 */
import { AssayError } from '../../common/errors.js';
import { slotsOf } from '../integer/operands.js';
import type { IntegerGraph, TensorId } from '../integer/types.js';
import { fromHex, Preimage, toHex } from './encoding.js';
import { HASH_BYTES, merkleOpening, merkleValue, valueFromOpening } from './merkle.js';
import { TAG } from './tags.js';
import { tensorRootBytes } from './tensor-root.js';

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

/** @param inputs one array per graph input. @throws AssayError INPUT_RANGE as tensorRoot. */
export function inputRoot(graph: IntegerGraph, inputs: readonly Int32Array[], items: number): string {
  return portsRoot(0, tensorRoots(graph, graph.inputs, inputs, items, 'inputs'));
}

/** @param outputs one array per graph output. @throws AssayError INPUT_RANGE as tensorRoot. */
export function outputRoot(graph: IntegerGraph, outputs: readonly Int32Array[], items: number): string {
  return portsRoot(1, tensorRoots(graph, graph.outputs, outputs, items, 'outputs'));
}

const slotLeaf = (slot: number, root: Uint8Array): Uint8Array => new Preimage().u8(TAG.slot).u32(slot).raw(root).hash();

const traceFromTree = (slotCount: number, treeValue: Uint8Array): string =>
  toHex(new Preimage().u8(TAG.traceRoot).u32(slotCount).raw(treeValue).hash());

/** @param slotValues one array per slot, in the order of `slotsOf(graph)`. @throws AssayError INPUT_RANGE as tensorRoot. */
export function traceRoot(graph: IntegerGraph, slotValues: readonly Int32Array[], items: number): string {
  const roots = tensorRoots(graph, slotsOf(graph), slotValues, items, 'slots');
  return traceFromTree(
    roots.length,
    merkleValue(
      TAG.traceNode,
      roots.map((root, slot) => slotLeaf(slot, root)),
    ),
  );
}

/** Shows the tensor root of one slot under a trace root. Plain JSON. */
export interface SlotOpening {
  readonly slot: number;
  readonly slotCount: number;
  readonly tensorRoot: string;
  readonly siblings: readonly string[];
}

/** @throws AssayError OPENING_INVALID where the slot does not exist. */
export function openSlot(
  graph: IntegerGraph,
  slotValues: readonly Int32Array[],
  items: number,
  slot: number,
): SlotOpening {
  const roots = tensorRoots(graph, slotsOf(graph), slotValues, items, 'slots');
  if (!Number.isInteger(slot) || slot < 0 || slot >= roots.length)
    throw new AssayError('OPENING_INVALID', `slot ${slot} does not exist: the trace has ${roots.length}`);
  const leaves = roots.map((root, k) => slotLeaf(k, root));
  return {
    slot,
    slotCount: roots.length,
    tensorRoot: toHex(roots[slot]!),
    siblings: merkleOpening(TAG.traceNode, leaves, slot, slot).map(toHex),
  };
}

/** True where the opening shows its tensor root at its slot of the trace behind `root`. */
export function verifySlot(root: string, opening: SlotOpening): boolean {
  const { slot, slotCount } = opening;
  const tensor = fromHex(opening.tensorRoot, HASH_BYTES);
  const siblings = opening.siblings.map((text) => fromHex(text, HASH_BYTES));
  if (
    tensor === null ||
    siblings.includes(null) ||
    !Number.isInteger(slot) ||
    !Number.isInteger(slotCount) ||
    slot < 0 ||
    slot >= slotCount ||
    slotCount >= 2 ** 32
  )
    return false;
  const value = valueFromOpening(TAG.traceNode, [slotLeaf(slot, tensor)], slot, slotCount, siblings as Uint8Array[]);
  return value !== null && traceFromTree(slotCount, value) === root;
}
