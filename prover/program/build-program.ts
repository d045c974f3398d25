/**
 * From an integer graph to its shape program and the integers of its model key.
 *
 * Every tensor becomes an expression over its axes: sums of views of committed slots, and products (einsums). An
 * expression is consumed in three places only: by a requantisation, by a maximum, and as a public output. There the
 * multipliers of the requantisation are folded into the committed weights (W' = M W, b' = M b), so that a proof sees
 * one linear expression and retraining a model changes its key but not its program.
 */
import { AssayError } from '../../common/errors.js';
import { operandsOf } from '../../graph/integer/operands.js';
import {
  REQUANT_SHIFT,
  type BroadcastConstant,
  type IntegerGraph,
  type IntegerNode,
  type RequantNode,
  type TensorId,
  type Window2d,
} from '../../graph/integer/types.js';
import { sizeOf } from '../../graph/tensor.js';
import {
  axisBlock,
  composeBlocks,
  identityBlocks,
  inverseBlocks,
  isBijection,
  permutationBlocks,
  reshapeBlocks,
  type Block,
  type Entry,
} from './blocks.js';
import { chooseModelBits } from './model-bits.js';
import {
  LIMB_BITS,
  type Expression,
  type InputSlot,
  type LinearTerm,
  type MaxSlot,
  type ModelSlot,
  type Product,
  type Program,
  type PublicOutput,
  type RequantSlot,
  type Table,
  type WitnessSlot,
} from './types.js';

/** Integers of a model slot, row-major over its axes; magnitudes below 2^52. */
export type SlotValues = Float64Array;

/** Where the values of a witness slot come from. */
export type WitnessOrigin =
  | {
      readonly kind: 'tensor';
      readonly tensor: TensorId;
      readonly shape: readonly number[];
      readonly toSlot: readonly Block[];
    }
  /** A step of a maximum over more than four taps: computed from the taps of the slot. */
  | { readonly kind: 'maximum' };

export interface ProgramWithModel {
  readonly program: Program;
  /** By model slot. */
  readonly modelValues: readonly SlotValues[];
  /** By witness slot; `toSlot` leads from the axes of the tensor to those of the slot, one to one. */
  readonly origins: readonly WitnessOrigin[];
  /** By requant slot: the graph's node, from whose operand the remainder follows. */
  readonly requantNodes: readonly RequantNode[];
  /** By public output: the tensor that is published, which the graph's output follows from. */
  readonly published: readonly TensorId[];
}

/** A constant or weight before it is known which multiplier it is scaled by. */
interface RawConstant {
  readonly name: string;
  readonly axes: readonly number[];
  readonly data: ArrayLike<number>;
}
type DraftSource = LinearTerm['source'] | { readonly kind: 'raw'; readonly constant: RawConstant };
interface DraftTerm {
  readonly coefficient: bigint;
  readonly source: DraftSource;
  readonly blocks: readonly Block[];
}
interface DraftProduct extends Omit<Product, 'p'> {
  readonly p: Product['p'] | { readonly labels: readonly number[]; readonly constant: RawConstant };
}
interface Draft {
  readonly axes: readonly number[];
  readonly linear: readonly DraftTerm[];
  readonly products: readonly DraftProduct[];
}

const MAX_TAPS = 4;

/**
 * @throws AssayError NOT_PROVABLE naming the node and the reason, where the proof system has no form for it.
 */
export function buildProgram(graph: IntegerGraph): ProgramWithModel {
  return new Builder(graph).build();
}

class Builder {
  private readonly witness: WitnessSlot[] = [];
  private readonly origins: WitnessOrigin[] = [];
  private readonly model: ModelSlot[] = [];
  private readonly modelValues: SlotValues[] = [];
  private readonly tables: Table[] = [];
  private readonly inputs: InputSlot[] = [];
  private readonly requants: RequantSlot[] = [];
  private readonly requantNodes: RequantNode[] = [];
  private readonly maxima: MaxSlot[] = [];
  private readonly drafts: (Draft | undefined)[];
  private readonly producers: ReadonlyMap<TensorId, IntegerNode>;

  constructor(private readonly graph: IntegerGraph) {
    this.drafts = new Array<Draft | undefined>(graph.tensors.length).fill(undefined);
    this.producers = new Map(graph.nodes.map((node) => [node.output, node]));
  }

