/**
 * The integer graph by TensorFlow.js operators.
 *
 * TensorFlow.js has no float64, so
 * - a tensor whose proved range lies within +-2^24 is a float32 tensor, any other an int32 tensor;
 * - a sum of products that may leave +-2^24 on the way is split along its contraction axis into parts that cannot,
 *   each computed in float32 and added in int32 (matmul); a convolution that would need it becomes im2col first;
 * - requantisation runs on the host in JavaScript numbers: |acc * M + 2^23| < 2^52 is proved, so
 *   floor((acc * M + 2^23) / 2^24) is exact in float64.
 *
 * Items of rank 3 are kept channels-last while convolutions and pooling follow each other, because that is the only
 * form TensorFlow.js convolves in; `Form` says which of the two a device tensor is in.
 */
import { AssayError } from '../../common/errors.js';
import { committedTensors, FLOAT32_EXACT_LIMIT, sizeOf } from '../../graph/index.js';
import type {
  BroadcastConstant,
  Bundle,
  ConvNode,
  IntegerGraph,
  IntegerNode,
  IntRange,
  MatMulNode,
  MaxPoolNode,
  RequantNode,
  SumPoolNode,
  TensorId,
  TensorInfo,
} from '../../graph/index.js';
import type { ConvolutionForm, ExactSession } from '../engine.js';
import { convolutionsAsMatMul } from './convolutions-as-matmul.js';
import { predictExactBytes } from '../session-size.js';
import {
  Constants,
  convolve,
  everyNth,
  overWindow,
  padSides,
  tidied,
  TO_CHANNELS_FIRST,
  TO_CHANNELS_LAST,
} from './tfjs-kernels.js';
import type { Device, Filter, TensorFlow, TensorFlowRunner } from './tfjs-kernels.js';

type Form = 'rowMajor' | 'channelsLast';

const ROUNDING = 2 ** 23;
const DIVISOR = 2 ** 24;

export async function loadExactTfjs(
  runner: TensorFlowRunner,
  bundle: Bundle,
  convolution: ConvolutionForm,
): Promise<ExactSession> {
  const { graph } = bundle;
  const slots = committedTensors(graph, bundle.committedSlots);
  const realised = convolutionsAsMatMul(
    graph,
    (node) => convolution === 'im2col' || !fitsFloat32(convolutionParts(node, graph.tensors)),
  );
  const constants = new Constants(runner.tf);
  return {
    sizeBytes: predictExactBytes(realised),
    run: (inputs, items, onTensor) =>
      runner.exclusively(() =>
        tidied(runner.tf, () => {
          const run = new Run(runner, realised, constants, items);
          graph.inputs.forEach((id, index) => run.upload(id, inputs[index]!, 'rowMajor'));
          for (const node of realised.nodes) run.node(node);
          return slots.map((slot, position) => {
            const values = run.download(slot);
            onTensor?.(position, values);
            return values;
          });
        }),
      ),
    close: () => runner.exclusively(() => constants.dispose()),
  };
}

class Run {
  readonly #tf: TensorFlow;
  readonly #values: { [form in Form]?: Device }[] = [];

  constructor(
    readonly runner: TensorFlowRunner,
    readonly graph: IntegerGraph,
    readonly constants: Constants,
    readonly items: number,
  ) {
    this.#tf = runner.tf;
  }

