/** A bundle as a dispute sees it: descriptors and constants with the openings that show them under modelDigest. */
import { AssayError } from '../../common/errors.js';
import { Preimage, toHex } from '../../graph/commitment/encoding.js';
import { digestOfRoots } from '../../graph/commitment/digest-of-roots.js';
import { modelDescriptors, narrowestRange, type IdentifiedModel } from '../../graph/commitment/model-digest.js';
import { TAG } from '../../graph/commitment/tags.js';
import type { CommittedInfo } from '../../graph/commitment/tensor-root.js';
import { slotsOf } from '../../graph/integer/operands.js';
import type { IntegerNode, IntRange, TensorId } from '../../graph/integer/types.js';
import type { Hex } from '../../receipts/types.js';
import type { Descriptor, ModelOpening } from '../../verifier-contracts/dispute-types.js';
import { KnownTensor, ZERO_HASH } from '../nodes/known-tensor.js';
import { SparseTree } from '../nodes/sparse-tree.js';
import { readModelHeader, readValueDescriptor, type ModelHeader, type ValueDescriptor } from './descriptors.js';

const INT32: IntRange = { lo: -(2 ** 31), hi: 2 ** 31 - 1 };

/** A model prepared for disputes. It holds the encoded constants, so that one is made per model and kept. */
export class StepModel {
  readonly header: ModelHeader;
  readonly digest: Hex;
  /** Tensor of each slot. */
  readonly slots: readonly TensorId[];
  /** Numbers of the committed slots, by position in the trace. */
  readonly committed: readonly number[];
  /** Value index of each slot, and of each output. */
  readonly valueOfSlot: readonly number[];
  readonly outputs: readonly { readonly value: number; readonly slot: number }[];
  private readonly descriptors: readonly Uint8Array[];
  private readonly values: (ValueDescriptor | undefined)[] = [];
  private readonly tree: SparseTree;
  private readonly roots: Pick<ModelOpening, 'graphRoot' | 'weightsRoot' | 'opCount' | 'modelKeyHash'>;
  private readonly constants = new Map<string, KnownTensor>();
  private readonly positions: ReadonlyMap<number, number>;
  private table: KnownTensor | null = null;

  /** @param model its graph is validated. */
  constructor(readonly model: IdentifiedModel) {
    const { graph, committedSlots, modelKeyHash } = model;
    const { descriptors, constants } = modelDescriptors(model);
    this.descriptors = descriptors;
    this.tree = SparseTree.of(
      TAG.graphNode,
      descriptors.map((bytes, i) => new Preimage().u8(TAG.descriptor).u32(i).u32(bytes.length).raw(bytes).hash()),
    );
    const weights = SparseTree.of(
      TAG.weightsNode,
      constants.map((root, i) => new Preimage().u8(TAG.constant).u32(i).raw(root).hash()),
    );
    this.slots = slotsOf(graph);
    const root = (tag: number, tree: SparseTree): Hex =>
      toHex(new Preimage().u8(tag).u32(tree.count).raw(tree.value()!).hash()) as Hex;
    this.roots = {
      graphRoot: root(TAG.graphRoot, this.tree),
      weightsRoot: root(TAG.weightsRoot, weights),
      opCount: this.slots.length - graph.inputs.length,
      modelKeyHash: (modelKeyHash ?? ZERO_HASH) as Hex,
    };
    this.digest = digestOfRoots(this.roots, modelKeyHash) as Hex;
    this.header = readModelHeader(descriptors[0]!);
    this.committed = committedSlots ?? this.slots.map((_, slot) => slot);
    this.positions = new Map(this.committed.map((slot, position) => [slot, position]));
    const valueOfTensor = new Map([...graph.inputs, ...graph.nodes.map((node) => node.output)].map((id, v) => [id, v]));
    this.valueOfSlot = this.slots.map((id) => valueOfTensor.get(id)!);
    this.outputs = graph.outputs.map((id) => ({ value: valueOfTensor.get(id)!, slot: this.slots.indexOf(id) }));
  }

  get slotCount(): number {
    return this.slots.length;
  }