  build(): ProgramWithModel {
    for (const id of this.graph.inputs) this.addInput(id);
    const tail = publicTail(this.graph);
    for (const node of this.graph.nodes) {
      if (tail.has(node.output)) continue;
      try {
        this.drafts[node.output] = this.lower(node);
      } catch (error) {
        throw error instanceof AssayError && error.code === 'NOT_PROVABLE'
          ? new AssayError('NOT_PROVABLE', `${node.kind} node '${node.name}': ${error.message}`, { cause: error })
          : error;
      }
    }
    const published = this.graph.outputs.map((id) => tail.get(id) ?? { tensor: id, argMaxAxis: null });
    const outputs = published.map(({ tensor, argMaxAxis }): PublicOutput => ({
      range: this.graph.tensors[tensor]!.range,
      expression: splitting(this.materialise(this.draft(tensor), null)),
      argMaxAxis,
    }));
    const shape = {
      witness: this.witness,
      model: this.model,
      tables: this.tables,
      inputs: this.inputs,
      requants: this.requants,
      maxima: this.maxima,
      outputs,
    };
    return {
      program: { ...shape, modelBits: chooseModelBits(shape) },
      modelValues: this.modelValues,
      origins: this.origins,
      requantNodes: this.requantNodes,
      published: published.map(({ tensor }) => tensor),
    };
  }

  private shape(id: TensorId): readonly number[] {
    return this.graph.tensors[id]!.shape;
  }

  private draft(id: TensorId): Draft {
    const draft = this.drafts[id];
    if (!draft) throw new AssayError('INTERNAL', `tensor ${id} is read before it is computed`);
    return draft;
  }

  /** A tensor that other nodes may multiply: no product inside. */
  private view(id: TensorId): readonly LinearTerm[] {
    const { linear, products } = this.draft(id);
    if (products.length > 0)
      throw new AssayError(
        'NOT_PROVABLE',
        `reads tensor '${this.graph.tensors[id]!.name}', a sum of products that was not requantised`,
      );
    return linear.map((term) => this.materialiseTerm(term, null));
  }

  private addWitness(name: string, axes: readonly number[], origin: WitnessOrigin): number {
    this.witness.push({ name, axes });
    this.origins.push(origin);
    return this.witness.length - 1;
  }

  private addModel(name: string, axes: readonly number[], values: SlotValues): number {
    this.model.push({ name, axes });
    this.modelValues.push(values);
    return this.model.length - 1;
  }

  private addTable(table: Table): number {
    if (table.kind === 'clamp') {
      // One table serves all clamps to the same bounds: on more rows it is still the same function.
      const same = this.tables.findIndex((t) => t.kind === 'clamp' && t.lo === table.lo && t.hi === table.hi);
      if (same >= 0) {
        const other = this.tables[same] as Extract<Table, { kind: 'clamp' }>;
        this.tables[same] = { ...other, qLo: Math.min(other.qLo, table.qLo), qHi: Math.max(other.qHi, table.qHi) };
        return same;
      }
    }
    if (table.kind === 'input') {
      const same = this.tables.findIndex((t) => t.kind === 'input' && t.lo === table.lo && t.hi === table.hi);
      if (same >= 0) return same;
    }
    this.tables.push(table);
    return this.tables.length - 1;
  }

  private addInput(id: TensorId): void {
    const { name, shape, range } = this.graph.tensors[id]!;
    const values = range.hi - range.lo + 1;
    if (values > 1 << 16)
      throw new AssayError('NOT_PROVABLE', `input '${name}' takes ${values} values; a proof admits 65536`);
    const slot = this.addWitness(name, shape, { kind: 'tensor', tensor: id, shape, toSlot: identityBlocks(shape) });
    this.inputs.push({
      slot,
      table: this.addTable({ kind: 'input', lo: range.lo, hi: range.hi }),
      cellBits: values <= 256 ? 8 : 16,
    });
    this.drafts[id] = this.slotDraft(slot, shape, identityBlocks(shape));
  }

  /** A tensor read from a slot. */
  private slotDraft(slot: number, axes: readonly number[], blocks: readonly Block[]): Draft {
    return { axes, linear: [{ coefficient: 1n, source: { kind: 'witness', slot }, blocks }], products: [] };
  }

