/** Shapes of the integer graph's tensors. */
import { AssayError } from '../../common/errors.js';
import { sizeOf } from '../tensor.js';
import type { BroadcastConstant, IntegerNode, Window2d } from './types.js';

/** A node before its output tensor has an id. */
export type NewNode = IntegerNode extends infer N ? (N extends IntegerNode ? Omit<N, 'output'> : never) : never;

/**
 * The tensors of a graph together have fewer elements per item than this: 1 GiB as int32, several times what large
 * vision models have. A few bytes of Expand or Pad would otherwise ask for any amount of memory.
 */
export const GRAPH_SIZE_LIMIT = 2 ** 28;

/** Kernel, strides, dilations and pads are below this; a kernel has at most this many taps, since an engine may unroll them. */
const WINDOW_LIMIT = 2 ** 16;

/** Refusal of a node: message with the node's kind and name in front. */
export function graphError(node: NewNode | null, message: string, meta: Record<string, unknown> = {}): AssayError {
  const where = node === null ? 'integer graph' : `${node.kind} node '${node.name}'`;
  return new AssayError('GRAPH_INVALID', `${where}: ${message}`, {
    meta: node === null ? meta : { node: node.name, kind: node.kind, ...meta },
  });
}

export const showShape = (shape: readonly number[]): string => `[${shape.join(', ')}]`;

const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((side, axis) => side === b[axis]);

const isIndex = (value: number, side: number): boolean => Number.isInteger(value) && value >= 0 && value < side;

export const isInt32 = (value: number): boolean => Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31;

/** Sides of a window's output: floor((side + pads - dilated kernel) / stride) + 1. */
export function windowOutput(window: Window2d, height: number, width: number): [number, number] {
  const side = (axis: 0 | 1, size: number): number => {
    const extent = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
    return Math.floor((size + window.pads[axis] + window.pads[axis + 2]! - extent) / window.strides[axis]) + 1;
  };
  return [side(0, height), side(1, width)];
}

/** @throws AssayError GRAPH_INVALID where the constant cannot be broadcast against `shape`, or its data has another length. */
export function checkBroadcast(
  node: NewNode,
  what: string,
  constant: BroadcastConstant,
  shape: readonly number[],
): void {
  const offset = shape.length - constant.shape.length;
  const fits = offset >= 0 && constant.shape.every((side, axis) => side === 1 || side === shape[axis + offset]);
  if (!fits)
    throw graphError(node, `${what} of shape ${showShape(constant.shape)} cannot be broadcast to ${showShape(shape)}`);
  if (constant.data.length !== sizeOf(constant.shape))
    throw graphError(
      node,
      `${what} has ${constant.data.length} elements, its shape ${showShape(constant.shape)} needs ${sizeOf(constant.shape)}`,
    );
}

function checkLength(node: NewNode, what: string, found: number, expected: number): void {
  if (found !== expected) throw graphError(node, `${what} has ${found} elements, expected ${expected}`);
}

function checkAxes(node: NewNode, axes: readonly number[], rank: number): void {
  const sorted = axes.every((axis, i) => isIndex(axis, rank) && (i === 0 || axes[i - 1]! < axis));
  if (axes.length === 0 || !sorted)
    throw graphError(node, `axes [${axes.join(', ')}] must be one or more axes of 0..${rank - 1}, rising`);
}

/** Output sides of a window over a [C, H, W] operand, after checking the window. */
function windowed(node: NewNode, window: Window2d, x: readonly number[]): [number, number] {
  if (x.length !== 3) throw graphError(node, `operand has shape ${showShape(x)}, expected [C, H, W]`);
  const positive = [...window.kernel, ...window.strides, ...window.dilations];
  if (positive.length !== 6 || !positive.every((v) => Number.isInteger(v) && v >= 1 && v < WINDOW_LIMIT))
    throw graphError(
      node,
      `kernel, strides and dilations must be positive integers below 2^16, found ${positive.join(', ')}`,
    );
  const taps = window.kernel[0] * window.kernel[1];
  if (taps > WINDOW_LIMIT)
    throw graphError(node, `kernel ${window.kernel.join('x')} has ${taps} taps, at most 2^16 are allowed`);
  if (window.pads.length !== 4 || !window.pads.every((v) => Number.isInteger(v) && v >= 0 && v < WINDOW_LIMIT))
    throw graphError(
      node,
      `pads must be four integers of 0..2^16-1 (top, left, bottom, right), found ${window.pads.join(', ')}`,
    );
  const sides = windowOutput(window, x[1]!, x[2]!);
  if (sides[0] < 1 || sides[1] < 1)
    throw graphError(
      node,
      `window ${window.kernel.join('x')} with dilations ${window.dilations.join('x')} does not fit ${showShape(x)} with pads ${window.pads.join(', ')}`,
    );
  return sides;
}

