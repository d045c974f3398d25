/**
 * The meaning of the integer graph: the slow, obvious evaluator that every engine, prover and contract must equal.
 *
 * Symbols. A value of B items of shape S is an Int32Array of B * size(S) elements, item outermost, row-major.
 * Each operator below is written over one item, in the notation of types.ts; sums are taken in doubles, which hold
 * every intermediate exactly: terms and partial sums of a validated graph are below 2^31 (validate.ts rule 2), the
 * product of a requantisation is below 2^52 (rule 4). Each result is checked against the range that was proved for it.
 */
import { AssayError } from '../../common/errors.js';
import { sizeOf, stridesOf } from '../tensor.js';
import { requantQuotient } from './bounds.js';
import type { BroadcastConstant, IntegerGraph, IntegerNode, RequantNode, TensorId, Window2d } from './types.js';

/** One item's elements. */
type Item = Int32Array;

/** Visits the indices of a shape in row-major order; `index` is reused. */
function forEachIndex(shape: readonly number[], visit: (index: readonly number[], position: number) => void): void {
  const index = new Array<number>(shape.length).fill(0);
  const size = sizeOf(shape);
  for (let position = 0; position < size; position++) {
    visit(index, position);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      if (++index[axis]! < shape[axis]!) break;
      index[axis] = 0;
    }
  }
}

const dot = (index: readonly number[], strides: readonly number[]): number =>
  index.reduce((sum, i, axis) => sum + i * strides[axis]!, 0);

/** Strides by which an index of `shape` addresses a constant broadcast to it: 0 along axes that repeat. */
function broadcastStrides(constant: BroadcastConstant, shape: readonly number[]): number[] {
  const own = stridesOf(constant.shape);
  const offset = shape.length - constant.shape.length;
  return shape.map((_, axis) => (axis < offset || constant.shape[axis - offset] === 1 ? 0 : own[axis - offset]!));
}

/** A broadcast constant written out over a shape; zeros for null. */
function broadcast(constant: BroadcastConstant | null, shape: readonly number[]): Float64Array {
  const full = new Float64Array(sizeOf(shape));
  if (constant === null) return full;
  const strides = broadcastStrides(constant, shape);
  forEachIndex(shape, (index, position) => {
    full[position] = constant.data[dot(index, strides)]!;
  });
  return full;
}

/** Calls `tap` for every window tap of output (row, column) that lies inside an H x W plane. */
function forEachTap(
  window: Window2d,
  height: number,
  width: number,
  row: number,
  column: number,
  tap: (position: number, kernelPosition: number) => void,
): void {
  const [kernelRows, kernelColumns] = window.kernel;
  for (let i = 0; i < kernelRows; i++) {
    const y = row * window.strides[0] + i * window.dilations[0] - window.pads[0];
    if (y < 0 || y >= height) continue;
    for (let j = 0; j < kernelColumns; j++) {
      const x = column * window.strides[1] + j * window.dilations[1] - window.pads[1];
      if (x >= 0 && x < width) tap(y * width + x, i * kernelColumns + j);
    }
  }
}

/** Step of the requantisation's table: from q to the stored integer. */
function lookUp(node: RequantNode, q: number): number {
  const { table } = node;
  if (q < table.qLo || q > table.qHi)
    throw new AssayError(
      'INTERNAL',
      `requant node '${node.name}': q = ${q} lies outside its table ${table.qLo}..${table.qHi}`,
    );
  return table.kind === 'clamp' ? Math.min(Math.max(q, table.lo), table.hi) : table.values[q - table.qLo]!;
}