  private lower(node: IntegerNode): Draft {
    const axes = this.shape(node.output);
    switch (node.kind) {
      case 'requant':
        return this.requant(node);
      case 'maxPool':
      case 'reduceMax':
        return this.maximum(node);
      case 'argMax':
        throw new AssayError('NOT_PROVABLE', 'an index of a maximum that other nodes read has no proof yet');
      case 'matmul': {
        const shape = this.shape(node.x);
        const rows = shape.slice(0, -1);
        const { draftId, axes: contracted } = this.withoutReshape(node.x, rows);
        const labels = [...rows, ...contracted, node.outFeatures];
        const out = labels.length - 1;
        const inner = contracted.map((_, i) => rows.length + i);
        return this.productDraft(axes, labels, {
          weight: {
            labels: [out, ...inner],
            constant: { name: `${node.name}.weight`, axes: [node.outFeatures, ...contracted], data: node.weight },
          },
          q: { labels: [...rows.map((_, i) => i), ...inner], terms: this.view(draftId) },
          output: [...rows.map((_, i) => i), out],
          bias: node.bias && { name: `${node.name}.bias`, data: node.bias, axis: axes.length - 1 },
        });
      }
      case 'conv':
        return this.convolution(node);
      case 'matmulActivations': {
        const [a, b] = [this.shape(node.a), this.shape(node.b)];
        const lead = a.slice(0, -2);
        const [m, k, n] = [lead.length, lead.length + 1, lead.length + 2];
        const labels = [...lead, a.at(-2)!, a.at(-1)!, b.at(-2)!];
        const leadLabels = lead.map((_, i) => i);
        return this.activationProduct(axes, labels, [...leadLabels, m, n], {
          p: { labels: [...leadLabels, m, k], terms: this.view(node.a) },
          q: { labels: [...leadLabels, n, k], terms: this.view(node.b) },
        });
      }
      case 'mul': {
        const labels = axes.map((_, axis) => axis);
        return this.activationProduct(axes, axes, labels, {
          p: { labels, terms: this.view(node.a) },
          q: { labels, terms: this.view(node.b) },
        });
      }
      case 'scale': {
        const factor = alignedAxes(node.factor, axes);
        const labels = axes.map((_, axis) => axis);
        const draft = this.productDraft(axes, axes, {
          weight: {
            labels: factor.axes,
            constant: {
              name: `${node.name}.factor`,
              axes: factor.axes.map((axis) => axes[axis]!),
              data: node.factor.data,
            },
          },
          q: { labels, terms: this.view(node.x) },
          output: labels,
          bias: null,
        });
        return { ...draft, linear: this.constantTerms(node.bias, axes, `${node.name}.bias`) };
      }
      case 'combine':
        return {
          axes,
          linear: [
            ...node.terms.flatMap(({ x, coefficient }) =>
              this.draft(x).linear.map((term) => ({ ...term, coefficient: term.coefficient * BigInt(coefficient) })),
            ),
            ...this.constantTerms(node.bias, axes, `${node.name}.bias`),
          ],
          products: node.terms.flatMap(({ x, coefficient }) =>
            this.draft(x).products.map((product) => ({
              ...product,
              coefficient: product.coefficient * BigInt(coefficient),
            })),
          ),
        };
      case 'sumPool': {
        const source = this.shape(node.x);
        // The taps of an axis are summed inside its block, so that the map stays a product over axes.
        return this.through(node.x, axes, [
          ...permutationBlocks([0], axes.slice(0, 1)),
          ...axisBlock(1, axes[1]!, 1, source[1]!, windowEntries(node.window, 0, axes[1]!, source[1]!)),
          ...axisBlock(2, axes[2]!, 2, source[2]!, windowEntries(node.window, 1, axes[2]!, source[2]!)),
        ]);
      }
      case 'reduceSum': {
        const source = this.shape(node.x);
        const blocks = source.flatMap((side, axis) =>
          node.axes.includes(axis)
            ? axisBlock(
                axis,
                1,
                axis,
                side,
                range(side).map((s) => ({ t: 0, s, weight: 1 })),
              )
            : axisBlock(axis, side, axis, side, diagonal(side)),
        );
        return this.through(node.x, axes, blocks);
      }
      case 'reshape':
        return this.through(node.x, axes, reshapeBlocks(axes, this.shape(node.x)));
      case 'transpose':
        return this.through(node.x, axes, permutationBlocks(node.permutation, axes));
      case 'slice': {
        const source = this.shape(node.x);
        const blocks = axes.flatMap((side, axis) =>
          axisBlock(
            axis,
            side,
            axis,
            source[axis]!,
            range(side).map((t) => ({ t, s: node.starts[axis]! + t * node.steps[axis]!, weight: 1 })),
          ),
        );
        return this.through(node.x, axes, blocks);
      }
      case 'expand': {
        const source = this.shape(node.x);
        const blocks = axes.flatMap((side, axis) =>
          axisBlock(
            axis,
            side,
            axis,
            source[axis]!,
            range(side).map((t) => ({ t, s: source[axis] === 1 ? 0 : t, weight: 1 })),
          ),
        );
        return this.through(node.x, axes, blocks);
      }
      case 'concat': {
        let start = 0;
        const parts = node.xs.map((x) => {
          const source = this.shape(x);
          const blocks = axes.flatMap((side, axis) =>
            axisBlock(
              axis,
              side,
              axis,
              source[axis]!,
              range(source[axis]!).map((s) => ({ t: axis === node.axis ? start + s : s, s, weight: 1 })),
            ),
          );
          start += source[node.axis]!;
          return this.through(x, axes, blocks);
        });
        return {
          axes,
          linear: parts.flatMap(({ linear }) => linear),
          products: parts.flatMap(({ products }) => products),
        };
      }
      case 'pad': {
        const source = this.shape(node.x);
        const inside = axes.flatMap((side, axis) =>
          axisBlock(
            axis,
            side,
            axis,
            source[axis]!,
            range(source[axis]!).map((s) => ({ t: node.before[axis]! + s, s, weight: 1 })),
          ),
        );
        const draft = this.through(node.x, axes, inside);
        if (node.value === 0) return draft;
        const value = BigInt(node.value);
        const one = { kind: 'one' } as const;
        const interior = axes.flatMap((side, axis) =>
          axisBlock(
            axis,
            side,
            axis,
            1,
            range(source[axis]!).map((s) => ({ t: node.before[axis]! + s, s: 0, weight: 1 })),
          ),
        );
        return {
          ...draft,
          linear: [
            ...draft.linear,
            { coefficient: value, source: one, blocks: broadcastBlocks(axes) },
            { coefficient: -value, source: one, blocks: interior },
          ],
        };
      }
    }
  }