/**
 * True where some output position's taps along an axis all fall into padding. Window o has its first tap at
 * first = o * stride - pad. Where first >= 0 it is empty iff first >= side, so that the last window decides; where
 * first < 0, of which there are at most pad / stride, dilated taps may step over a short plane in any of them.
 */
function hasEmptyWindow(window: Window2d, axis: 0 | 1, side: number, outSide: number): boolean {
  const [kernel, stride, dilation, pad] = [
    window.kernel[axis],
    window.strides[axis],
    window.dilations[axis],
    window.pads[axis],
  ];
  if ((outSide - 1) * stride - pad >= side) return true;
  for (let o = 0; o < outSide && o * stride < pad; o++) {
    const first = o * stride - pad;
    // The first tap that is not before the plane.
    const tap = Math.ceil(-first / dilation);
    if (tap >= kernel || first + tap * dilation >= side) return true;
  }
  return false;
}

/**
 * Item shape of a node's output.
 * `given` is the shape wanted for reshape, slice and expand, whose nodes do not hold it.
 * @throws AssayError GRAPH_INVALID where operands, attributes or constants do not fit.
 */
export function inferShape(
  node: NewNode,
  operand: (id: number) => readonly number[],
  given: readonly number[] | undefined,
): number[] {
  const shape = rawShape(node, operand, given);
  if (!shape.every((side) => Number.isInteger(side) && side >= 1) || sizeOf(shape) >= GRAPH_SIZE_LIMIT)
    throw graphError(node, `output shape ${showShape(shape)} must have sides >= 1 and fewer than 2^28 elements`);
  return shape;
}

