/** Commitments to an execution of a float32 graph, as graph/commitment/trace-root.ts has them, every slot committed. */
import { Preimage, toHex } from '../../graph/commitment/encoding.js';
import { merkleOpening, merkleValue } from '../../graph/commitment/merkle.js';
import { TAG } from '../../graph/commitment/tags.js';
import { AssayError } from '../../common/errors.js';
import { commitTensor, type CommittedTensor } from './commit-tensor.js';
import type { FloatGraph } from './types.js';

/** A trace with all that openings of it are made of. Slots of a hostile one may be any tensors, in any number. */
export interface CommittedTrace {
  readonly items: number;
  readonly slots: readonly CommittedTensor[];
  /** 0x-hex. */
  readonly traceRoot: string;
}

/** The tensors under inputRoot or outputRoot. */
export interface CommittedPorts {
  readonly role: 0 | 1;
  readonly roots: readonly Uint8Array[];
  /** 0x-hex. */
  readonly root: string;
}

const slotLeaves = (slots: readonly CommittedTensor[]): Uint8Array[] =>
  slots.map(({ root }, slot) => new Preimage().u8(TAG.slot).u32(slot).raw(root).hash());

const portLeaves = (role: 0 | 1, roots: readonly Uint8Array[]): Uint8Array[] =>
  roots.map((root, i) => new Preimage().u8(TAG.port).u8(role).u32(i).raw(root).hash());

export function commitSlots(slots: readonly CommittedTensor[], items: number): CommittedTrace {
  const root = new Preimage().u8(TAG.traceRoot).u32(slots.length).raw(traceTree(slots)).hash();
  return { items, slots, traceRoot: toHex(root) };
}

export function commitPorts(role: 0 | 1, roots: readonly Uint8Array[]): CommittedPorts {
  const root = new Preimage().u8(TAG.portRoot).u8(role).u32(roots.length).raw(portsTree({ role, roots })).hash();
  return { role, roots, root: toHex(root) };
}

/** Value of the trace's tree. */
export const traceTree = (slots: readonly CommittedTensor[]): Uint8Array =>
  merkleValue(TAG.traceNode, slotLeaves(slots));

/** Siblings of a slot's leaf. */
export const slotPath = (slots: readonly CommittedTensor[], slot: number): Uint8Array[] =>
  merkleOpening(TAG.traceNode, slotLeaves(slots), slot, slot);

/** Value of the tree of inputs or outputs. */
export const portsTree = ({ role, roots }: Pick<CommittedPorts, 'role' | 'roots'>): Uint8Array =>
  merkleValue(TAG.portNode, portLeaves(role, roots));

/** Siblings of a port's leaf. */
export const portPath = ({ role, roots }: CommittedPorts, port: number): Uint8Array[] =>
  merkleOpening(TAG.portNode, portLeaves(role, roots), port, port);

/**
 * @param slots one array per value in order of their numbers, memory order, item outermost.
 * @throws AssayError INPUT_RANGE for a wrong number of slots or elements.
 */
export function commitFloatTrace(
  graph: FloatGraph,
  slots: readonly Float32Array[],
  items: number,
): { readonly trace: CommittedTrace; readonly inputs: CommittedPorts; readonly outputs: CommittedPorts } {
  if (slots.length !== graph.values.length)
    throw new AssayError(
      'INPUT_RANGE',
      `graph '${graph.name}' has ${graph.values.length} slots, ${slots.length} arrays were given`,
    );
  const tensors = graph.values.map((value, slot) => commitTensor(value, slots[slot]!, items));
  const rootsOf = (ports: FloatGraph['inputs']): Uint8Array[] => ports.map(({ value }) => tensors[value]!.root);
  return {
    trace: commitSlots(tensors, items),
    inputs: commitPorts(0, rootsOf(graph.inputs)),
    outputs: commitPorts(1, rootsOf(graph.outputs)),
  };
}