  /** A tensor seen through wiring. */
  private through(x: TensorId, axes: readonly number[], blocks: readonly Block[]): Draft {
    const { linear, products } = this.draft(x);
    return {
      axes,
      linear: linear.map((term) => ({ ...term, blocks: composeBlocks(blocks, term.blocks) })),
      products: products.map((product) => ({ ...product, blocks: composeBlocks(blocks, product.blocks) })),
    };
  }

  /**
   * A contraction over a reshaped axis is a contraction over the axes it was made of: the weights are the same numbers
   * in the same order, and no list over the merged index is needed.
   */
  private withoutReshape(x: TensorId, rows: readonly number[]): { draftId: TensorId; axes: readonly number[] } {
    const node = this.producers.get(x);
    const shape = this.shape(x);
    if (node?.kind === 'reshape') {
      const before = this.shape(node.x);
      const inner = before.slice(rows.length);
      if (rows.every((side, axis) => before[axis] === side) && sizeOf(inner) === shape.at(-1))
        return { draftId: node.x, axes: inner };
    }
    return { draftId: x, axes: [shape.at(-1)!] };
  }

  private convolution(node: Extract<IntegerNode, { kind: 'conv' }>): Draft {
    const axes = this.shape(node.output);
    const [channels, height, width] = this.shape(node.x) as [number, number, number];
    const [, outHeight, outWidth] = axes as [number, number, number];
    const [kernelRows, kernelColumns] = node.window.kernel;
    const perGroup = channels / node.groups;
    const outPerGroup = node.outChannels / node.groups;
    const labels = [node.groups, outPerGroup, perGroup, kernelRows, kernelColumns, outHeight, outWidth];
    const [group, out, inner, kernelRow, kernelColumn, row, column] = [0, 1, 2, 3, 4, 5, 6] as const;
    const windowed: Block[] = [
      // Channel c is number c mod C/G of group floor(c / (C/G)).
      ...reshapeBlocks([node.groups, perGroup], [channels]).map((block) => ({
        ...block,
        target: block.target.map((axis) => (axis === 0 ? group : inner)),
      })),
      ...pairBlock(kernelRow, kernelRows, row, outHeight, 1, height, (k, o) => sourceIndex(node.window, 0, k, o)),
      ...pairBlock(kernelColumn, kernelColumns, column, outWidth, 2, width, (k, o) =>
        sourceIndex(node.window, 1, k, o),
      ),
    ];
    return this.productDraft(axes, labels, {
      weight: {
        labels: [group, out, inner, kernelRow, kernelColumn],
        constant: {
          name: `${node.name}.weight`,
          axes: [node.groups, outPerGroup, perGroup, kernelRows, kernelColumns],
          data: channelsFirst(node.weight, node.outChannels, kernelRows * kernelColumns, perGroup),
        },
      },
      q: {
        labels: [group, inner, kernelRow, kernelColumn, row, column],
        terms: this.view(node.x),
        blocks: windowed,
      },
      output: [group, out, row, column],
      bias: node.bias && { name: `${node.name}.bias`, data: node.bias, axis: 0 },
    });
  }

  /** Weights times a view, plus a bias along one axis. */
  private productDraft(
    axes: readonly number[],
    labels: readonly number[],
    parts: {
      weight: { labels: readonly number[]; constant: RawConstant };
      /** Terms over the axes of the operand tensor; `blocks` lead from labels to those axes (default: label i is axis i). */
      q: { labels: readonly number[]; terms: readonly LinearTerm[]; blocks?: readonly Block[] };
      output: readonly number[];
      bias: { name: string; data: Int32Array; axis: number } | null;
    },
  ): Draft {
    const { q, output, bias, weight } = parts;
    const toOperand = q.blocks ?? relabelled(q.labels, labels);
    const linear = bias
      ? [
          {
            coefficient: 1n,
            source: { kind: 'raw', constant: { name: bias.name, axes: [axes[bias.axis]!], data: bias.data } } as const,
            blocks: axes.flatMap((side, axis) =>
              axis === bias.axis ? axisBlock(axis, side, 0, side, diagonal(side)) : broadcastAxis(axis, side),
            ),
          },
        ]
      : [];
    const product: DraftProduct = {
      coefficient: 1n,
      labels,
      p: weight,
      q: {
        labels: [...q.labels].sort((a, b) => a - b),
        terms: q.terms.map((term) => ({ ...term, blocks: composeBlocks(toOperand, term.blocks) })),
        batched: true,
      },
      outputLabels: [...output].sort((a, b) => a - b),
      blocks: outputBlocks(axes, output, labels),
    };
    return { axes, linear, products: [product] };
  }