  upload(id: TensorId, data: Int32Array, form: Form): void {
    const { range, shape } = this.#info(id);
    const side = form === 'rowMajor' ? shape : [shape[1]!, shape[2]!, shape[0]!];
    this.#set(
      id,
      isNarrow(range)
        ? this.#tf.tensor(Float32Array.from(data), [this.items, ...side], 'float32')
        : this.#tf.tensor(data, [this.items, ...side], 'int32'),
      form,
    );
  }

  /** @throws AssayError ENGINE_NOT_EXACT where an element is not an integer. */
  download(id: TensorId): Int32Array {
    const data = this.#rowMajor(id).dataSync();
    const { name } = this.#info(id);
    const integers = new Int32Array(data.length);
    for (let index = 0; index < data.length; index++) integers[index] = this.#integer(data[index]!, name, index);
    return integers;
  }

  node(node: IntegerNode): void {
    switch (node.kind) {
      case 'matmul':
        return this.#set(node.output, this.#matmul(node));
      case 'matmulActivations': {
        const range = productRange(this.#info(node.a).range, this.#info(node.b).range);
        const inFeatures = this.#info(node.a).shape.at(-1)!;
        const part = Math.max(1, Math.floor(FLOAT32_EXACT_LIMIT / Math.max(1, magnitude(range))));
        const cuts = partition(inFeatures, part);
        return this.#set(node.output, this.#batchMatMul(node.a, node.b, node.output, cuts));
      }
      case 'conv':
        return this.#set(node.output, this.#conv(node), 'channelsLast');
      case 'combine': {
        const sizes = node.terms.map(({ x, coefficient }) => Math.abs(coefficient) * magnitude(this.#info(x).range));
        const exact = isExactSum([...sizes, constantMagnitude(node.bias)]);
        return this.#elementwise(
          node.output,
          node.terms.map(({ x }) => x),
          exact,
          (xs, constant, dtype) => {
            let sum: Device | null = node.bias === null ? null : constant('bias', node.bias);
            node.terms.forEach(({ coefficient }, index) => {
              const term =
                coefficient === 1 ? xs[index]! : this.#tf.mul(xs[index]!, this.#tf.scalar(coefficient, dtype));
              sum = sum === null ? term : this.#tf.add(sum, term);
            });
            return sum!;
          },
        );
      }
      case 'scale': {
        const product = magnitude(this.#info(node.x).range) * constantMagnitude(node.factor);
        const exact = isExactSum([product, constantMagnitude(node.bias)]);
        return this.#elementwise(node.output, [node.x], exact, ([x], constant) => {
          const scaled = this.#tf.mul(x!, constant('factor', node.factor));
          return node.bias === null ? scaled : this.#tf.add(scaled, constant('bias', node.bias));
        });
      }
      case 'mul': {
        const exact = isExactSum([magnitude(this.#info(node.a).range) * magnitude(this.#info(node.b).range)]);
        return this.#elementwise(node.output, [node.a, node.b], exact, ([a, b]) => this.#tf.mul(a!, b!));
      }
      case 'sumPool': {
        const [kernelHeight, kernelWidth] = node.window.kernel;
        const exact = magnitude(this.#info(node.x).range) * kernelHeight * kernelWidth <= FLOAT32_EXACT_LIMIT;
        const x = this.#typed(this.#channelsLast(node.x), exact);
        const sum = this.#overWindow(x, node, 0, (a, b) => this.#tf.add(a, b));
        return this.#set(node.output, sum, 'channelsLast');
      }
      case 'maxPool': {
        const { range } = this.#info(node.x);
        const maximum = (a: Device, b: Device): Device => this.#tf.maximum(a, b);
        // Padding with the least possible value: never chosen over a real cell of greater value, equal to it otherwise.
        const max = this.#overWindow(this.#channelsLast(node.x), node, range.lo, maximum);
        return this.#set(node.output, max, 'channelsLast');
      }
      case 'reduceSum': {
        const { range, shape } = this.#info(node.x);
        const count = node.axes.reduce((product, axis) => product * shape[axis]!, 1);
        const x = this.#typed(this.#rowMajor(node.x), magnitude(range) * count <= FLOAT32_EXACT_LIMIT);
        return this.#set(node.output, this.#tf.sum(x, batchAxes(node.axes), true));
      }
      case 'reduceMax':
        return this.#set(node.output, this.#tf.max(this.#rowMajor(node.x), batchAxes(node.axes), true));
      case 'argMax': {
        const index = this.#tf.argMax(this.#rowMajor(node.x), node.axis + 1);
        return this.#set(node.output, this.#tf.reshape(index, this.#batchShape(node.output)));
      }
      case 'requant':
        return this.#requant(node);
      case 'reshape':
        return this.#set(node.output, this.#tf.reshape(this.#rowMajor(node.x), this.#batchShape(node.output)));
      case 'transpose': {
        const permutation = [0, ...node.permutation.map((axis) => axis + 1)];
        return this.#set(node.output, this.#tf.transpose(this.#rowMajor(node.x), permutation));
      }
      case 'concat': {
        const narrow = isNarrow(this.#info(node.output).range);
        const xs = node.xs.map((x) => this.#typed(this.#rowMajor(x), narrow));
        return this.#set(node.output, xs.length === 1 ? xs[0]! : this.#tf.concat(xs, node.axis + 1));
      }
      case 'slice':
        return this.#set(node.output, this.#slice(this.#rowMajor(node.x), node.starts, node.steps, node.output));
      case 'pad': {
        const x = this.#typed(this.#rowMajor(node.x), isNarrow(this.#info(node.output).range));
        const widths = node.before.map((before, axis): [number, number] => [before, node.after[axis]!]);
        return this.#set(node.output, this.#tf.pad(x, [[0, 0], ...widths], node.value));
      }
      case 'expand': {
        const from = this.#info(node.x).shape;
        const repeats = this.#info(node.output).shape.map((side, axis) => side / from[axis]!);
        return this.#set(node.output, this.#tf.tile(this.#rowMajor(node.x), [1, ...repeats]));
      }
    }
  }

  #info(id: TensorId): TensorInfo {
    return this.graph.tensors[id]!;
  }

  #batchShape(id: TensorId): number[] {
    return [this.items, ...this.#info(id).shape];
  }

  /** Stores a result in the element type that its tensor's proved range asks for. */
  #set(id: TensorId, value: Device, form: Form = 'rowMajor'): void {
    this.#values[id] = { [form]: this.#typed(value, isNarrow(this.#info(id).range)) };
  }

  #typed(value: Device, narrow: boolean): Device {
    const dtype = narrow ? 'float32' : 'int32';
    return value.dtype === dtype ? value : this.#tf.cast(value, dtype);
  }

  #rowMajor(id: TensorId): Device {
    const forms = this.#values[id]!;
    return (forms.rowMajor ??= this.#tf.transpose(forms.channelsLast!, TO_CHANNELS_FIRST));
  }

  #channelsLast(id: TensorId): Device {
    const forms = this.#values[id]!;
    return (forms.channelsLast ??= this.#tf.transpose(forms.rowMajor!, TO_CHANNELS_LAST));
  }

  /** An elementwise node; in channels-last form where every operand is in it already. */
  #elementwise(
    output: TensorId,
    operands: readonly TensorId[],
    narrow: boolean,
    compute: (
      xs: Device[],
      constant: (key: string, value: BroadcastConstant) => Device,
      dtype: 'float32' | 'int32',
    ) => Device,
  ): void {
    const form: Form = operands.every((id) => this.#values[id]!.channelsLast !== undefined)
      ? 'channelsLast'
      : 'rowMajor';
    const dtype = narrow ? 'float32' : 'int32';
    const xs = operands.map((id) =>
      this.#typed(form === 'rowMajor' ? this.#rowMajor(id) : this.#channelsLast(id), narrow),
    );
    const rank = this.#info(output).shape.length;
    const constant = (key: string, value: BroadcastConstant): Device =>
      this.constants.get(`${output}/${key}/${form}`, () => {
        const shape = [...new Array<number>(rank + 1 - value.shape.length).fill(1), ...value.shape];
        const data = narrow ? Float32Array.from(value.data) : value.data;
        const tensor = this.#tf.tensor(data, shape, dtype);
        return form === 'rowMajor' ? tensor : this.#tf.transpose(tensor, TO_CHANNELS_LAST);
      });
    this.#set(output, compute(xs, constant, dtype), form);
  }

  #matmul(node: MatMulNode): Device {
    const tf = this.#tf;
    const { outFeatures, inFeatures } = node;
    const parts = matmulParts(node, this.#info(node.x).range);
    const exact = fitsFloat32(parts);
    const cuts = exact ? [0, inFeatures] : parts.cuts;
    const x = tf.reshape(this.#rowMajor(node.x), [-1, inFeatures]);
    let sum: Device | null = null;
    for (let part = 0; part + 1 < cuts.length; part++) {
      const [from, to] = [cuts[part]!, cuts[part + 1]!];
      const weight = this.constants.get(`${node.output}/weight${part}`, () =>
        tf.transpose(
          tf.slice(tf.tensor(Float32Array.from(node.weight), [outFeatures, inFeatures]), [0, from], [-1, to - from]),
        ),
      );
      const product = tf.matMul(cuts.length === 2 ? x : tf.slice(x, [0, from], [-1, to - from]), weight);
      const typed = this.#typed(product, exact);
      sum = sum === null ? typed : tf.add(sum, typed);
    }
    if (node.bias !== null) {
      const { bias } = node;
      const tensor = this.constants.get(`${node.output}/bias`, () =>
        exact ? tf.tensor(Float32Array.from(bias)) : tf.tensor(bias, undefined, 'int32'),
      );
      sum = tf.add(sum!, tensor);
    }
    return tf.reshape(sum!, this.#batchShape(node.output));
  }

  #batchMatMul(aId: TensorId, bId: TensorId, output: TensorId, cuts: readonly number[]): Device {
    const tf = this.#tf;
    const matrices = (id: TensorId): Device => {
      const [rows, columns] = this.#info(id).shape.slice(-2) as [number, number];
      return tf.reshape(this.#rowMajor(id), [-1, rows, columns]);
    };
    const a = matrices(aId);
    const b = matrices(bId);
    const exact = cuts.length === 2;
    let sum: Device | null = null;
    for (let part = 0; part + 1 < cuts.length; part++) {
      const [from, to] = [cuts[part]!, cuts[part + 1]!];
      const cut = (matrix: Device): Device => (exact ? matrix : tf.slice(matrix, [0, 0, from], [-1, -1, to - from]));
      const product = this.#typed(tf.matMul(cut(a), cut(b), false, true), exact);
      sum = sum === null ? product : tf.add(sum, product);
    }
    return tf.reshape(sum!, this.#batchShape(output));
  }

  #conv(node: ConvNode): Device {
    const tf = this.#tf;
    const channels = this.#info(node.x).shape[0]!;
    const { groups, outChannels, window, weight } = node;
    const [kernelHeight, kernelWidth] = window.kernel;
    const groupChannels = channels / groups;
    const groupOutputs = outChannels / groups;
    const [, height, width] = this.#info(node.output).shape as [number, number, number];
    const filter: Filter = {
      groups,
      groupChannels,
      depthwise: () =>
        this.constants.get(`${node.output}/filter`, () =>
          // Stored [channel * multiplier][row][column][1]; TensorFlow wants [row][column][channel][multiplier].
          tf.transpose(
            tf.tensor(Float32Array.from(weight), [channels, groupOutputs, kernelHeight, kernelWidth]),
            [2, 3, 0, 1],
          ),
        ),
      ofGroup: (group) =>
        this.constants.get(`${node.output}/filter${group}`, () => {
          const size = groupOutputs * kernelHeight * kernelWidth * groupChannels;
          const own = Float32Array.from(weight.subarray(group * size, (group + 1) * size));
          return tf.transpose(tf.tensor(own, [groupOutputs, kernelHeight, kernelWidth, groupChannels]), [1, 2, 3, 0]);
        }),
    };
    const y = convolve(tf, padSides(tf, this.#channelsLast(node.x), window.pads, 0), filter, window, [height, width]);
    if (node.bias === null) return y;
    const { bias } = node;
    return tf.add(
      y,
      this.constants.get(`${node.output}/bias`, () => tf.tensor(Float32Array.from(bias))),
    );
  }

  #overWindow(
    x: Device,
    node: SumPoolNode | MaxPoolNode,
    padding: number,
    fold: (a: Device, b: Device) => Device,
  ): Device {
    const [, height, width] = this.#info(node.output).shape as [number, number, number];
    return overWindow(this.#tf, padSides(this.#tf, x, node.window.pads, padding), node.window, [height, width], fold);
  }

  #slice(x: Device, starts: readonly number[], steps: readonly number[], output: TensorId): Device {
    const { shape } = this.#info(output);
    return shape.reduce(
      (value, side, axis) => everyNth(this.#tf, value, axis + 1, starts[axis]!, steps[axis]!, side),
      x,
    );
  }

  #requant(node: RequantNode): void {
    const { shape, name } = this.#info(node.output);
    const forms = this.#values[node.x]!;
    const form: Form = forms.channelsLast === undefined ? 'rowMajor' : 'channelsLast';
    const data = forms[form]!.dataSync();
    const { multipliers, table, channelAxis } = node;

    // Multiplier of the element at `index`: its index along the channel axis, in the form at hand.
    const order = form === 'rowMajor' ? shape.map((_, axis) => axis) : [1, 2, 0];
    const position = channelAxis === null ? -1 : order.indexOf(channelAxis);
    const stride = position < 0 ? 1 : sizeOf(order.slice(position + 1).map((axis) => shape[axis]!));
    const channels = position < 0 ? 1 : shape[channelAxis!]!;

    const out = new Int32Array(data.length);
    for (let index = 0; index < data.length; index++) {
      const acc = this.#integer(data[index]!, this.#info(node.x).name, index);
      const multiplier = multipliers[Math.floor(index / stride) % channels]!;
      const q = Math.floor((acc * multiplier + ROUNDING) / DIVISOR);
      if (q < table.qLo || q > table.qHi) {
        throw new AssayError(
          'ENGINE_NOT_EXACT',
          `${this.runner.name}: tensor ${name}, element ${index}: quotient ${q} outside the proved ${table.qLo}..${table.qHi}`,
          { meta: { engine: this.runner.name, tensor: name, index, found: q } },
        );
      }
      out[index] = table.kind === 'clamp' ? Math.min(Math.max(q, table.lo), table.hi) : table.values[q - table.qLo]!;
    }
    this.upload(node.output, out, form);
  }

  #integer(value: number, tensor: string, index: number): number {
    const integer = value | 0;
    if (integer !== value) {
      throw new AssayError(
        'ENGINE_NOT_EXACT',
        `${this.runner.name}: tensor ${tensor}, element ${index}: expected a 32-bit integer, found ${value}`,
        { meta: { engine: this.runner.name, tensor, index, found: String(value) } },
      );
    }
    return integer;
  }
}

function isNarrow(range: IntRange): boolean {
  return magnitude(range) <= FLOAT32_EXACT_LIMIT;
}

function magnitude(range: IntRange): number {
  return Math.max(Math.abs(range.lo), Math.abs(range.hi));
}

/** True where a sum of terms of these magnitudes is exact in float32 whatever the order of summation. */
function isExactSum(magnitudes: readonly number[]): boolean {
  return magnitudes.reduce((sum, term) => sum + term, 0) <= FLOAT32_EXACT_LIMIT;
}

function constantMagnitude(constant: BroadcastConstant | null): number {
  if (constant === null) return 0;
  return constant.data.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
}

function productRange(a: IntRange, b: IntRange): IntRange {
  const corners = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi];
  return { lo: Math.min(...corners), hi: Math.max(...corners) };
}

function batchAxes(axes: readonly number[]): number[] {
  return axes.map((axis) => axis + 1);
}

/** 0, size, 2 * size, ..., total. */
function partition(total: number, size: number): number[] {
  const cuts = [0];
  while (cuts.at(-1)! < total) cuts.push(Math.min(total, cuts.at(-1)! + size));
  return cuts;
}

interface Parts {
  /** Boundaries along the contraction axis between which every partial sum stays within 2^24. */
  readonly cuts: readonly number[];
  /** True where the bias can be added in float32 too. */
  readonly biasFits: boolean;
}

function fitsFloat32(parts: Parts): boolean {
  return parts.cuts.length === 2 && parts.biasFits;
}

function matmulParts(node: MatMulNode, x: IntRange): Parts {
  return contractionParts(node.weight, node.outFeatures, node.inFeatures, node.bias, x);
}

function convolutionParts(node: ConvNode, tensors: readonly TensorInfo[]): Parts {
  const { range } = tensors[node.x]!;
  const contraction = node.weight.length / node.outChannels;
  // Padding brings the integer 0 into the window.
  const withPadding = { lo: Math.min(range.lo, 0), hi: Math.max(range.hi, 0) };
  return contractionParts(node.weight, node.outChannels, contraction, node.bias, withPadding);
}

/**
 * Cuts the contraction axis so that, within a part, the sum of any subset of the products (and so every partial sum
 * in any order) lies within +-2^24: the positive products' largest values and the negative ones' are summed apart.
 */
function contractionParts(
  weight: ArrayLike<number>,
  rows: number,
  contraction: number,
  bias: Int32Array | null,
  x: IntRange,
): Parts {
  const positive = new Float64Array(rows);
  const negative = new Float64Array(rows);
  const cuts = [0];
  const extremes = (row: number, k: number): [number, number] => {
    const w = weight[row * contraction + k]!;
    return [Math.max(0, w * x.lo, w * x.hi), Math.max(0, -w * x.lo, -w * x.hi)];
  };
  for (let k = 0; k < contraction; k++) {
    let full = false;
    for (let row = 0; row < rows && !full; row++) {
      const [up, down] = extremes(row, k);
      full = positive[row]! + up > FLOAT32_EXACT_LIMIT || negative[row]! + down > FLOAT32_EXACT_LIMIT;
    }
    if (full) {
      cuts.push(k);
      positive.fill(0);
      negative.fill(0);
    }
    for (let row = 0; row < rows; row++) {
      const [up, down] = extremes(row, k);
      positive[row]! += up;
      negative[row]! += down;
    }
  }
  cuts.push(contraction);
  const biasFits = positive.every((up, row) => {
    const offset = bias?.[row] ?? 0;
    return (
      up + Math.max(0, offset) <= FLOAT32_EXACT_LIMIT && negative[row]! + Math.max(0, -offset) <= FLOAT32_EXACT_LIMIT
    );
  });
  return { cuts, biasFits };
}
