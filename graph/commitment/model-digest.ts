/**
 * Identity of a compiled model in receipts, contracts and the registry.
 *
 * modelDigest = keccak256("assay/model/1" (13 bytes ASCII) | uint8 arithmetic | graphRoot | weightsRoot |
 *   uint32 opCount | thresholdsRoot | modelKeyHash), each root 32 bytes.
 *   - arithmetic: 1 = the exact integers of the integer graph.
 *   - opCount: number of slots minus number of graph inputs: the materialising operators.
 *   - thresholdsRoot: 32 zero bytes; exact arithmetic has no tolerances.
 *   - modelKeyHash: hash of the model's zero-knowledge key (prover/verifier/model-key.ts), so that the identity fixes what
 *     proofs are checked against; 32 zero bytes where the model has none.
 *
 * graphRoot = keccak256(0x42 | uint32 count | tree value), tree of merkle.ts with node tag 0x41 over descriptors;
 * leaf i = keccak256(0x40 | uint32 i | uint32 length | descriptor bytes). Descriptors, in this order:
 *   0            header:  uint32 inputs | uint32 nodes | uint32 outputs | uint32 slots | uint32 committed | table root
 *   1 ..         inputs:  tensor, then meaning
 *   then         nodes:   kind code | tensor | operands | attributes and constants, by kind (see `describeNode`)
 *   then         outputs: uint32 value index | meaning
 * Value index: graph inputs are 0 .. I-1, the output of node j is I + j. Tensor ids and names of nodes and tensors are
 * labels and enter nothing. With v the value index, descriptor 1 + v describes the value.
 *   tensor   = int32 lo | int32 hi | u32s shape | u32s layout | uint32 slot: its number in the trace (slotsOf), or
 *              2^32 - 1 where it is none
 *   operands = u32s of value indices
 *   meaning  = float64 scale | int32 zero point | text port name | text element type | u32s port shape | uint8 batched:
 *              how requesters read and write the port. It is not arithmetic, but a receipt about misread numbers is
 *              worth nothing, so it belongs to the identity.
 *   u32s     = uint32 count, then each as uint32;  text = uint32 byte length, then UTF-8
 *
 * Constants are committed as tensors of one item (tensor-root.ts) with identity layout and the narrowest declared range
 * of: int8 (-128..127), int16, int32 (full two's complement ranges) that holds every element; so that the array type
 * in memory does not matter. A descriptor holds their roots. weightsRoot = keccak256(0x52 | uint32 count | tree value),
 * tree with node tag 0x51 over leaves keccak256(0x50 | uint32 i | tensor root), in order of appearance in descriptors.
 * An absent bias is 32 zero bytes in the descriptor and does not appear under weightsRoot.
 *
 * Slots, and which of them a trace commits (commit-table.ts): `slots` is their number, `committed` how many are in the
 * table, whose root is that of a tensor [committed] of int32, or 32 zero bytes where every slot is committed.
 */
import type { Bundle, Port } from '../bundle/types.js';
import { slotsOf, operandsOf } from '../integer/operands.js';
import type {
  BroadcastConstant,
  IntegerGraph,
  IntegerNode,
  IntegerNodeKind,
  IntRange,
  TensorInfo,
  Window2d,
} from '../integer/types.js';
import { Preimage, toHex } from './encoding.js';
import { HASH_BYTES } from './merkle.js';
import { commitTableRoot } from './commit-table.js';
import { descriptorLeaf, digestOfRoots, graphRootOf, weightsRootOf, type ModelRoots } from './digest-of-roots.js';
import { tensorRootBytes } from './tensor-root.js';

const ZERO_HASH = new Uint8Array(HASH_BYTES);
/** Stands for the slot of a tensor that has none. */
export const NO_SLOT = 2 ** 32 - 1;