  private activationProduct(
    axes: readonly number[],
    labels: readonly number[],
    output: readonly number[],
    parts: Record<'p' | 'q', { labels: readonly number[]; terms: readonly LinearTerm[] }>,
  ): Draft {
    const operand = ({ labels: own, terms }: (typeof parts)['p']): Product['p'] => ({
      labels: [...own].sort((a, b) => a - b),
      terms: terms.map((term) => ({ ...term, blocks: composeBlocks(relabelled(own, labels), term.blocks) })),
      batched: true,
    });
    return {
      axes,
      linear: [],
      products: [
        {
          coefficient: 1n,
          labels,
          p: operand(parts.p),
          q: operand(parts.q),
          outputLabels: [...output].sort((a, b) => a - b),
          blocks: outputBlocks(axes, output, labels),
        },
      ],
    };
  }

  private constantTerms(constant: BroadcastConstant | null, axes: readonly number[], name: string): DraftTerm[] {
    if (constant === null) return [];
    const own = alignedAxes(constant, axes);
    return [
      {
        coefficient: 1n,
        source: { kind: 'raw', constant: { name, axes: own.axes.map((axis) => axes[axis]!), data: constant.data } },
        blocks: axes.flatMap((side, axis) => {
          const place = own.axes.indexOf(axis);
          return place < 0 ? broadcastAxis(axis, side) : axisBlock(axis, side, place, side, diagonal(side));
        }),
      },
    ];
  }

  private requant(node: RequantNode): Draft {
    const draft = this.draft(node.x);
    const axes = this.shape(node.output);
    // The slot takes the axes that its first product computes: a reshape between the two moves behind the slot.
    const first = draft.products[0];
    const regrouped = first !== undefined && isBijection(first.blocks);
    const slotAxes = regrouped ? first.outputLabels.map((label) => first.labels[label]!) : axes;
    const toSlot = regrouped
      ? first.blocks.map((block) => ({
          ...block,
          source: block.source.map((label) => first.outputLabels.indexOf(label)),
        }))
      : identityBlocks(axes);
    const { table } = node;
    const slot = this.addWitness(this.graph.tensors[node.output]!.name, slotAxes, {
      kind: 'tensor',
      tensor: node.output,
      shape: axes,
      toSlot,
    });
    const tableIndex =
      table.kind === 'clamp'
        ? this.addTable({ kind: 'clamp', lo: table.lo, hi: table.hi, qLo: table.qLo, qHi: table.qHi })
        : this.addTable({
            kind: 'values',
            qLo: table.qLo,
            rows: table.values.length,
            slot: this.addModel(`${node.name}.table`, [table.values.length], Float64Array.from(table.values)),
          });
    const scaled = this.materialise(draft, node);
    const fromSlot = inverseBlocks(toSlot);
    const rounding: LinearTerm = {
      coefficient: 1n << BigInt(REQUANT_SHIFT - 1),
      source: { kind: 'one' },
      blocks: broadcastBlocks(slotAxes),
    };
    this.requants.push({
      slot,
      table: tableIndex,
      expression: {
        axes: slotAxes,
        linear: [rounding, ...scaled.linear.map((term) => ({ ...term, blocks: composeBlocks(fromSlot, term.blocks) }))],
        products: scaled.products.map((product) =>
          checked({ ...product, blocks: composeBlocks(fromSlot, product.blocks) }),
        ),
      },
    });
    this.requantNodes.push(node);
    return this.slotDraft(slot, axes, toSlot);
  }

  /** Commits to the constants of an expression, times the multipliers of a requantisation. */
  private materialise(draft: Draft, scale: RequantNode | null): Expression {
    return {
      axes: draft.axes,
      linear: draft.linear.map((term) => this.materialiseTerm(term, scale)),
      products: draft.products.map((product) => this.materialiseProduct(product, scale)),
    };
  }

