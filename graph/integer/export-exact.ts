/**
 * The integer graph as ordinary ONNX (opset 17), every tensor of which holds exactly the graph's integers.
 *
 * Numbers. A tensor is float32 while every partial sum that makes it stays below 2^24 in magnitude, in any order, with
 * or without fused multiply-add (bounds.ts step 3); operands of products fit TF32's significand. A larger sum is split
 * along the contraction axis into parts below 2^24, each computed in float32 and added in float64. Requantisation is
 * done in float64: M * 2^-24 is exact there, |x * M + 2^23| < 2^52 makes product and sum exact, Floor does the rest.
 * A coefficient other than 0 and +-1 on an operand that is not stored is applied in float64: a runtime that fuses Mul
 * into the convolution before it (onnxruntime's ConvMulFusion) would make weights that TF32's significand cannot hold,
 * and a Cast between the two stops it.
 *
 * What an engine must bring: products as plain sums of products. Winograd and FFT convolutions are not; the option
 * `convolution: 'im2col'` writes convolutions and pooling sums as slices and matrix products instead.
 *
 * Names: tensor `t<TensorId>`. Inputs are float32 [N, ...item shape]; every output is float32, or float64 where its
 * sums may reach 2^24 or such a coefficient made it. N is a free symbol.
 */
import { AssayError } from '../../common/errors.js';
import { writeOnnx } from '../onnx/write-onnx.js';
import type { Tensor } from '../tensor.js';
import type { AttributeValue, OnnxNode, ValueInfo } from '../onnx/model.js';
import { hull, tableRange, type ChannelRanges } from './bounds.js';
import { operandsOf, storageClasses, type StorageClass } from './operands.js';
import { windowOutput } from './shapes.js';
import { rangesOfTensors } from './validate.js';
import { FLOAT32_EXACT_LIMIT, OPERAND_LIMIT, REQUANT_SHIFT } from './types.js';
import type {
  BroadcastConstant,
  ConvNode,
  IntegerGraph,
  IntegerNode,
  MatMulNode,
  MaxPoolNode,
  RequantNode,
  TensorId,
  Window2d,
} from './types.js';

export interface ExportOptions {
  /** Tensors to publish; graph inputs are not among them. */
  readonly outputs: readonly TensorId[];
  /** `conv` (default): the Conv operator. `im2col`: slices and MatMul, for engines whose Conv is not a plain sum of products. */
  readonly convolution?: 'conv' | 'im2col';
}

const OPSET = 17;
/** A value below every negative index that ONNX's Slice could wrap. */
const BEFORE_START = -(2 ** 31);

type FloatType = 'float32' | 'float64';

/** A value of the ONNX graph under construction. */
interface Value {
  readonly name: string;
  readonly type: FloatType;
  /** Item shape. */
  readonly shape: readonly number[];
}

/** ONNX nodes and initializers as they accumulate; every helper appends one operator. */
class OnnxWriter {
  readonly nodes: OnnxNode[] = [];
  readonly initializers = new Map<string, Tensor>();
  private count = 0;

  private fresh(label: string): string {
    return `${label}_${this.count++}`;
  }

  op(
    op: string,
    inputs: readonly string[],
    type: FloatType,
    shape: readonly number[],
    attributes: Record<string, AttributeValue> = {},
  ): Value {
    const name = this.fresh(op.toLowerCase());
    this.nodes.push({
      name: `${op}:${name}`,
      op,
      domain: '',
      inputs,
      outputs: [name],
      attributes: new Map(Object.entries(attributes)),
    });
    return { name, type, shape };
  }

  private initializer(tensor: Tensor): string {
    const name = this.fresh('constant');
    this.initializers.set(name, tensor);
    return name;
  }

  float(type: FloatType, shape: readonly number[], values: ArrayLike<number>): string {
    return this.initializer({
      type,
      shape,
      data: type === 'float32' ? Float32Array.from(values) : Float64Array.from(values),
    });
  }

  int64(values: readonly number[]): string {
    return this.initializer({ type: 'int64', shape: [values.length], data: BigInt64Array.from(values.map(BigInt)) });
  }

  cast(x: Value, type: FloatType): Value {
    return x.type === type ? x : this.op('Cast', [x.name], type, x.shape, { to: type === 'float32' ? 1 : 11 });
  }

  /** Adds values of equal shape in one type. */
  sum(values: readonly Value[], type: FloatType): Value {
    const cast = values.map((value) => this.cast(value, type));
    return cast.reduce((total, value) => this.op('Add', [total.name, value.name], type, total.shape));
  }

