/**
 * Identity of a float32 graph: graph/commitment/model-digest.ts with other descriptors.
 *
 * modelDigest = keccak256("assay/model/1" | uint8 2 | graphRoot | weightsRoot | uint32 opCount | 32 zero bytes |
 *   modelKeyHash), arithmetic 2 = float32, opCount the number of nodes, modelKeyHash 32 zero bytes: no proof covers
 *   floats.
 * graphRoot and weightsRoot: trees as there. Descriptors, in this order:
 *   0            header:  uint32 inputs | uint32 nodes | uint32 outputs | uint32 slots | uint32 slots | 32 zero bytes
 *                         (every slot is committed: nobody can recompute what an executor left out)
 *   1 ..         inputs:  tensor | text port name
 *   then         nodes:   kind code | tensor | u32s operands | attributes and constants, by kind (see `describeNode`)
 *   then         outputs: uint32 value | text port name
 *   tensor = u32s shape | u32s layout | uint32 slot, which is the value's number
 * Constants are committed as tensors of one item (commit-tensor.ts) as in memory; a descriptor holds their roots, and
 * weightsRoot has them in order of appearance. An absent bias is 32 zero bytes.
 */
import {
  ARITHMETIC,
  descriptorLeaf,
  digestOfRoots,
  graphRootOf,
  weightsRootOf,
} from '../../graph/commitment/digest-of-roots.js';
import { Preimage, toHex } from '../../graph/commitment/encoding.js';
import { HASH_BYTES } from '../../graph/commitment/merkle.js';
import type { Window2d } from '../../graph/integer/types.js';
import { commitTensor, type CommittedTensor } from './commit-tensor.js';
import {
  constantsOf,
  isConstant,
  operandsOf,
  type FloatConstant,
  type FloatGraph,
  type FloatNode,
  type FloatValue,
} from './types.js';

const ZERO_HASH = new Uint8Array(HASH_BYTES);

/** Codes are for ever, and none is one of the integer graph. */
export const FLOAT_KIND_CODE: Readonly<Record<FloatNode['kind'], number>> = {
  conv: 0x81,
  dense: 0x82,
  averagePool: 0x83,
  maxPool: 0x84,
  add: 0x85,
  sub: 0x86,
  mul: 0x87,
  relu: 0x88,
  reshape: 0x89,
};

export interface FloatModel {
  readonly descriptors: readonly Uint8Array[];
  readonly descriptorLeaves: readonly Uint8Array[];
  readonly graphRoot: Uint8Array;
  readonly weightsRoot: Uint8Array;
  readonly opCount: number;
  /** 0x-hex. */
  readonly digest: string;
}

export function commitConstant({ shape, data }: FloatConstant): CommittedTensor {
  return commitTensor({ shape, layout: shape.map((_, axis) => axis) }, data, 1);
}

function describeTensor(out: Preimage, { shape, layout }: FloatValue, slot: number): Preimage {
  return out.u32s(shape).u32s(layout).u32(slot);
}

function describeWindow(out: Preimage, { kernel, strides, dilations, pads }: Window2d): void {
  for (const side of [...kernel, ...strides, ...dilations, ...pads]) out.u32(side);
}

/** @param roots of the node's constants, by ordinal. */
function describeNode(out: Preimage, node: FloatNode, roots: readonly Uint8Array[]): void {
  switch (node.kind) {
    case 'conv':
      // window: 10 uint32, kernel, strides, dilations (row, column each), pads (top, left, bottom, right) | uint32
      // groups | weight root | bias root
      describeWindow(out, node.window);
      out.u32(node.groups).raw(roots[0]!).raw(roots[1]!);
      return;
    case 'dense':
      // weight root | bias root
      out.raw(roots[0]!).raw(roots[1]!);
      return;
    case 'averagePool':
      // window | uint8 1 where the divisor counts padding
      describeWindow(out, node.window);
      out.u8(node.countsPadding ? 1 : 0);
      return;
    case 'maxPool':
      describeWindow(out, node.window);
      return;
    case 'add':
    case 'sub':
    case 'mul': {
      // uint8 0: two values; 1: the first operand is a constant, 2: the second is | u32s its shape | its root
      const place = [node.a, node.b].findIndex(isConstant);
      out.u8(place + 1);
      if (place >= 0)
        out.u32s((place === 0 ? (node.a as FloatConstant) : (node.b as FloatConstant)).shape).raw(roots[0]!);
      return;
    }
    case 'relu':
    case 'reshape':
      return;
  }
}

/** Descriptors, roots and digest. */
export function floatModel(graph: FloatGraph): FloatModel {
  const constants: Uint8Array[] = [];
  const commit = (constant: FloatConstant | null): Uint8Array => {
    if (constant === null) return ZERO_HASH;
    const { root } = commitConstant(constant);
    constants.push(root);
    return root;
  };
  const { inputs, nodes, outputs, values } = graph;
  const header = new Preimage().u32(inputs.length).u32(nodes.length).u32(outputs.length);
  header.u32(values.length).u32(values.length).raw(ZERO_HASH);
  const descriptors = [
    header,
    ...inputs.map(({ name, value }) => describeTensor(new Preimage(), values[value]!, value).text(name)),
    ...nodes.map((node, j) => {
      const value = inputs.length + j;
      const out = describeTensor(new Preimage().u8(FLOAT_KIND_CODE[node.kind]), values[value]!, value);
      describeNode(out.u32s(operandsOf(node)), node, constantsOf(node).map(commit));
      return out;
    }),
    ...outputs.map(({ name, value }) => new Preimage().u32(value).text(name)),
  ].map((out) => out.done());
  const descriptorLeaves = descriptors.map(descriptorLeaf);
  const graphRoot = graphRootOf(descriptorLeaves);
  const weightsRoot = weightsRootOf(constants);
  const opCount = nodes.length;
  const roots = { graphRoot: toHex(graphRoot), weightsRoot: toHex(weightsRoot), opCount };
  const digest = digestOfRoots(roots, undefined, ARITHMETIC.float32);
  return { descriptors, descriptorLeaves, graphRoot, weightsRoot, opCount, digest };
}