  private materialiseTerm(term: DraftTerm, scale: RequantNode | null): LinearTerm {
    const { source } = term;
    if (source.kind !== 'raw') return scaleTerm({ ...term, source }, scale);
    const { constant } = source;
    const along = scale && multiplierAxes(term.blocks, scale);
    const values = along === 'elsewhere' ? Float64Array.from(constant.data) : scaledValues(constant, along, scale);
    const committed: LinearTerm = {
      ...term,
      source: { kind: 'model', slot: this.addModel(constant.name, constant.axes, values) },
    };
    return along === 'elsewhere' ? scaleTerm(committed, scale) : committed;
  }

  private materialiseProduct(product: DraftProduct, scale: RequantNode | null): Product {
    if (!('constant' in product.p)) return scaleTerm({ ...product, p: product.p }, scale);
    const { constant, labels } = product.p;
    // Multiplier axes as labels, then as axes of the weight tensor.
    const onLabels = scale && multiplierAxes(product.blocks, scale);
    const along =
      onLabels === null || onLabels === 'elsewhere' ? onLabels : onLabels.map((label) => labels.indexOf(label));
    const foldable = along === null || (along !== 'elsewhere' && !along.includes(-1));
    const values = foldable
      ? scaledValues(constant, along as readonly number[] | null, scale)
      : Float64Array.from(constant.data);
    const slot = this.addModel(constant.name, constant.axes, values);
    const committed: Product = {
      ...product,
      p: {
        labels: [...labels].sort((a, b) => a - b),
        terms: [
          {
            coefficient: 1n,
            source: { kind: 'model', slot },
            blocks: labels.flatMap((label, axis) =>
              axisBlock(label, product.labels[label]!, axis, product.labels[label]!, diagonal(product.labels[label]!)),
            ),
          },
        ],
        batched: false,
      },
    };
    return foldable ? committed : scaleTerm(committed, scale);
  }

  private maximum(node: Extract<IntegerNode, { kind: 'maxPool' | 'reduceMax' }>): Draft {
    const { lo, hi } = this.graph.tensors[node.x]!.range;
    if (hi - lo >= 1 << LIMB_BITS)
      throw new AssayError(
        'NOT_PROVABLE',
        `a maximum over the range ${lo}..${hi}; differences must stay below ${1 << LIMB_BITS}`,
      );
    const target = this.shape(node.output);
    let axes = this.shape(node.x);
    let terms = this.view(node.x);
    /** One axis is reduced from its present side to `side`: tap k of output o reads index pick(k, o). */
    const reduce = (
      axis: number,
      side: number,
      count: number,
      pick: (tap: number, out: number) => number,
      isLast: boolean,
    ): void => {
      const next = axes.map((s, a) => (a === axis ? side : s));
      let taps: (readonly LinearTerm[])[] = range(count).map((tap) => {
        const from = axes;
        const blocks = next.flatMap((s, a) =>
          a === axis
            ? axisBlock(
                a,
                s,
                a,
                from[a]!,
                range(s).map((t) => ({ t, s: pick(tap, t), weight: 1 })),
              )
            : axisBlock(a, s, a, s, diagonal(s)),
        );
        return terms.map((term) => ({ ...term, blocks: composeBlocks(blocks, term.blocks) }));
      });
      while (taps.length > 1) {
        const groups = range(Math.ceil(taps.length / MAX_TAPS)).map((g) =>
          taps.slice(g * MAX_TAPS, (g + 1) * MAX_TAPS),
        );
        const last = isLast && groups.length === 1;
        taps = groups.map((group) => (group.length === 1 ? group[0]! : this.addMaximum(node, next, group, last)));
      }
      terms = taps[0]!;
      axes = next;
    };

    if (node.kind === 'reduceMax') {
      for (const axis of node.axes)
        while (axes[axis]! > 1) {
          const side = axes[axis]!;
          // Taps beyond the end repeat the last element, which changes no maximum.
          reduce(
            axis,
            Math.ceil(side / MAX_TAPS),
            Math.min(side, MAX_TAPS),
            (tap, out) => Math.min(out * MAX_TAPS + tap, side - 1),
            axis === node.axes.findLast((a) => axes[a]! > 1) && side <= MAX_TAPS,
          );
        }
    } else {
      const picks = ([0, 1] as const).map((d) =>
        insideTaps(node.window, d, target[d + 1]!, this.shape(node.x)[d + 1]!),
      );
      const [rows, columns] = node.window.kernel;
      if (rows * columns > 1 && rows * columns <= MAX_TAPS) {
        const source = axes;
        const taps = range(rows * columns).map((tap) => {
          const at = [Math.floor(tap / columns), tap % columns];
          const blocks = target.flatMap((side, axis) =>
            axis === 0
              ? axisBlock(0, side, 0, side, diagonal(side))
              : axisBlock(
                  axis,
                  side,
                  axis,
                  source[axis]!,
                  range(side).map((t) => ({ t, s: picks[axis - 1]!(at[axis - 1]!, t), weight: 1 })),
                ),
          );
          return terms.map((term) => ({ ...term, blocks: composeBlocks(blocks, term.blocks) }));
        });
        terms = this.addMaximum(node, target, taps, true);
        axes = target;
      } else {
        reduce(2, target[2]!, columns, picks[1]!, rows === 1);
        reduce(1, target[1]!, rows, picks[0]!, true);
      }
    }
    return { axes: target, linear: terms, products: [] };
  }