  addConstant(x: Value, constant: BroadcastConstant | null): Value {
    if (constant === null) return x;
    return this.op('Add', [x.name, this.float(x.type, constant.shape, constant.data)], x.type, x.shape);
  }

  reshape(x: Value, shape: readonly number[]): Value {
    // 0 keeps the batch side.
    return this.op('Reshape', [x.name, this.int64([0, ...shape])], x.type, shape);
  }

  transpose(x: Value, permutation: readonly number[]): Value {
    const perm = [0, ...permutation.map((axis) => axis + 1)];
    return this.op(
      'Transpose',
      [x.name],
      x.type,
      permutation.map((axis) => x.shape[axis]!),
      { perm },
    );
  }

  /** Elements start, start + step, ... along item axes; `shape` is the result's. */
  slice(x: Value, starts: readonly number[], steps: readonly number[], shape: readonly number[]): Value {
    const axes = x.shape.flatMap((side, axis) =>
      starts[axis] === 0 && steps[axis] === 1 && shape[axis] === side ? [] : [axis],
    );
    if (axes.length === 0) return x;
    const ends = axes.map((axis) => {
      const end = starts[axis]! + shape[axis]! * steps[axis]!;
      return end < 0 ? BEFORE_START : end;
    });
    const inputs = [
      axes.map((axis) => starts[axis]!),
      ends,
      axes.map((axis) => axis + 1),
      axes.map((axis) => steps[axis]!),
    ];
    return this.op('Slice', [x.name, ...inputs.map((values) => this.int64(values))], x.type, shape);
  }

  /** Elements first .. first + count - 1 along one axis. */
  range(x: Value, axis: number, first: number, count: number): Value {
    const shape = x.shape.map((side, a) => (a === axis ? count : side));
    return this.slice(
      x,
      x.shape.map((_, a) => (a === axis ? first : 0)),
      x.shape.map(() => 1),
      shape,
    );
  }

  pad(x: Value, before: readonly number[], after: readonly number[], value: number): Value {
    if ([...before, ...after].every((amount) => amount === 0)) return x;
    const pads = this.int64([0, ...before, 0, ...after]);
    const shape = x.shape.map((side, axis) => side + before[axis]! + after[axis]!);
    return this.op('Pad', [x.name, pads, this.float(x.type, [], [value])], x.type, shape);
  }

  concat(values: readonly Value[], axis: number): Value {
    const shape = values[0]!.shape.map((side, a) =>
      a === axis ? values.reduce((total, v) => total + v.shape[axis]!, 0) : side,
    );
    if (values.length === 1) return values[0]!;
    return this.op(
      'Concat',
      values.map(({ name }) => name),
      values[0]!.type,
      shape,
      { axis: axis + 1 },
    );
  }

  /** A [..., K] operand times [K, N], or matrices with leading axes. */
  matmul(a: string, b: string, shape: readonly number[]): Value {
    return this.op('MatMul', [a, b], 'float32', shape);
  }
}

/**
 * Ends of consecutive parts of 0..count-1 such that in every channel the sum of part(channel, k) stays below the limit.
 * A single element is at most 2^22, so that each part has at least one.
 */
function splitContraction(count: number, channels: number, part: (channel: number, k: number) => number): number[] {
  const ends: number[] = [];
  const sums = new Float64Array(channels);
  for (let k = 0; k < count; k++) {
    let over = false;
    for (let c = 0; c < channels && !over; c++) over = sums[c]! + part(c, k) >= FLOAT32_EXACT_LIMIT;
    if (over) {
      ends.push(k);
      sums.fill(0);
    }
    for (let c = 0; c < channels; c++) sums[c]! += part(c, k);
  }
  return [...ends, count];
}

const parts = (ends: readonly number[]): { first: number; count: number }[] =>
  ends.map((end, i) => ({ first: ends[i - 1] ?? 0, count: end - (ends[i - 1] ?? 0) }));

const largest = (ranges: ChannelRanges): number => {
  const { lo, hi } = hull(ranges);
  return Math.max(Math.abs(lo), Math.abs(hi));
};

const exceedsFloat32 = (ranges: ChannelRanges): boolean =>
  ranges.magnitude.some((bound) => bound >= FLOAT32_EXACT_LIMIT);

class Exporter {
  private readonly writer = new OnnxWriter();
  private readonly values: Value[] = [];
  private readonly ranges: ChannelRanges[];
  private readonly classes: StorageClass[];

