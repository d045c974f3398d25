/** Products: weights times a view, and products of two views, as einsums over labelled axes. */
import type { IntegerNode, TensorId } from '../../graph/integer/types.js';
import { sizeOf } from '../../graph/tensor.js';
import { axisBlock, composeBlocks, reshapeBlocks, type Block } from './blocks.js';
import {
  alignedAxes,
  constantTerms,
  diagonal,
  range,
  broadcastAxis,
  sourceIndex,
  type Draft,
  type DraftProduct,
  type RawConstant,
} from './drafts.js';
import type { ProgramBuilder } from './program-builder.js';
import type { LinearTerm, Product } from './types.js';

type NodeOf<K extends IntegerNode['kind']> = Extract<IntegerNode, { kind: K }>;

export function matmul(b: ProgramBuilder, node: NodeOf<'matmul'>): Draft {
  const axes = b.shape(node.output);
  const shape = b.shape(node.x);
  const rows = shape.slice(0, -1);
  const { draftId, axes: contracted } = withoutReshape(b, node.x, rows);
  const labels = [...rows, ...contracted, node.outFeatures];
  const out = labels.length - 1;
  const inner = contracted.map((_, i) => rows.length + i);
  return productDraft(axes, labels, {
    weight: {
      labels: [out, ...inner],
      constant: { name: `${node.name}.weight`, axes: [node.outFeatures, ...contracted], data: node.weight },
    },
    q: { labels: [...rows.map((_, i) => i), ...inner], terms: b.view(draftId) },
    output: [...rows.map((_, i) => i), out],
    bias: node.bias && { name: `${node.name}.bias`, data: node.bias, axis: axes.length - 1 },
  });
}

/**
 * A contraction over a reshaped axis is a contraction over the axes it was made of: the weights are the same numbers
 * in the same order, and no list over the merged index is needed.
 */
function withoutReshape(
  b: ProgramBuilder,
  x: TensorId,
  rows: readonly number[],
): { draftId: TensorId; axes: readonly number[] } {
  const node = b.producers.get(x);
  const shape = b.shape(x);
  if (node?.kind === 'reshape') {
    const before = b.shape(node.x);
    const inner = before.slice(rows.length);
    if (rows.every((side, axis) => before[axis] === side) && sizeOf(inner) === shape.at(-1))
      return { draftId: node.x, axes: inner };
  }
  return { draftId: x, axes: [shape.at(-1)!] };
}

export function matmulActivations(builder: ProgramBuilder, node: NodeOf<'matmulActivations'>): Draft {
  const axes = builder.shape(node.output);
  const [a, b] = [builder.shape(node.a), builder.shape(node.b)];
  const lead = a.slice(0, -2);
  const [m, k, n] = [lead.length, lead.length + 1, lead.length + 2];
  const labels = [...lead, a.at(-2)!, a.at(-1)!, b.at(-2)!];
  const leadLabels = lead.map((_, i) => i);
  return activationProduct(axes, labels, [...leadLabels, m, n], {
    p: { labels: [...leadLabels, m, k], terms: builder.view(node.a) },
    q: { labels: [...leadLabels, n, k], terms: builder.view(node.b) },
  });
}

export function mul(b: ProgramBuilder, node: NodeOf<'mul'>): Draft {
  const axes = b.shape(node.output);
  const labels = axes.map((_, axis) => axis);
  return activationProduct(axes, axes, labels, {
    p: { labels, terms: b.view(node.a) },
    q: { labels, terms: b.view(node.b) },
  });
}

export function scale(b: ProgramBuilder, node: NodeOf<'scale'>): Draft {
  const axes = b.shape(node.output);
  const factor = alignedAxes(node.factor, axes);
  const labels = axes.map((_, axis) => axis);
  const draft = productDraft(axes, axes, {
    weight: {
      labels: factor.axes,
      constant: {
        name: `${node.name}.factor`,
        axes: factor.axes.map((axis) => axes[axis]!),
        data: node.factor.data,
      },
    },
    q: { labels, terms: b.view(node.x) },
    output: labels,
    bias: null,
  });
  return { ...draft, linear: constantTerms(node.bias, axes, `${node.name}.bias`) };
}

export function convolution(b: ProgramBuilder, node: Extract<IntegerNode, { kind: 'conv' }>): Draft {
  const axes = b.shape(node.output);
  const [channels, height, width] = b.shape(node.x) as [number, number, number];
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
    ...pairBlock(kernelColumn, kernelColumns, column, outWidth, 2, width, (k, o) => sourceIndex(node.window, 1, k, o)),
  ];
  return productDraft(axes, labels, {
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
      terms: b.view(node.x),
      blocks: windowed,
    },
    output: [group, out, row, column],
    bias: node.bias && { name: `${node.name}.bias`, data: node.bias, axis: 0 },
  });
}

/** Weights times a view, plus a bias along one axis. */
function productDraft(
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

function activationProduct(
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

/** Weights [out][tap][channel] as [out][channel][tap], the order in which a view of the input is contracted. */
function channelsFirst(weight: ArrayLike<number>, outChannels: number, taps: number, channels: number): number[] {
  return Array.from({ length: outChannels * channels * taps }, (_, i) => {
    const [tap, channel, out] = [i % taps, Math.floor(i / taps) % channels, Math.floor(i / (taps * channels))];
    return weight[(out * taps + tap) * channels + channel]!;
  });
}

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
