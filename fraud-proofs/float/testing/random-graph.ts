/** Test helper: small float graphs of every kind, and what a plain machine makes of them. */
import { sizeOf } from '../../../graph/tensor.js';
import type { Window2d } from '../../../graph/integer/types.js';
import { elementReads } from '../element-reads.js';
import { sumOf } from '../judge-element.js';
import type { FloatConstant, FloatGraph, FloatNode, FloatOperand, FloatValue } from '../types.js';
import { numberOfBits } from './random-sums.js';

export const FLOAT_KINDS: readonly FloatNode['kind'][] = [
  'conv',
  'dense',
  'averagePool',
  'maxPool',
  'add',
  'sub',
  'mul',
  'relu',
  'reshape',
];

/** One node of the kind over inputs of random shape, in random layouts. */
export function randomGraph(next: () => number, kind: FloatNode['kind']): FloatGraph {
  const upTo = (most: number): number => 1 + Math.floor(next() * most);
  const constant = (shape: number[]): FloatConstant => ({
    shape,
    data: Float32Array.from({ length: sizeOf(shape) }, () => (next() * 2 - 1) * 2 ** Math.floor(next() * 4)),
  });
  const inputs: number[][] = [];
  const input = (shape: number[]): number => inputs.push(shape) - 1;
  const window = (height: number, width: number): Window2d => {
    const kernel = [upTo(Math.min(3, height)), upTo(Math.min(3, width))] as const;
    const side = (axis: 0 | 1): number => (kernel[axis] > 1 && next() < 0.5 ? 1 : 0);
    const dilations = kind === 'averagePool' ? ([1, 1] as const) : ([upTo(2), upTo(2)] as const);
    const fits = (kernel[0] - 1) * dilations[0] < height && (kernel[1] - 1) * dilations[1] < width;
    return {
      kernel,
      strides: [upTo(2), upTo(2)],
      dilations: fits ? dilations : [1, 1],
      pads: [side(0), side(1), side(0), side(1)],
    };
  };
  const sidesOf = ({ kernel, strides, dilations, pads }: Window2d, height: number, width: number): number[] =>
    [height, width].map(
      (side, axis) =>
        Math.floor(
          (side + pads[axis]! + pads[axis + 2]! - (kernel[axis]! - 1) * dilations[axis]! - 1) / strides[axis]!,
        ) + 1,
    );
  const image = (channels: number): [number, number, number] => [channels, 1 + upTo(6), 1 + upTo(6)];
  let node: FloatNode;
  let shape: number[];
  switch (kind) {
    case 'conv': {
      const groups = upTo(3);
      const [channels, height, width] = image(groups * upTo(3));
      const out = groups * upTo(3);
      const given = window(height, width);
      const weight = constant([out, ...given.kernel, channels / groups]);
      const bias = next() < 0.5 ? null : constant([out]);
      node = { kind, x: input([channels, height, width]), window: given, groups, weight, bias };
      shape = [out, ...sidesOf(given, height, width)];
      break;
    }
    case 'dense': {
      const rows = next() < 0.5 ? [] : [upTo(4)];
      const [depth, out] = [upTo(90), upTo(4)];
      const bias = rows.length > 0 || next() < 0.5 ? null : constant([out]);
      node = { kind, x: input([...rows, depth]), weight: constant([out, depth]), bias };
      shape = [...rows, out];
      break;
    }
    case 'averagePool':
    case 'maxPool': {
      const [channels, height, width] = image(upTo(3));
      const given = window(height, width);
      const x = input([channels, height, width]);
      node = kind === 'maxPool' ? { kind, x, window: given } : { kind, x, window: given, countsPadding: next() < 0.5 };
      shape = [channels, ...sidesOf(given, height, width)];
      break;
    }
    case 'add':
    case 'sub':
    case 'mul': {
      shape = Array.from({ length: upTo(3) }, () => upTo(5));
      const broadcast = (): number[] => shape.map((side) => (next() < 0.3 ? 1 : side));
      const operand = (): FloatOperand => (next() < 0.4 ? constant(broadcast()) : input(broadcast()));
      const a = operand();
      node = { kind, a, b: typeof a === 'number' ? operand() : input([...shape]) };
      const sides = [node.a, node.b].map((given) => (typeof given === 'number' ? inputs[given]! : given.shape));
      shape = shape.map((_, axis) => Math.max(...sides.map((given) => given[axis]!)));
      break;
    }
    case 'relu':
      shape = image(upTo(3));
      node = { kind, x: input([...shape]) };
      break;
    case 'reshape': {
      const from = image(upTo(3));
      shape = next() < 0.5 ? [sizeOf(from)] : [from[0] * from[1], from[2]];
      node = { kind, x: input(from) };
      break;
    }
  }
  const shuffled = (rank: number): number[] =>
    Array.from({ length: rank }, (_, axis) => ({ axis, key: next() }))
      .sort((a, b) => a.key - b.key)
      .map(({ axis }) => axis);
  const values = [...inputs, shape].map((sides, v): FloatValue => ({
    name: `t${v}`,
    shape: sides,
    layout: shuffled(sides.length),
  }));
  return {
    name: `random ${kind}`,
    inputs: inputs.map((_, v) => ({ name: `in${v}`, value: v })),
    nodes: [node],
    values,
    outputs: [{ name: 'out', value: inputs.length }],
  };
}

/** Numbers of many sizes, zeros of both signs, and rarely anything: subnormals, infinities, NaNs. */
export function randomInput(next: () => number, length: number, wild: boolean): Float32Array {
  return Float32Array.from({ length }, () => {
    const draw = next();
    if (draw < 0.05) return next() < 0.5 ? 0 : -0;
    if (wild && draw < 0.1) return numberOfBits(Math.floor(next() * 2 ** 32));
    if (wild && draw < 0.15) return numberOfBits(Math.floor(next() * 2 ** 24) + (next() < 0.5 ? 0x80000000 : 0));
    return (next() * 2 - 1) * 2 ** Math.floor(next() * 8 - 4);
  });
}

/** Every slot, each sum from left to right. */
export function runPlainly(graph: FloatGraph, inputs: readonly Float32Array[], items: number): Float32Array[] {
  const slots = [...inputs];
  graph.nodes.forEach((_, j) => {
    const value = graph.inputs.length + j;
    const made = new Float32Array(items * sizeOf(graph.values[value]!.shape));
    for (let element = 0; element < made.length; element++) made[element] = elementOf(graph, slots, value, element);
    slots.push(made);
  });
  return slots;
}

function elementOf(graph: FloatGraph, slots: readonly Float32Array[], value: number, element: number): number {
  const reads = elementReads(graph, value, element);
  const sum = sumOf(reads, slots);
  if (sum !== null) {
    let total = 0;
    sum.x.forEach((bits, i) => {
      const product = Math.fround(numberOfBits(bits) * numberOfBits(sum.w[i]!));
      total = i === 0 ? product : Math.fround(total + product);
    });
    return Math.fround(total / sum.divisor);
  }
  if (reads.rule === 'max')
    return Array.from(reads.at, (index) => slots[reads.x]![index]!).reduce((a, b) => (b > a ? b : a));
  if (reads.rule !== 'relu' && reads.rule !== 'copy') throw new TypeError(reads.rule);
  const x = slots[reads.x]![reads.index]!;
  return reads.rule === 'copy' || x > 0 ? x : 0;
}