  constructor(
    private readonly graph: IntegerGraph,
    private readonly convolution: 'conv' | 'im2col',
  ) {
    this.ranges = rangesOfTensors(graph);
    this.classes = storageClasses(graph);
  }

  run(outputs: readonly TensorId[]): Uint8Array {
    const { graph, writer } = this;
    for (const id of graph.inputs)
      this.values[id] = { name: `t${id}`, type: 'float32', shape: graph.tensors[id]!.shape };
    const needed = new Set(outputs);
    for (const node of [...graph.nodes].reverse())
      if (needed.has(node.output)) for (const id of operandsOf(node)) needed.add(id);
    for (const node of graph.nodes) if (needed.has(node.output)) this.values[node.output] = this.realise(node);
    const info = (id: TensorId): ValueInfo => ({
      name: `t${id}`,
      type: this.values[id]!.type,
      shape: ['N', ...graph.tensors[id]!.shape],
    });
    for (const id of outputs)
      writer.nodes.push({
        name: `output:t${id}`,
        op: 'Identity',
        domain: '',
        inputs: [this.values[id]!.name],
        outputs: [`t${id}`],
        attributes: new Map(),
      });
    return writeOnnx({
      name: graph.name,
      opset: OPSET,
      inputs: graph.inputs.map(info),
      outputs: outputs.map(info),
      nodes: writer.nodes,
      initializers: writer.initializers,
    });
  }

  private realise(node: IntegerNode): Value {
    const { writer } = this;
    const shape = this.graph.tensors[node.output]!.shape;
    const value = (id: TensorId): Value => this.values[id]!;
    switch (node.kind) {
      case 'matmul':
        return this.matmul(node, shape);
      case 'matmulActivations':
        return this.matmulActivations(
          value(node.a),
          value(node.b),
          shape,
          largest(this.ranges[node.a]!) * largest(this.ranges[node.b]!),
        );
      case 'conv':
        return this.convolution === 'conv' ? this.conv(node, shape) : this.im2col(node, shape);
      case 'combine': {
        const wide =
          exceedsFloat32(this.ranges[node.output]!) ||
          node.terms.some(
            ({ x, coefficient }) =>
              value(x).type === 'float64' || (Math.abs(coefficient) > 1 && this.classes[x] !== 'stored'),
          );
        const type = wide ? 'float64' : 'float32';
        const terms = node.terms.map(({ x, coefficient }) => {
          const operand = writer.cast(value(x), type);
          return coefficient === 1
            ? operand
            : writer.op('Mul', [operand.name, writer.float(type, [], [coefficient])], type, shape);
        });
        return writer.addConstant(writer.sum(terms, type), node.bias);
      }
      case 'scale': {
        const type = exceedsFloat32(this.ranges[node.output]!) ? 'float64' : 'float32';
        const x = writer.cast(value(node.x), type);
        const scaled = writer.op('Mul', [x.name, writer.float(type, node.factor.shape, node.factor.data)], type, shape);
        return writer.addConstant(scaled, node.bias);
      }
      case 'mul':
        return writer.op(
          'Mul',
          [node.a, node.b].map((id) => writer.cast(value(id), 'float32').name),
          'float32',
          shape,
        );
      case 'sumPool':
        return this.sumPool(
          value(node.x),
          node.window,
          shape,
          this.ranges[node.x]!,
          exceedsFloat32(this.ranges[node.output]!),
        );
      case 'reduceSum': {
        const type = exceedsFloat32(this.ranges[node.output]!) ? 'float64' : value(node.x).type;
        return this.reduceSum(writer.cast(value(node.x), type), node.axes, shape);
      }
      case 'requant':
        return this.requant(node, shape);
      case 'maxPool':
        return this.maxPool(node, shape);
      case 'reduceMax':
        return writer.op('ReduceMax', [writer.cast(value(node.x), 'float32').name], 'float32', shape, {
          axes: node.axes.map((axis) => axis + 1),
          keepdims: 1,
        });
      case 'argMax': {
        const index = writer.op('ArgMax', [writer.cast(value(node.x), 'float32').name], 'float32', shape, {
          axis: node.axis + 1,
          keepdims: 1,
          select_last_index: 0,
        });
        return writer.op('Cast', [index.name], 'float32', shape, { to: 1 });
      }
      case 'reshape':
        return writer.reshape(value(node.x), shape);
      case 'transpose':
        return writer.transpose(value(node.x), node.permutation);
      case 'concat': {
        const type = node.xs.some((x) => value(x).type === 'float64') ? 'float64' : 'float32';
        return writer.concat(
          node.xs.map((x) => writer.cast(value(x), type)),
          node.axis,
        );
      }
      case 'slice':
        return writer.slice(value(node.x), node.starts, node.steps, shape);
      case 'pad': {
        const type = Math.abs(node.value) >= FLOAT32_EXACT_LIMIT ? 'float64' : value(node.x).type;
        return writer.pad(writer.cast(value(node.x), type), node.before, node.after, node.value);
      }
      case 'expand':
        return writer.op('Expand', [value(node.x).name, writer.int64([1, ...shape])], value(node.x).type, shape);
    }
  }