/** Codes are for ever: a kind keeps its number. */
export const KIND_CODE: Readonly<Record<IntegerNodeKind, number>> = {
  matmul: 1,
  matmulActivations: 2,
  conv: 3,
  combine: 4,
  scale: 5,
  mul: 6,
  sumPool: 7,
  reduceSum: 8,
  requant: 9,
  maxPool: 10,
  reduceMax: 11,
  argMax: 12,
  reshape: 13,
  transpose: 14,
  concat: 15,
  slice: 16,
  pad: 17,
  expand: 18,
};

/** Collects the roots of constants in order of appearance. */
class Constants {
  readonly roots: Uint8Array[] = [];

  commit(shape: readonly number[], data: ArrayLike<number>): Uint8Array {
    const info = { shape, range: narrowestRange(data), layout: shape.map((_, axis) => axis) };
    const root = tensorRootBytes(info, Int32Array.from(data), 1);
    this.roots.push(root);
    return root;
  }

  broadcast(constant: BroadcastConstant | null): Uint8Array {
    return constant === null ? ZERO_HASH : this.commit(constant.shape, constant.data);
  }

  vector(data: Int32Array | null): Uint8Array {
    return data === null ? ZERO_HASH : this.commit([data.length], data);
  }
}

/** The narrowest of int8, int16 and int32 that holds every element: what constants are committed with. */
export function narrowestRange(data: ArrayLike<number>): IntRange {
  let bits = 8;
  for (let i = 0; i < data.length; i++) {
    const v = data[i]!;
    while (bits < 32 && (v < -(2 ** (bits - 1)) || v >= 2 ** (bits - 1))) bits *= 2;
  }
  return { lo: -(2 ** (bits - 1)), hi: 2 ** (bits - 1) - 1 };
}

function window2d(out: Preimage, { kernel, strides, dilations, pads }: Window2d): void {
  for (const v of [...kernel, ...strides, ...dilations, ...pads]) out.u32(v);
}

const describeTensor = (out: Preimage, { range, shape, layout }: TensorInfo, slot: number | undefined): Preimage =>
  out
    .i32(range.lo)
    .i32(range.hi)
    .u32s(shape)
    .u32s(layout)
    .u32(slot ?? NO_SLOT);

const describeMeaning = (out: Preimage, { scale, zeroPoint }: TensorInfo, port: Port): Preimage =>
  out
    .f64(scale)
    .i32(zeroPoint)
    .text(port.name)
    .text(port.type)
    .u32s(port.shape)
    .u8(port.batched ? 1 : 0);

/** Attributes and roots of constants; comments give the fields. */
function describeNode(out: Preimage, node: IntegerNode, graph: IntegerGraph, constants: Constants): void {
  switch (node.kind) {
    case 'matmul':
      // weight root, shape [out][in] | bias root
      out.raw(constants.commit([node.outFeatures, node.inFeatures], node.weight)).raw(constants.vector(node.bias));
      return;
    case 'conv': {
      // window | uint32 groups | weight root, shape [out][kernel row][kernel column][in / groups] | bias root
      window2d(out, node.window);
      const perGroup = graph.tensors[node.x]!.shape[0]! / node.groups;
      const weight = constants.commit([node.outChannels, ...node.window.kernel, perGroup], node.weight);
      out.u32(node.groups).raw(weight).raw(constants.vector(node.bias));
      return;
    }
    case 'sumPool':
    case 'maxPool':
      // window: 10 uint32, kernel, strides, dilations (row, column each), pads (top, left, bottom, right)
      window2d(out, node.window);
      return;
    case 'combine':
      // int32 coefficient of each operand | bias root
      for (const { coefficient } of node.terms) out.i32(coefficient);
      out.raw(constants.broadcast(node.bias));
      return;
    case 'scale':
      // factor root | bias root
      out.raw(constants.broadcast(node.factor)).raw(constants.broadcast(node.bias));
      return;
    case 'requant': {
      // uint8 1 and uint32 channel axis, or uint8 0 | multipliers root | uint8 0, int32 qLo, qHi, lo, hi  for a clamp,
      // or uint8 1, int32 qLo, qHi, values root  for a table of values
      if (node.channelAxis === null) out.u8(0);
      else out.u8(1).u32(node.channelAxis);
      out.raw(constants.vector(node.multipliers));
      const { table } = node;
      if (table.kind === 'clamp') out.u8(0).i32(table.qLo).i32(table.qHi).i32(table.lo).i32(table.hi);
      else
        out
          .u8(1)
          .i32(table.qLo)
          .i32(table.qHi)
          .raw(constants.commit([table.values.length], table.values));
      return;
    }
    case 'reduceSum':
    case 'reduceMax':
      out.u32s(node.axes);
      return;
    case 'argMax':
    case 'concat':
      out.u32(node.axis);
      return;
    case 'transpose':
      out.u32s(node.permutation);
      return;
    case 'slice':
      // u32s starts | int32 step per axis
      out.u32s(node.starts);
      for (const step of node.steps) out.i32(step);
      return;
    case 'pad':
      out.u32s(node.before).u32s(node.after).i32(node.value);
      return;
    case 'matmulActivations':
    case 'mul':
    case 'reshape':
    case 'expand':
      return;
  }
}