  /** A slot that holds the elementwise maximum of 2 to 4 views. */
  private addMaximum(
    node: IntegerNode,
    axes: readonly number[],
    taps: readonly (readonly LinearTerm[])[],
    isOutput: boolean,
  ): readonly LinearTerm[] {
    const slot = this.addWitness(
      `${node.name}.max${this.maxima.length}`,
      axes,
      isOutput
        ? { kind: 'tensor', tensor: node.output, shape: axes, toSlot: identityBlocks(axes) }
        : { kind: 'maximum' },
    );
    this.maxima.push({ slot, taps });
    return [{ coefficient: 1n, source: { kind: 'witness', slot }, blocks: identityBlocks(axes) }];
  }
}

/**
 * Outputs that everybody computes from a published tensor: an ArgMax at the end of the graph, perhaps reshaped.
 * By tensor: what is published instead; the nodes in between have no proof and need none.
 */
function publicTail(graph: IntegerGraph): Map<TensorId, { tensor: TensorId; argMaxAxis: number | null }> {
  const consumers = new Map<TensorId, IntegerNode[]>();
  for (const node of graph.nodes)
    for (const id of operandsOf(node)) consumers.set(id, [...(consumers.get(id) ?? []), node]);
  const tail = new Map<TensorId, { tensor: TensorId; argMaxAxis: number | null }>();
  for (const node of graph.nodes) {
    if (node.kind !== 'argMax') continue;
    const chain = [node.output];
    for (
      let readers = consumers.get(node.output);
      readers?.length === 1 && readers[0]!.kind === 'reshape';
      readers = consumers.get(chain.at(-1)!)
    )
      chain.push(readers[0]!.output);
    const end = chain.at(-1)!;
    if (
      consumers.has(end) ||
      !graph.outputs.includes(end) ||
      chain.slice(0, -1).some((id) => graph.outputs.includes(id))
    )
      continue;
    for (const id of chain) tail.set(id, { tensor: node.x, argMaxAxis: node.axis });
  }
  return tail;
}