/** Writes the result of one node for one item. `shapeOf` gives item shapes, `valueOf` the operands' elements. */
function evaluateNode(
  node: IntegerNode,
  shapeOf: (id: TensorId) => readonly number[],
  valueOf: (id: TensorId) => Item,
  out: Float64Array,
): void {
  const outShape = shapeOf(node.output);
  switch (node.kind) {
    case 'matmul': {
      const x = valueOf(node.x);
      const { inFeatures: K, outFeatures: N, weight, bias } = node;
      for (let row = 0; row * K < x.length; row++)
        for (let n = 0; n < N; n++) {
          let sum = bias ? bias[n]! : 0;
          for (let k = 0; k < K; k++) sum += x[row * K + k]! * weight[n * K + k]!;
          out[row * N + n] = sum;
        }
      return;
    }
    case 'matmulActivations': {
      const a = valueOf(node.a);
      const b = valueOf(node.b);
      const [M, K] = shapeOf(node.a).slice(-2) as [number, number];
      const N = shapeOf(node.b).at(-2)!;
      for (let block = 0; block * M * K < a.length; block++)
        for (let m = 0; m < M; m++)
          for (let n = 0; n < N; n++) {
            let sum = 0;
            for (let k = 0; k < K; k++) sum += a[(block * M + m) * K + k]! * b[(block * N + n) * K + k]!;
            out[(block * M + m) * N + n] = sum;
          }
      return;
    }
    case 'conv': {
      const x = valueOf(node.x);
      const [C, H, W] = shapeOf(node.x) as [number, number, number];
      const [, OH, OW] = outShape as [number, number, number];
      const perGroup = C / node.groups;
      const outPerGroup = node.outChannels / node.groups;
      const taps = node.window.kernel[0] * node.window.kernel[1];
      for (let o = 0; o < node.outChannels; o++) {
        const firstChannel = Math.floor(o / outPerGroup) * perGroup;
        for (let row = 0; row < OH; row++)
          for (let column = 0; column < OW; column++) {
            let sum = node.bias ? node.bias[o]! : 0;
            forEachTap(node.window, H, W, row, column, (position, tap) => {
              for (let c = 0; c < perGroup; c++)
                sum += x[(firstChannel + c) * H * W + position]! * node.weight[(o * taps + tap) * perGroup + c]!;
            });
            out[(o * OH + row) * OW + column] = sum;
          }
      }
      return;
    }
    case 'combine': {
      out.set(broadcast(node.bias, outShape));
      for (const { x, coefficient } of node.terms) valueOf(x).forEach((v, i) => (out[i]! += coefficient * v));
      return;
    }
    case 'scale': {
      const factor = broadcast(node.factor, outShape);
      const bias = broadcast(node.bias, outShape);
      valueOf(node.x).forEach((v, i) => (out[i] = v * factor[i]! + bias[i]!));
      return;
    }
    case 'mul': {
      const b = valueOf(node.b);
      valueOf(node.a).forEach((v, i) => (out[i] = v * b[i]!));
      return;
    }
    case 'sumPool':
    case 'maxPool': {
      const x = valueOf(node.x);
      const [C, H, W] = shapeOf(node.x) as [number, number, number];
      const [, OH, OW] = outShape as [number, number, number];
      const sums = node.kind === 'sumPool';
      for (let c = 0; c < C; c++)
        for (let row = 0; row < OH; row++)
          for (let column = 0; column < OW; column++) {
            let result = sums ? 0 : -Infinity;
            forEachTap(node.window, H, W, row, column, (position) => {
              const v = x[c * H * W + position]!;
              result = sums ? result + v : Math.max(result, v);
            });
            out[(c * OH + row) * OW + column] = result;
          }
      return;
    }
    case 'reduceSum':
    case 'reduceMax': {
      const sums = node.kind === 'reduceSum';
      out.fill(sums ? 0 : -Infinity);
      const strides = stridesOf(outShape).map((stride, axis) => (node.axes.includes(axis) ? 0 : stride));
      const x = valueOf(node.x);
      forEachIndex(shapeOf(node.x), (index, position) => {
        const o = dot(index, strides);
        out[o] = sums ? out[o]! + x[position]! : Math.max(out[o]!, x[position]!);
      });
      return;
    }
    case 'argMax': {
      const x = valueOf(node.x);
      const strides = stridesOf(outShape).map((stride, axis) => (axis === node.axis ? 0 : stride));
      const best = new Float64Array(out.length).fill(-Infinity);
      // Row-major order visits smaller indices along the axis first, so that strict comparison keeps the first maximum.
      forEachIndex(shapeOf(node.x), (index, position) => {
        const o = dot(index, strides);
        if (x[position]! > best[o]!) {
          best[o] = x[position]!;
          out[o] = index[node.axis]!;
        }
      });
      return;
    }
    case 'requant': {
      const shape = shapeOf(node.x);
      const { channelAxis, multipliers } = node;
      const inner = channelAxis === null ? 1 : stridesOf(shape)[channelAxis]!;
      valueOf(node.x).forEach((v, i) => {
        const multiplier = multipliers[Math.floor(i / inner) % multipliers.length]!;
        out[i] = lookUp(node, requantQuotient(v, multiplier));
      });
      return;
    }
    case 'reshape':
      out.set(valueOf(node.x));
      return;
    case 'transpose': {
      const x = valueOf(node.x);
      const strides = stridesOf(shapeOf(node.x));
      const moved = node.permutation.map((axis) => strides[axis]!);
      forEachIndex(outShape, (index, position) => {
        out[position] = x[dot(index, moved)]!;
      });
      return;
    }
    case 'concat': {
      const strides = stridesOf(outShape);
      let start = 0;
      for (const id of node.xs) {
        const x = valueOf(id);
        forEachIndex(shapeOf(id), (index, position) => {
          out[dot(index, strides) + start * strides[node.axis]!] = x[position]!;
        });
        start += shapeOf(id)[node.axis]!;
      }
      return;
    }
    case 'slice': {
      const x = valueOf(node.x);
      const strides = stridesOf(shapeOf(node.x));
      forEachIndex(outShape, (index, position) => {
        const source = index.map((i, axis) => node.starts[axis]! + i * node.steps[axis]!);
        out[position] = x[dot(source, strides)]!;
      });
      return;
    }
    case 'pad': {
      out.fill(node.value);
      const x = valueOf(node.x);
      const strides = stridesOf(outShape);
      const first = dot(node.before, strides);
      forEachIndex(shapeOf(node.x), (index, position) => {
        out[first + dot(index, strides)] = x[position]!;
      });
      return;
    }
    case 'expand': {
      const x = valueOf(node.x);
      const shape = shapeOf(node.x);
      const strides = stridesOf(shape).map((stride, axis) => (shape[axis] === 1 ? 0 : stride));
      forEachIndex(outShape, (index, position) => {
        out[position] = x[dot(index, strides)]!;
      });
      return;
    }
  }
}

