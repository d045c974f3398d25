/** Builds an integer graph node by node; shapes and bounds are computed, and refused, as it grows. */
import { AssayError } from '../../common/errors.js';
import { hull, quotientRange, uniformRanges, type ChannelRanges } from './bounds.js';
import { withLayouts } from './layout.js';
import type { StorageClass } from './operands.js';
import type { NewNode } from './shapes.js';
import { checkInput, checkNode, checkTensor, validateGraph } from './validate.js';
import type { IntRange, IntegerGraph, IntegerNode, TensorId, TensorInfo } from './types.js';

export interface OutputOptions {
  /** Unique in the graph. Default: the node's name with its kind, numbered where that is taken. */
  readonly name?: string;
  /** Default 1. */
  readonly scale?: number;
  /** Default 0. */
  readonly zeroPoint?: number;
  /** Item shape of the output: required for reshape, slice and expand, which do not hold it; else left out. */
  readonly shape?: readonly number[];
  /** Declared range where it should be wider than the proved one. */
  readonly range?: IntRange;
}

export class GraphBuilder {
  private readonly tensors: TensorInfo[] = [];
  private readonly nodes: IntegerNode[] = [];
  private readonly inputs: TensorId[] = [];
  private readonly ranges: ChannelRanges[] = [];
  private readonly classes: StorageClass[] = [];
  private readonly names = new Set<string>();

  /** @throws AssayError GRAPH_INVALID where shape, range or name is refused. */
  addInput(name: string, shape: readonly number[], range: IntRange, scale: number, zeroPoint: number): TensorId {
    const id = this.define({
      name,
      shape: [...shape],
      range: { ...range },
      scale,
      zeroPoint,
      layout: shape.map((_, axis) => axis),
    });
    checkInput(this.tensors[id]!);
    this.inputs.push(id);
    this.ranges.push(uniformRanges(range));
    this.classes.push('stored');
    return id;
  }

  /**
   * Appends a node and returns its output.
   * @throws AssayError GRAPH_INVALID, or BOUND_EXCEEDED with node, channel, bound and limit; the builder is unchanged then.
   */
  add(node: NewNode, options: OutputOptions = {}): TensorId {
    const checked = checkNode(node, this.tensors, this.ranges, this.classes, options.shape);
    const proved = hull(checked.ranges);
    const range = options.range ?? proved;
    if (range.lo > proved.lo || range.hi < proved.hi)
      throw new AssayError(
        'GRAPH_INVALID',
        `${node.kind} node '${node.name}': the declared range ${range.lo}..${range.hi} does not hold the proved ${proved.lo}..${proved.hi}`,
      );
    const { scale = 1, zeroPoint = 0 } = options;
    const name = options.name ?? this.freeName(`${node.name}:${node.kind}`);
    const layout = checked.shape.map((_, axis) => axis);
    const output = this.define({ name, shape: checked.shape, range: { ...range }, scale, zeroPoint, layout });
    this.ranges.push(checked.storage === 'stored' ? uniformRanges(range) : checked.ranges);
    this.classes.push(checked.storage);
    this.nodes.push({ ...node, output } as IntegerNode);
    return output;
  }

  tensor(id: TensorId): TensorInfo {
    const info = this.tensors[id];
    if (info === undefined)
      throw new AssayError('GRAPH_INVALID', `tensor ${id} is not in the graph, which has ${this.tensors.length}`);
    return info;
  }

  /** Proved bounds of a tensor, per channel where they are kept. */
  channelRanges(id: TensorId): ChannelRanges {
    this.tensor(id);
    return this.ranges[id]!;
  }

  /** `stored`, `view` or `accumulator`: decides what may read the tensor. */
  storageClass(id: TensorId): StorageClass {
    this.tensor(id);
    return this.classes[id]!;
  }

  /** The proved range of q of a requantisation of x: the domain that its table must have. */
  quotientRange(x: TensorId, multipliers: Int32Array, channelAxis: number | null): IntRange {
    return quotientRange(this.channelRanges(x), multipliers, channelAxis);
  }

  /** The graph, with layouts, validated. */
  finish(name: string, outputs: readonly TensorId[]): IntegerGraph {
    const graph = withLayouts({
      name,
      tensors: [...this.tensors],
      nodes: [...this.nodes],
      inputs: [...this.inputs],
      outputs: [...outputs],
    });
    validateGraph(graph);
    return graph;
  }

  private define(info: TensorInfo): TensorId {
    if (this.names.has(info.name))
      throw new AssayError('GRAPH_INVALID', `two tensors are named '${info.name}'`, { meta: { tensor: info.name } });
    checkTensor(info);
    this.names.add(info.name);
    return this.tensors.push(info) - 1;
  }

  private freeName(wanted: string): string {
    let name = wanted;
    for (let n = 2; this.names.has(name); n++) name = `${wanted}#${n}`;
    return name;
  }
}