/** What a model's identity covers. */
export type IdentifiedModel = Pick<Bundle, 'graph' | 'inputs' | 'outputs' | 'modelKeyHash' | 'committedSlots'>;

/** Canonical descriptor bytes, and the roots of all constants. */
export function modelDescriptors({ graph, inputs, outputs, committedSlots }: IdentifiedModel): {
  descriptors: Uint8Array[];
  constants: Uint8Array[];
} {
  const valueIndex = new Map<number, number>();
  for (const id of graph.inputs) valueIndex.set(id, valueIndex.size);
  for (const node of graph.nodes) valueIndex.set(node.output, valueIndex.size);
  const slots = new Map(slotsOf(graph).map((id, slot) => [id, slot]));
  const constants = new Constants();
  const header = new Preimage()
    .u32(graph.inputs.length)
    .u32(graph.nodes.length)
    .u32(graph.outputs.length)
    .u32(slots.size)
    .u32(committedSlots?.length ?? slots.size)
    .raw(committedSlots === undefined ? ZERO_HASH : commitTableRoot(committedSlots));
  const inputDescriptors = graph.inputs.map((id, i) =>
    describeMeaning(describeTensor(new Preimage(), graph.tensors[id]!, slots.get(id)), graph.tensors[id]!, inputs[i]!),
  );
  const nodeDescriptors = graph.nodes.map((node) => {
    const out = describeTensor(
      new Preimage().u8(KIND_CODE[node.kind]),
      graph.tensors[node.output]!,
      slots.get(node.output),
    );
    out.u32s(operandsOf(node).map((id) => valueIndex.get(id)!));
    describeNode(out, node, graph, constants);
    return out;
  });
  const outputDescriptors = graph.outputs.map((id, i) =>
    describeMeaning(new Preimage().u32(valueIndex.get(id)!), graph.tensors[id]!, outputs[i]!),
  );
  const descriptors = [header, ...inputDescriptors, ...nodeDescriptors, ...outputDescriptors].map((out) => out.done());
  return { descriptors, constants: constants.roots };
}

/** The digest and the roots under it. The graph must have passed `validateGraph`, with one port per input and output. */
export function modelRoots(model: IdentifiedModel): ModelRoots {
  const { descriptors, constants } = modelDescriptors(model);
  const graphRoot = graphRootOf(descriptors.map(descriptorLeaf));
  const weightsRoot = weightsRootOf(constants);
  const opCount = slotsOf(model.graph).length - model.graph.inputs.length;
  const roots = { graphRoot: toHex(graphRoot), weightsRoot: toHex(weightsRoot), opCount };
  return { ...roots, digest: digestOfRoots(roots, model.modelKeyHash) };
}

/** Identity of a model, 0x-hex of 32 bytes. A whole bundle may be given. */
export function modelDigest(model: IdentifiedModel): string {
  return modelRoots(model).digest;
}