/**
 * Refuses input integers that the graph was not compiled for; executors call it before they sign anything.
 * @throws AssayError INPUT_RANGE naming tensor, element, value and range.
 */
export function checkInputs(graph: IntegerGraph, inputs: readonly Int32Array[], items: number): void {
  if (!Number.isInteger(items) || items < 1)
    throw new AssayError('INPUT_RANGE', `${items} items: expected a whole number >= 1`);
  if (inputs.length !== graph.inputs.length)
    throw new AssayError(
      'INPUT_RANGE',
      `graph '${graph.name}' has ${graph.inputs.length} inputs, ${inputs.length} were given`,
    );
  graph.inputs.forEach((id, i) => {
    const { name, shape, range } = graph.tensors[id]!;
    const values = inputs[i]!;
    if (values.length !== items * sizeOf(shape))
      throw new AssayError(
        'INPUT_RANGE',
        `input '${name}' has ${values.length} elements; ${items} items of [${shape.join(', ')}] have ${items * sizeOf(shape)}`,
        { meta: { tensor: name, expected: items * sizeOf(shape), found: values.length } },
      );
    const element = values.findIndex((v) => v < range.lo || v > range.hi);
    if (element >= 0)
      throw new AssayError(
        'INPUT_RANGE',
        `input '${name}' element ${element} is ${values[element]}, outside its range ${range.lo}..${range.hi}`,
        { meta: { tensor: name, element, value: values[element]!, range } },
      );
  });
}

/**
 * Value of every tensor, indexed by TensorId.
 * @param inputs one array per graph input, `items` items each.
 * @throws AssayError INPUT_RANGE for inputs of wrong number, length or range; INTERNAL if a proved bound fails.
 */
export function evaluateGraph(graph: IntegerGraph, inputs: readonly Int32Array[], items: number): Int32Array[] {
  checkInputs(graph, inputs, items);
  const sizes = graph.tensors.map(({ shape }) => sizeOf(shape));
  const values = sizes.map((size) => new Int32Array(size * items));
  graph.inputs.forEach((id, i) => values[id]!.set(inputs[i]!));
  const shapeOf = (id: TensorId): readonly number[] => graph.tensors[id]!.shape;
  for (const node of graph.nodes) {
    const { name, range } = graph.tensors[node.output]!;
    const size = sizes[node.output]!;
    const out = new Float64Array(size);
    for (let item = 0; item < items; item++) {
      const valueOf = (id: TensorId): Item => values[id]!.subarray(item * sizes[id]!, (item + 1) * sizes[id]!);
      evaluateNode(node, shapeOf, valueOf, out);
      for (let i = 0; i < size; i++)
        if (!(out[i]! >= range.lo && out[i]! <= range.hi))
          throw new AssayError(
            'INTERNAL',
            `${node.kind} node '${node.name}': element ${i} of '${name}' is ${out[i]}, outside its proved range ${range.lo}..${range.hi}`,
          );
      values[node.output]!.set(out, item * size);
    }
  }
  return values;
}