  /** Largest magnitude of an operand per channel along an axis. */
  private magnitudes(id: TensorId, axis: number): Float64Array {
    const ranges = this.ranges[id]!;
    if (ranges.axis === axis) return ranges.lo.map((lo, c) => Math.max(Math.abs(lo), Math.abs(ranges.hi[c]!)));
    return new Float64Array(this.graph.tensors[id]!.shape[axis]!).fill(largest(ranges));
  }

  private matmul(node: MatMulNode, shape: readonly number[]): Value {
    const { writer } = this;
    const { inFeatures: K, outFeatures: N, weight, bias } = node;
    const x = writer.cast(this.values[node.x]!, 'float32');
    const axis = x.shape.length - 1;
    const partial = (first: number, count: number): Value => {
      const columns = new Float32Array(count * N);
      for (let k = 0; k < count; k++) for (let n = 0; n < N; n++) columns[k * N + n] = weight[n * K + first + k]!;
      return writer.matmul(
        writer.range(x, axis, first, count).name,
        writer.float('float32', [count, N], columns),
        shape,
      );
    };
    const constant = bias && { shape: [N], data: bias };
    if (!exceedsFloat32(this.ranges[node.output]!)) return writer.addConstant(partial(0, K), constant);
    const operand = this.magnitudes(node.x, axis);
    const ends = splitContraction(K, N, (n, k) => Math.abs(weight[n * K + k]!) * operand[k]!);
    return writer.addConstant(
      writer.sum(
        parts(ends).map(({ first, count }) => partial(first, count)),
        'float64',
      ),
      constant,
    );
  }

  private matmulActivations(left: Value, right: Value, shape: readonly number[], product: number): Value {
    const { writer } = this;
    const a = writer.cast(left, 'float32');
    const b = writer.cast(right, 'float32');
    const rank = a.shape.length;
    const K = a.shape[rank - 1]!;
    const swap = [...a.shape.keys()].slice(0, -2).concat(rank - 1, rank - 2);
    const partial = (first: number, count: number): Value => {
      const transposed = writer.transpose(writer.range(b, rank - 1, first, count), swap);
      return writer.matmul(writer.range(a, rank - 1, first, count).name, transposed.name, shape);
    };
    if (K * product < FLOAT32_EXACT_LIMIT) return partial(0, K);
    const ends = splitContraction(K, 1, () => product);
    return writer.sum(
      parts(ends).map(({ first, count }) => partial(first, count)),
      'float64',
    );
  }

  private convAttributes(
    { kernel, strides, dilations, pads }: Window2d,
    group: number,
  ): Record<string, AttributeValue> {
    return { kernel_shape: [...kernel], strides: [...strides], dilations: [...dilations], pads: [...pads], group };
  }