  /** True where traces leave slots out. */
  get hasBoundaries(): boolean {
    return this.committed.length < this.slots.length;
  }

  value(value: number): ValueDescriptor {
    return (this.values[value] ??= readValueDescriptor(this.descriptors[1 + value]!, value < this.header.inputs));
  }

  /** Position of a slot's leaf in a trace; null where traces leave it out. */
  positionOf(slot: number): number | null {
    return this.positions.get(slot) ?? null;
  }

  /** Number k, first slot and length of the segment that a slot lies in which traces leave out. */
  segmentOf(slot: number): { readonly k: number; readonly first: number; readonly count: number } {
    const next = this.committed.findIndex((c) => c > slot);
    return this.segment(next - 1);
  }

  /** Between committed slots k and k + 1. */
  segment(k: number): { readonly k: number; readonly first: number; readonly count: number } {
    const [from, to] = [this.committed[k]!, this.committed[k + 1]!];
    return { k, first: from + 1, count: to - from - 1 };
  }

  /** What a slot's tensor is committed with. */
  infoOfSlot(slot: number): CommittedInfo {
    return this.model.graph.tensors[this.slots[slot]!]!;
  }

  /** Constant `ordinal` of the operator that gives a value. */
  constant(value: number, ordinal: number): KnownTensor {
    const key = `${value}/${ordinal}`;
    const known = this.constants.get(key);
    if (known !== undefined) return known;
    const node = this.model.graph.nodes[value - this.header.inputs]!;
    const operand = this.model.graph.tensors[firstOperand(node)]!;
    const constant = constantsOf(node, operand.shape)[ordinal] ?? null;
    if (constant === null)
      throw new AssayError('INTERNAL', `value ${value} of model ${this.digest} has no constant ${ordinal}`);
    const info = { shape: constant.shape, range: narrowestRange(constant.data), layout: [...constant.shape.keys()] };
    const tensor = KnownTensor.of(info, Int32Array.from(constant.data), 1);
    this.constants.set(key, tensor);
    return tensor;
  }

  /** The table of committed slots as a tensor. */
  commitTable(): KnownTensor {
    const shape = [this.committed.length];
    return (this.table ??= KnownTensor.of({ shape, range: INT32, layout: [0] }, Int32Array.from(this.committed), 1));
  }

  /** The model with descriptor 0 and those given, by index. */
  open(indices: Iterable<number>): ModelOpening {
    const descriptors: Descriptor[] = [...new Set([0, ...indices])]
      .sort((a, b) => a - b)
      .map((index) => ({
        index,
        encoded: toHex(this.descriptors[index]!) as Hex,
        path: this.tree.opening(0, index, index)!.map((hash) => toHex(hash) as Hex),
      }));
    return { ...this.roots, descriptorCount: this.descriptors.length, descriptors };
  }
}

const firstOperand = (node: IntegerNode): TensorId => {
  if (node.kind === 'matmulActivations' || node.kind === 'mul') return node.a;
  if (node.kind === 'combine') return node.terms[0]!.x;
  return node.kind === 'concat' ? node.xs[0]! : node.x;
};

interface Constant {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number>;
}

/** Constants of a node in the order of its descriptor's fields (model-digest.ts). */
function constantsOf(node: IntegerNode, operandShape: readonly number[]): (Constant | null)[] {
  const vector = (data: Int32Array | Int16Array | null): Constant | null =>
    data === null ? null : { shape: [data.length], data };
  switch (node.kind) {
    case 'matmul':
      return [{ shape: [node.outFeatures, node.inFeatures], data: node.weight }, vector(node.bias)];
    case 'conv': {
      const perGroup = operandShape[0]! / node.groups;
      const shape = [node.outChannels, ...node.window.kernel, perGroup];
      return [{ shape, data: node.weight }, vector(node.bias)];
    }
    case 'combine':
      return [node.bias];
    case 'scale':
      return [node.factor, node.bias];
    case 'requant':
      return [vector(node.multipliers), node.table.kind === 'values' ? vector(node.table.values) : null];
    default:
      return [];
  }
}