/** Weights [out][tap][channel] as [out][channel][tap], the order in which a view of the input is contracted. */
function channelsFirst(weight: ArrayLike<number>, outChannels: number, taps: number, channels: number): number[] {
  return Array.from({ length: outChannels * channels * taps }, (_, i) => {
    const [tap, channel, out] = [i % taps, Math.floor(i / taps) % channels, Math.floor(i / (taps * channels))];
    return weight[(out * taps + tap) * channels + channel]!;
  });
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const diagonal = (side: number): Entry[] => range(side).map((i) => ({ t: i, s: i, weight: 1 }));

/** Axis of the target along which the source repeats. */
const broadcastAxis = (axis: number, side: number): Block[] =>
  axisBlock(
    axis,
    side,
    0,
    1,
    range(side).map((t) => ({ t, s: 0, weight: 1 })),
  );
const broadcastBlocks = (axes: readonly number[]): Block[] => axes.flatMap((side, axis) => broadcastAxis(axis, side));

/** Blocks from the label space to an operand whose axis i carries label labels[i]. */
function relabelled(own: readonly number[], sides: readonly number[]): Block[] {
  return own.flatMap((label, axis) => axisBlock(label, sides[label]!, axis, sides[label]!, diagonal(sides[label]!)));
}

/** Blocks from a tensor whose axes are, in order, the output labels (or groups of them) to the label space. */
function outputBlocks(axes: readonly number[], output: readonly number[], labels: readonly number[]): Block[] {
  return reshapeBlocks(
    axes,
    output.map((label) => labels[label]!),
  ).map((block) => ({ ...block, source: block.source.map((place) => output[place]!) }));
}

/** Index that tap k of output o reads along spatial dimension d; may lie outside the plane. */
function sourceIndex(window: Window2d, d: 0 | 1, k: number, o: number): number {
  return o * window.strides[d] + k * window.dilations[d] - window.pads[d];
}

/** All taps of a window along one dimension, as entries from output to plane. */
function windowEntries(window: Window2d, d: 0 | 1, outSide: number, side: number): Entry[] {
  return range(outSide).flatMap((t) =>
    range(window.kernel[d])
      .map((k) => ({ t, s: sourceIndex(window, d, k, t), weight: 1 }))
      .filter(({ s }) => s >= 0 && s < side),
  );
}

/** Per tap and output the index it reads; a tap outside the plane repeats one inside, which changes no maximum. */
function insideTaps(window: Window2d, d: 0 | 1, outSide: number, side: number): (tap: number, out: number) => number {
  const inside = range(outSide).map((o) =>
    range(window.kernel[d])
      .map((k) => sourceIndex(window, d, k, o))
      .filter((s) => s >= 0 && s < side),
  );
  return (tap, out) => {
    const s = sourceIndex(window, d, tap, out);
    return s >= 0 && s < side ? s : inside[out]![0]!;
  };
}

/** Two target axes (tap, output) read from one source axis. */
function pairBlock(
  first: number,
  firstSide: number,
  second: number,
  secondSide: number,
  source: number,
  sourceSide: number,
  index: (k: number, o: number) => number,
): Block[] {
  const entries = range(firstSide).flatMap((k) =>
    range(secondSide)
      .map((o) => ({ t: k * secondSide + o, s: index(k, o), weight: 1 }))
      .filter(({ s }) => s >= 0 && s < sourceSide),
  );
  if (firstSide === 1) return axisBlock(second, secondSide, source, sourceSide, entries);
  if (secondSide === 1) return axisBlock(first, firstSide, source, sourceSide, entries);
  return [
    {
      target: [first, second],
      source: sourceSide === 1 ? [] : [source],
      targetSides: [firstSide, secondSide],
      sourceSides: sourceSide === 1 ? [] : [sourceSide],
      entries,
    },
  ];
}

/** The axes of a tensor along which a broadcast constant varies. */
function alignedAxes(constant: BroadcastConstant, axes: readonly number[]): { axes: number[] } {
  const offset = axes.length - constant.shape.length;
  return { axes: range(axes.length).filter((axis) => axis >= offset && constant.shape[axis - offset]! > 1) };
}

/**
 * The source axes along which the multipliers of a requantisation vary, if the map keeps that axis whole;
 * null: one multiplier for all; 'elsewhere': it must be multiplied into the map.
 */
function multiplierAxes(blocks: readonly Block[], scale: RequantNode): readonly number[] | null | 'elsewhere' {
  if (scale.multipliers.length === 1) return null;
  const block = blocks.find(({ target }) => target.includes(scale.channelAxis!));
  const whole = block && block.entries === null && block.target.length === 1;
  return whole ? block.source : 'elsewhere';
}

function scaledValues(constant: RawConstant, along: readonly number[] | null, scale: RequantNode | null): SlotValues {
  const values = Float64Array.from(constant.data);
  if (scale === null) return values;
  // The bound of 2^52 holds for the sum; where large constants cancel, one alone may pass what a double holds exactly.
  const exact = (product: number): number => {
    if (!Number.isSafeInteger(product))
      throw new AssayError(
        'NOT_PROVABLE',
        `an element of '${constant.name}' times its multiplier is ${product}, beyond 2^53`,
      );
    return product;
  };
  if (along === null) return values.map((v) => exact(v * scale.multipliers[0]!));
  const strides = constant.axes.map((_, axis) => sizeOf(constant.axes.slice(axis + 1)));
  return values.map((v, i) => {
    const index = along.reduce(
      (m, axis) => m * constant.axes[axis]! + (Math.floor(i / strides[axis]!) % constant.axes[axis]!),
      0,
    );
    return exact(v * scale.multipliers[index]!);
  });
}

/** A term or product times the multipliers of a requantisation. */
function scaleTerm<T extends { readonly coefficient: bigint; readonly blocks: readonly Block[] }>(
  term: T,
  scale: RequantNode | null,
): T {
  if (scale === null) return term;
  if (scale.multipliers.length === 1) return { ...term, coefficient: term.coefficient * BigInt(scale.multipliers[0]!) };
  const axis = scale.channelAxis!;
  const blocks = term.blocks.map((block) => {
    if (!block.target.includes(axis)) return block;
    const place = block.target.indexOf(axis);
    const inner = sizeOf(block.targetSides.slice(place + 1));
    const entries = block.entries ?? diagonal(sizeOf(block.targetSides));
    return {
      ...block,
      entries: entries.map((entry) => ({
        ...entry,
        weight: entry.weight * scale.multipliers[Math.floor(entry.t / inner) % block.targetSides[place]!]!,
      })),
    };
  });
  return { ...term, blocks };
}

const splitting = (expression: Expression): Expression => ({
  ...expression,
  products: expression.products.map(checked),
});

/** A product whose output weights split between its operands. */
function checked(product: Product): Product {
  const role = (label: number): string => {
    const [inP, inQ] = [product.p.labels.includes(label), product.q.labels.includes(label)];
    return inP && inQ ? 'shared' : inP ? 'p' : 'q';
  };
  for (const { source } of product.blocks)
    if (new Set(source.map(role)).size > 1)
      throw new AssayError('NOT_PROVABLE', 'wiring mixes channels and positions of a product before it is requantised');
  return product;
}