  private conv(node: ConvNode, shape: readonly number[]): Value {
    const { writer } = this;
    const { groups, outChannels, window, weight } = node;
    const x = writer.cast(this.values[node.x]!, 'float32');
    const perGroup = x.shape[0]! / groups;
    const taps = window.kernel[0] * window.kernel[1];
    const K = perGroup * taps;
    // ONNX order of the contraction: channel, then kernel position.
    const weightAt = (o: number, k: number): number =>
      weight[(o * taps + (k % taps)) * perGroup + Math.floor(k / taps)]!;
    const onnxWeight = (firstChannel: number, channels: number, firstK: number, endK: number): string => {
      const values = new Float32Array(outChannels * channels * taps);
      for (let o = 0; o < outChannels; o++)
        for (let i = 0; i < channels * taps; i++) {
          const k = firstChannel * taps + i;
          if (k >= firstK && k < endK) values[o * channels * taps + i] = weightAt(o, k);
        }
      return writer.float('float32', [outChannels, channels, ...window.kernel], values);
    };
    if (!exceedsFloat32(this.ranges[node.output]!)) {
      const bias = node.bias ? [writer.float('float32', [outChannels], node.bias)] : [];
      return writer.op(
        'Conv',
        [x.name, onnxWeight(0, perGroup, 0, K), ...bias],
        'float32',
        shape,
        this.convAttributes(window, groups),
      );
    }
    const operand = this.magnitudes(node.x, 0);
    const ends = splitContraction(K, outChannels, (o, k) => {
      const channel = Math.floor(o / (outChannels / groups)) * perGroup + Math.floor(k / taps);
      return Math.abs(weightAt(o, k)) * operand[channel]!;
    });
    const partial = ({ first, count }: { first: number; count: number }): Value => {
      // Without groups only the channels of the part are read; weights outside the part are 0.
      const firstChannel = groups === 1 ? Math.floor(first / taps) : 0;
      const channels = groups === 1 ? Math.floor((first + count - 1) / taps) - firstChannel + 1 : perGroup;
      const operandPart = groups === 1 ? writer.range(x, 0, firstChannel, channels) : x;
      const w = onnxWeight(firstChannel, channels, first, first + count);
      return writer.op('Conv', [operandPart.name, w], 'float32', shape, this.convAttributes(window, groups));
    };
    return this.addChannelBias(writer.sum(parts(ends).map(partial), 'float64'), node.bias);
  }

  private addChannelBias(x: Value, bias: Int32Array | null): Value {
    return this.writer.addConstant(x, bias && { shape: [bias.length, 1, 1], data: bias });
  }

  /** One value per window tap, in kernel order: the padded operand, shifted and strided. */
  private taps(x: Value, window: Window2d, padding: number): Value[] {
    const { writer } = this;
    const [top, left, bottom, right] = window.pads;
    const sides = windowOutput(window, x.shape[1]!, x.shape[2]!);
    const padded = writer.pad(x, [0, top, left], [0, bottom, right], padding);
    const taps: Value[] = [];
    for (let i = 0; i < window.kernel[0]; i++)
      for (let j = 0; j < window.kernel[1]; j++)
        taps.push(
          writer.slice(
            padded,
            [0, i * window.dilations[0], j * window.dilations[1]],
            [1, ...window.strides],
            [x.shape[0]!, ...sides],
          ),
        );
    return taps;
  }

  private im2col(node: ConvNode, shape: readonly number[]): Value {
    const { writer } = this;
    const { groups, outChannels, weight } = node;
    const x = writer.cast(this.values[node.x]!, 'float32');
    const perGroup = x.shape[0]! / groups;
    const outPerGroup = outChannels / groups;
    const pixels = shape[1]! * shape[2]!;
    const columns = this.taps(x, node.window, 0).map((tap) => writer.reshape(tap, [groups, perGroup, pixels]));
    // [group][tap, channel][pixel]: the contraction in the order of the weights.
    const matrix = writer.concat(columns, 1);
    const K = matrix.shape[1]!;
    const partial = ({ first, count }: { first: number; count: number }): Value => {
      const rows = new Float32Array(outChannels * count);
      for (let o = 0; o < outChannels; o++)
        for (let k = 0; k < count; k++) rows[o * count + k] = weight[o * K + first + k]!;
      const w = writer.float('float32', [groups, outPerGroup, count], rows);
      const product = writer.matmul(w, writer.range(matrix, 1, first, count).name, [groups, outPerGroup, pixels]);
      return writer.reshape(product, shape);
    };
    if (!exceedsFloat32(this.ranges[node.output]!))
      return this.addChannelBias(partial({ first: 0, count: K }), node.bias);
    const operand = this.magnitudes(node.x, 0);
    const ends = splitContraction(
      K,
      outChannels,
      (o, k) => Math.abs(weight[o * K + k]!) * operand[Math.floor(o / outPerGroup) * perGroup + (k % perGroup)]!,
    );
    return this.addChannelBias(writer.sum(parts(ends).map(partial), 'float64'), node.bias);
  }

  private reduceSum(x: Value, axes: readonly number[], shape: readonly number[]): Value {
    const onnxAxes = this.writer.int64(axes.map((axis) => axis + 1));
    return this.writer.op('ReduceSum', [x.name, onnxAxes], x.type, shape, { keepdims: 1 });
  }