function rawShape(
  node: NewNode,
  operand: (id: number) => readonly number[],
  given: readonly number[] | undefined,
): number[] {
  const wanted = (): readonly number[] => {
    if (given === undefined) throw graphError(node, 'the output shape must be given');
    return given;
  };
  switch (node.kind) {
    case 'matmul': {
      const x = operand(node.x);
      if (x.length === 0 || x.at(-1) !== node.inFeatures)
        throw graphError(node, `operand has shape ${showShape(x)}, expected [..., ${node.inFeatures}]`);
      checkLength(node, 'weight', node.weight.length, node.outFeatures * node.inFeatures);
      if (node.bias) checkLength(node, 'bias', node.bias.length, node.outFeatures);
      return [...x.slice(0, -1), node.outFeatures];
    }
    case 'matmulActivations': {
      const a = operand(node.a);
      const b = operand(node.b);
      if (a.length < 2 || a.length !== b.length || a.at(-1) !== b.at(-1) || !sameShape(a.slice(0, -2), b.slice(0, -2)))
        throw graphError(
          node,
          `operands have shapes ${showShape(a)} and ${showShape(b)}, expected [..., M, K] and [..., N, K]`,
        );
      return [...a.slice(0, -1), b.at(-2)!];
    }
    case 'conv': {
      const x = operand(node.x);
      const sides = windowed(node, node.window, x);
      const { groups, outChannels } = node;
      if (
        !Number.isInteger(groups) ||
        groups < 1 ||
        x[0]! % groups !== 0 ||
        !Number.isInteger(outChannels) ||
        outChannels % groups !== 0
      )
        throw graphError(node, `${groups} groups must divide the ${x[0]} input and ${outChannels} output channels`);
      checkLength(
        node,
        'weight',
        node.weight.length,
        outChannels * node.window.kernel[0] * node.window.kernel[1] * (x[0]! / groups),
      );
      if (node.bias) checkLength(node, 'bias', node.bias.length, outChannels);
      return [outChannels, ...sides];
    }
    case 'sumPool': {
      const x = operand(node.x);
      return [...x.slice(0, 1), ...windowed(node, node.window, x)];
    }
    case 'maxPool': {
      const x = operand(node.x);
      const sides = windowed(node, node.window, x);
      if (hasEmptyWindow(node.window, 0, x[1]!, sides[0]) || hasEmptyWindow(node.window, 1, x[2]!, sides[1]))
        throw graphError(node, 'a window lies in the padding altogether and has no maximum');
      return [x[0]!, ...sides];
    }
    case 'combine': {
      if (node.terms.length === 0) throw graphError(node, 'has no terms');
      const shape = operand(node.terms[0]!.x);
      for (const { x } of node.terms)
        if (!sameShape(operand(x), shape))
          throw graphError(
            node,
            `terms have shapes ${showShape(shape)} and ${showShape(operand(x))}, expected equal ones`,
          );
      if (node.bias) checkBroadcast(node, 'bias', node.bias, shape);
      return [...shape];
    }
    case 'scale': {
      const shape = operand(node.x);
      checkBroadcast(node, 'factor', node.factor, shape);
      if (node.bias) checkBroadcast(node, 'bias', node.bias, shape);
      return [...shape];
    }
    case 'mul': {
      const a = operand(node.a);
      if (!sameShape(a, operand(node.b)))
        throw graphError(
          node,
          `operands have shapes ${showShape(a)} and ${showShape(operand(node.b))}, expected equal ones`,
        );
      return [...a];
    }
    case 'requant': {
      const x = operand(node.x);
      if (node.channelAxis !== null && !isIndex(node.channelAxis, x.length))
        throw graphError(node, `channelAxis ${node.channelAxis} is no axis of ${showShape(x)}`);
      checkLength(node, 'multipliers', node.multipliers.length, node.channelAxis === null ? 1 : x[node.channelAxis]!);
      return [...x];
    }
    case 'reduceSum':
    case 'reduceMax': {
      const x = operand(node.x);
      checkAxes(node, node.axes, x.length);
      return x.map((side, axis) => (node.axes.includes(axis) ? 1 : side));
    }
    case 'argMax': {
      const x = operand(node.x);
      checkAxes(node, [node.axis], x.length);
      return x.map((side, axis) => (axis === node.axis ? 1 : side));
    }
    case 'reshape': {
      const x = operand(node.x);
      if (sizeOf(wanted()) !== sizeOf(x))
        throw graphError(
          node,
          `${showShape(x)} has ${sizeOf(x)} elements, the wanted shape ${showShape(wanted())} has ${sizeOf(wanted())}`,
        );
      return [...wanted()];
    }
    case 'transpose': {
      const x = operand(node.x);
      const sorted = [...node.permutation].sort((p, q) => p - q);
      if (sorted.length !== x.length || sorted.some((axis, i) => axis !== i))
        throw graphError(node, `[${node.permutation.join(', ')}] is no permutation of the axes of ${showShape(x)}`);
      return node.permutation.map((axis) => x[axis]!);
    }
    case 'concat': {
      if (node.xs.length === 0) throw graphError(node, 'has no operands');
      const first = operand(node.xs[0]!);
      checkAxes(node, [node.axis], first.length);
      let side = 0;
      for (const x of node.xs) {
        const shape = operand(x);
        if (shape.length !== first.length || shape.some((s, axis) => axis !== node.axis && s !== first[axis]))
          throw graphError(
            node,
            `operands ${showShape(first)} and ${showShape(shape)} differ outside axis ${node.axis}`,
          );
        side += shape[node.axis]!;
      }
      return first.map((s, axis) => (axis === node.axis ? side : s));
    }
    case 'slice': {
      const x = operand(node.x);
      const shape = wanted();
      if (node.starts.length !== x.length || node.steps.length !== x.length || shape.length !== x.length)
        throw graphError(node, `starts, steps and output shape must have the rank of ${showShape(x)}`);
      x.forEach((side, axis) => {
        const start = node.starts[axis]!;
        const step = node.steps[axis]!;
        const last = start + (shape[axis]! - 1) * step;
        // Where one element is taken any step would do; a commitment holds it as int32.
        if (!isInt32(step) || step === 0 || !isIndex(start, side) || !isIndex(last, side))
          throw graphError(
            node,
            `axis ${axis}: elements ${start}, ${start} + ${step}, ... (${shape[axis]} of them) leave 0..${side - 1}`,
          );
      });
      return [...shape];
    }
    case 'pad': {
      const x = operand(node.x);
      const amounts = [...node.before, ...node.after];
      if (
        node.before.length !== x.length ||
        node.after.length !== x.length ||
        !amounts.every((v) => Number.isInteger(v) && v >= 0)
      )
        throw graphError(node, `before and after must be ${x.length} integers >= 0 each`);
      return x.map((side, axis) => side + node.before[axis]! + node.after[axis]!);
    }
    case 'expand': {
      const x = operand(node.x);
      const shape = wanted();
      if (shape.length !== x.length || x.some((side, axis) => side !== 1 && side !== shape[axis]))
        throw graphError(node, `${showShape(x)} cannot be expanded to ${showShape(shape)}`);
      return [...shape];
    }
  }
}
