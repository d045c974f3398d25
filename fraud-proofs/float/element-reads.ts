/** What the step of one element reads, and where. Indices are in memory order, item outermost. */
import type { Window2d } from '../../graph/integer/types.js';
import { sizeOf, stridesOf } from '../../graph/tensor.js';
import { isConstant, type FloatConstant, type FloatGraph, type FloatOperand } from './types.js';

/** One element: of a value, or of constant number `ordinal` of the node. */
export type Place =
  | { readonly value: number; readonly index: number }
  | { readonly ordinal: number; readonly constant: FloatConstant; readonly index: number };

export type ElementReads =
  /** Sum over `at` of x (0 where -1: padding) times weight, from `first` on, plus an element of the bias. */
  | {
      readonly rule: 'contraction';
      readonly x: number;
      readonly at: Int32Array;
      readonly weight: FloatConstant;
      readonly first: number;
      readonly bias: FloatConstant | null;
      readonly channel: number;
    }
  /** Padding is left out of `at`. */
  | { readonly rule: 'mean'; readonly x: number; readonly at: Int32Array; readonly divisor: number }
  | { readonly rule: 'max'; readonly x: number; readonly at: Int32Array }
  | { readonly rule: 'add' | 'sub' | 'mul'; readonly a: Place; readonly b: Place }
  | { readonly rule: 'relu' | 'copy'; readonly x: number; readonly index: number };

/** @param element of the value, in memory order, item outermost; the value is no input. */
export function elementReads(graph: FloatGraph, value: number, element: number): ElementReads {
  const node = graph.nodes[value - graph.inputs.length]!;
  const { shape } = graph.values[value]!;
  const size = sizeOf(shape);
  const item = Math.floor(element / size);
  const within = element % size;
  switch (node.kind) {
    case 'conv': {
      const x = graph.values[node.x]!.shape as readonly [number, number, number];
      const [out, rows, columns, depth] = node.weight.shape as readonly [number, number, number, number];
      const [channel, row, column] = axesOf(shape, within) as [number, number, number];
      const base = item * sizeOf(x) + Math.floor(channel / (out / node.groups)) * depth * x[1] * x[2];
      const at = new Int32Array(rows * columns * depth);
      tapsOf(node.window, x, row, column).forEach((place, tap) => {
        for (let c = 0; c < depth; c++) at[tap * depth + c] = place < 0 ? -1 : base + place + c * x[1] * x[2];
      });
      return {
        rule: 'contraction',
        x: node.x,
        at,
        weight: node.weight,
        first: channel * at.length,
        bias: node.bias,
        channel,
      };
    }
    case 'dense': {
      const [out, depth] = node.weight.shape as readonly [number, number];
      const base = Math.floor(element / out) * depth;
      const at = Int32Array.from({ length: depth }, (_, i) => base + i);
      const channel = element % out;
      return {
        rule: 'contraction',
        x: node.x,
        at,
        weight: node.weight,
        first: channel * depth,
        bias: node.bias,
        channel,
      };
    }
    case 'averagePool':
    case 'maxPool': {
      const x = graph.values[node.x]!.shape as readonly [number, number, number];
      const [channel, row, column] = axesOf(shape, within) as [number, number, number];
      const base = item * sizeOf(x) + channel * x[1] * x[2];
      const taps = tapsOf(node.window, x, row, column);
      const at = Int32Array.from(
        taps.filter((place) => place >= 0),
        (place) => base + place,
      );
      if (node.kind === 'maxPool') return { rule: 'max', x: node.x, at };
      return { rule: 'mean', x: node.x, at, divisor: node.countsPadding ? taps.length : at.length };
    }
    case 'add':
    case 'sub':
    case 'mul': {
      const axes = axesOf(shape, within);
      return { rule: node.kind, a: placeOf(graph, node.a, axes, item), b: placeOf(graph, node.b, axes, item) };
    }
    case 'relu':
      return { rule: 'relu', x: node.x, index: element };
    case 'reshape':
      return { rule: 'copy', x: node.x, index: element };
  }
}

/** Elements of constants that a step reads, by ordinal: a range of indices. */
export function constantReads(
  reads: ElementReads,
): { ordinal: number; constant: FloatConstant; first: number; count: number }[] {
  if (reads.rule === 'contraction') {
    const { weight, first, at, bias, channel } = reads;
    const made = [{ ordinal: 0, constant: weight, first, count: at.length }];
    return bias === null ? made : [...made, { ordinal: 1, constant: bias, first: channel, count: 1 }];
  }
  if (!('a' in reads)) return [];
  return [reads.a, reads.b].flatMap((place) =>
    'value' in place ? [] : [{ ordinal: place.ordinal, constant: place.constant, first: place.index, count: 1 }],
  );
}

/** Elements of values that a step reads. */
export function valueReads(reads: ElementReads): { value: number; indices: number[] }[] {
  if ('at' in reads) return [{ value: reads.x, indices: Array.from(reads.at).filter((index) => index >= 0) }];
  if ('a' in reads)
    return [reads.a, reads.b].flatMap((place) =>
      'value' in place ? [{ value: place.value, indices: [place.index] }] : [],
    );
  return [{ value: reads.x, indices: [reads.index] }];
}

function axesOf(shape: readonly number[], within: number): number[] {
  return stridesOf(shape).map((stride, axis) => Math.floor(within / stride) % shape[axis]!);
}

function placeOf(graph: FloatGraph, operand: FloatOperand, axes: readonly number[], item: number): Place {
  const shape = isConstant(operand) ? operand.shape : graph.values[operand]!.shape;
  const strides = stridesOf(shape);
  const within = axes.reduce((sum, index, axis) => sum + (shape[axis] === 1 ? 0 : index * strides[axis]!), 0);
  return isConstant(operand)
    ? { ordinal: 0, constant: operand, index: within }
    : { value: operand, index: item * sizeOf(shape) + within };
}

/** Index in the plane of each tap of the window at an output's row and column; -1 outside the input. */
function tapsOf(
  { kernel, strides, dilations, pads }: Window2d,
  [, height, width]: readonly [number, number, number],
  row: number,
  column: number,
): number[] {
  const taps: number[] = [];
  for (let i = 0; i < kernel[0]; i++)
    for (let j = 0; j < kernel[1]; j++) {
      const y = row * strides[0] + i * dilations[0] - pads[0];
      const z = column * strides[1] + j * dilations[1] - pads[1];
      taps.push(y < 0 || y >= height || z < 0 || z >= width ? -1 : y * width + z);
    }
  return taps;
}

/** How many roundings the terms of a sum pass through at most (FloatStep.sol). */
export function roundingsOf(reads: ElementReads): number {
  if (reads.rule === 'contraction') return reads.at.length + 1;
  return reads.rule === 'mean' ? reads.at.length + 1 : 1;
}