  private sumPool(x: Value, window: Window2d, shape: readonly number[], operand: ChannelRanges, wide: boolean): Value {
    const { writer } = this;
    const [channels, height, width] = x.shape as [number, number, number];
    const whole = window.kernel[0] === height && window.kernel[1] === width && window.pads.every((pad) => pad === 0);
    if (whole && window.dilations.every((d) => d === 1))
      return this.reduceSum(writer.cast(x, wide ? 'float64' : x.type), [1, 2], shape);
    if (this.convolution === 'im2col' || wide || x.type === 'float64' || largest(operand) > OPERAND_LIMIT)
      return writer.sum(this.taps(x, window, 0), wide ? 'float64' : x.type);
    const ones = new Float32Array(channels * window.kernel[0] * window.kernel[1]).fill(1);
    const w = writer.float('float32', [channels, 1, ...window.kernel], ones);
    return writer.op('Conv', [x.name, w], 'float32', shape, this.convAttributes(window, channels));
  }

  /**
   * The MaxPool operator over stored tensors whose pads are narrower than the kernel, which is all that runtimes take;
   * else the maximum over shifted slices. A view may come out of a Pad with value 0, and onnxruntime (1.29, PadFusion)
   * turns Pad with 0 and MaxPool into a MaxPool that ignores the padding.
   */
  private maxPool(node: MaxPoolNode, shape: readonly number[]): Value {
    const { writer } = this;
    const { kernel, strides, dilations, pads } = node.window;
    const x = writer.cast(this.values[node.x]!, 'float32');
    if (this.classes[node.x] !== 'stored' || pads.some((pad, i) => pad >= kernel[(i % 2) as 0 | 1])) {
      // Padding with the smallest value that the operand can have never changes a maximum.
      const taps = this.taps(x, node.window, hull(this.ranges[node.x]!).lo);
      return writer.op(
        'Max',
        taps.map(({ name }) => name),
        'float32',
        shape,
      );
    }
    return writer.op('MaxPool', [x.name], 'float32', shape, {
      kernel_shape: [...kernel],
      strides: [...strides],
      dilations: [...dilations],
      pads: [...pads],
      ceil_mode: 0,
    });
  }

  private requant(node: RequantNode, shape: readonly number[]): Value {
    const { writer } = this;
    const { channelAxis, multipliers, table } = node;
    const side = channelAxis === null ? [] : [multipliers.length, ...shape.slice(channelAxis + 1).map(() => 1)];
    const x = writer.cast(this.values[node.x]!, 'float64');
    const factor = writer.float(
      'float64',
      side,
      Float64Array.from(multipliers, (m) => m / 2 ** REQUANT_SHIFT),
    );
    const product = writer.op('Mul', [x.name, factor], 'float64', shape);
    // A table of values is indexed by q - qLo, which the same addition gives.
    const offset = table.kind === 'values' ? 0.5 - table.qLo : 0.5;
    const q = writer.op(
      'Floor',
      [writer.op('Add', [product.name, writer.float('float64', [], [offset])], 'float64', shape).name],
      'float64',
      shape,
    );
    if (table.kind === 'values') {
      const index = writer.op('Cast', [q.name], 'float32', shape, { to: 6 });
      return writer.op(
        'Gather',
        [writer.float('float32', [table.values.length], table.values), index.name],
        'float32',
        shape,
        { axis: 0 },
      );
    }
    const rounded = writer.cast(q, 'float32');
    const { lo, hi } = tableRange(table);
    if (lo === table.qLo && hi === table.qHi) return rounded;
    return writer.op(
      'Clip',
      [rounded.name, writer.float('float32', [], [table.lo]), writer.float('float32', [], [table.hi])],
      'float32',
      shape,
    );
  }
}

/**
 * Writes the part of the graph that the outputs need as an ONNX file.
 * @throws AssayError GRAPH_INVALID where an output is a graph input, no tensor, or listed twice.
 */
export function exportExact(graph: IntegerGraph, options: ExportOptions): Uint8Array {
  const { outputs, convolution = 'conv' } = options;
  outputs.forEach((id, i) => {
    if (graph.tensors[id] === undefined)
      throw new AssayError('GRAPH_INVALID', `tensor ${id} is not in graph '${graph.name}'`);
    if (graph.inputs.includes(id))
      throw new AssayError(
        'GRAPH_INVALID',
        `tensor '${graph.tensors[id].name}' is an input of graph '${graph.name}'; only computed tensors can be exported as outputs`,
      );
    if (outputs.indexOf(id) !== i)
      throw new AssayError(
        'GRAPH_INVALID',
        `tensor '${graph.tensors[id].name}' is listed twice among the outputs to export`,
      );
  });
  return new Exporter(graph, convolution).run(outputs);
}
