/**
 * An ONNX model as a float32 graph. Where ONNX has a shorter way to say what a step can check, it is said the longer
 * way:
 *   - BatchNormalization is folded into the Conv or Gemm before it, where nobody else reads that, in float64 with one
 *     rounding of each weight; elsewhere it is a Mul and an Add.
 *   - GlobalAveragePool is an AveragePool over all; MatMul by a constant and Gemm are `dense`; Flatten is a Reshape.
 * The graph that results is what the executor runs (export-float.ts): it is another function of floats than the model.
 */
import { AssayError } from '../../common/errors.js';
import type { Window2d } from '../../graph/integer/types.js';
import { prepareModel, readOnnx, type OnnxNode, type PreparedModel } from '../../graph/onnx/index.js';
import { planConvolution } from '../../graph/onnx/operators/convolution.js';
import { Application } from '../../graph/onnx/operators/operator.js';
import { planWindow, type WindowPlan } from '../../graph/onnx/operators/window.js';
import { sizeOf } from '../../graph/tensor.js';
import {
  MAX_CONTRACTION,
  operandsOf,
  type FloatGraph,
  type FloatNode,
  type FloatOperand,
  type FloatPort,
  type FloatValue,
} from './types.js';

const CHANNELS_LAST = [1, 2, 0];

/**
 * @param fileName stands in messages only.
 * @throws AssayError ONNX_NODE_UNSUPPORTED naming the first node that no step of a float graph computes, and why;
 * CONSTANT_NOT_FINITE; what reading and preparing a model throw.
 */
export function lowerModel(bytes: Uint8Array, fileName: string): FloatGraph {
  const model = prepareModel(readOnnx(bytes, fileName));
  return new Lowering(model).run();
}

class Lowering {
  readonly #model: PreparedModel;
  readonly #nodes: FloatNode[] = [];
  readonly #values: Omit<FloatValue, 'layout'>[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(model: PreparedModel) {
    this.#model = model;
  }

  run(): FloatGraph {
    const { name, nodes, outputs } = this.#model;
    const inputs = this.#model.inputs.map((input): FloatPort => {
      if (input.type !== 'float32' || input.shape[0] !== 1)
        throw refuse(
          `input ${JSON.stringify(input.name)}`,
          `is ${input.type} [${input.shape.join(', ')}]`,
          'Inputs of a float graph are float32 and have the batch as their first axis.',
        );
      return { name: input.name, value: this.#value(input.name, input.shape.slice(1)) };
    });
    const norms = this.#foldable();
    const folded = new Set(norms.values());
    for (const node of nodes) {
      if (folded.has(node)) continue;
      this.#lower(node, norms.get(node) ?? null);
    }
    const ports = outputs.map(({ name: port }): FloatPort => {
      const value = this.#numbers.get(port);
      if (value === undefined)
        throw refuse(`output ${JSON.stringify(port)}`, 'is a constant', 'Leave it out: nothing computes it.');
      return { name: port, value };
    });
    return { name, inputs, nodes: this.#nodes, values: this.#withLayouts(), outputs: ports };
  }

  /** BatchNormalization by the node that it is folded into. */
  #foldable(): Map<OnnxNode, OnnxNode> {
    const { nodes, outputs, initializers } = this.#model;
    const readers = new Map<string, OnnxNode[]>();
    for (const node of nodes) for (const name of node.inputs) readers.set(name, [...(readers.get(name) ?? []), node]);
    const norms = new Map<OnnxNode, OnnxNode>();
    for (const node of nodes) {
      const [output] = node.outputs;
      const [reader, ...others] = readers.get(output!) ?? [];
      const constant = node.inputs.slice(1).every((name) => name === '' || initializers.has(name));
      if (
        ['Conv', 'Gemm'].includes(node.op) &&
        constant &&
        others.length === 0 &&
        reader?.op === 'BatchNormalization' &&
        reader.inputs[0] === output &&
        outputs.every(({ name }) => name !== output)
      )
        norms.set(node, reader);
    }
    return norms;
  }

  #value(name: string, shape: readonly number[]): number {
    this.#numbers.set(name, this.#values.length);
    return this.#values.push({ name, shape }) - 1;
  }

  #emit(node: FloatNode, name: string, shape: readonly number[]): void {
    this.#nodes.push(node);
    this.#value(name, shape);
  }

  #lower(node: OnnxNode, norm: OnnxNode | null): void {
    const { values, initializers, opset } = this.#model;
    const operands = node.inputs.map((name) =>
      name === '' ? null : { ...values.get(name)!, value: initializers.get(name) ?? null },
    );
    const application = new Application(node, opset, operands);
    const fail = (reason: string, mend: string): AssayError =>
      refuse(`node ${JSON.stringify(node.name)} (${node.op})`, reason, mend);
    const output = values.get(node.outputs[0]!)!;
    for (const value of [output, ...operands.slice(0, 1)])
      if (value !== null && value!.type !== 'float32')
        throw fail(`is of ${value!.type}`, 'Float graphs hold float32 only.');
    if (output.shape[0] !== 1 || node.outputs.slice(1).some((name) => name !== ''))
      throw fail(
        'does not keep the batch as its first axis, or has a second output',
        'Export the model with the batch outermost.',
      );
    const shape = output.shape.slice(1);
    const x = (index = 0): number => {
      const name = node.inputs[index] ?? '';
      const number = this.#numbers.get(name);
      if (number === undefined)
        throw fail(`has a constant as its input ${index}`, 'Only weights and operands of sums may be constants.');
      return number;
    };
    const constant = (index: number): Float32Array | null => {
      const name = node.inputs[index] ?? '';
      if (name === '') return null;
      const tensor = initializers.get(name);
      if (tensor === undefined)
        throw fail(
          `computes its input ${index}`,
          'A step multiplies by constants only; export with weights as initializers.',
        );
      return this.#finite(name, tensor.data as Float32Array);
    };
    switch (node.op) {
      case 'Conv': {
        const given = values.get(node.inputs[0]!)!.shape;
        if (given.length !== 4) throw fail('is no convolution over two axes', 'Only [N, C, H, W] is convolved.');
        const weightShape = values.get(node.inputs[1]!)!.shape;
        const plan = planConvolution(application, given, weightShape);
        const data = channelsInnermost(constant(1)!, weightShape);
        const [outChannels, depth, rows, columns] = weightShape as [number, number, number, number];
        const linear = this.#normalised({ data, rows: outChannels, bias: constant(2) }, norm);
        requireContraction(fail, depth * rows * columns);
        const emitted: FloatNode = {
          kind: 'conv',
          x: x(),
          window: window2d(plan.window),
          groups: plan.groups,
          weight: { shape: [outChannels, rows, columns, depth], data: linear.data },
          bias: linear.bias && { shape: [outChannels], data: linear.bias },
        };
        this.#emit(emitted, (norm ?? node).outputs[0]!, shape);
        return;
      }
      case 'Gemm':
      case 'MatMul': {
        const given = values.get(node.inputs[0]!)!.shape;
        const weightShape = values.get(node.inputs[1]!)!.shape;
        const plain = application.number('alpha', 1) === 1 && application.number('beta', 1) === 1;
        if (!plain || application.number('transA', 0) !== 0)
          throw fail('has alpha, beta or transA', 'Export the layer as x W + b.');
        if (weightShape.length !== 2 || given.length < 2)
          throw fail('is no product with a matrix of weights', 'A step multiplies by a constant [K, N].');
        const transposed = application.number('transB', 0) !== 0;
        const source = constant(1)!;
        const [depth, rows] = transposed ? [weightShape[1]!, weightShape[0]!] : [weightShape[0]!, weightShape[1]!];
        const data = transposed ? source : transpose(source, depth, rows);
        const row = constant(2);
        const bias = row === null ? null : spread(row, rows, fail);
        const linear = this.#normalised({ data, rows, bias }, norm);
        requireContraction(fail, depth);
        const emitted: FloatNode = {
          kind: 'dense',
          x: x(),
          weight: { shape: [rows, depth], data: linear.data },
          bias: linear.bias && { shape: [rows], data: linear.bias },
        };
        this.#emit(emitted, (norm ?? node).outputs[0]!, shape);
        return;
      }
      case 'BatchNormalization': {
        const { factor, shift } = this.#affine(node);
        const sides = [factor.length, ...shape.slice(1).map(() => 1)];
        const scaled = `${node.outputs[0]!} scaled`;
        this.#emit({ kind: 'mul', a: x(), b: { shape: sides, data: Float32Array.from(factor) } }, scaled, shape);
        const a = this.#values.length - 1;
        this.#emit({ kind: 'add', a, b: { shape: sides, data: Float32Array.from(shift) } }, node.outputs[0]!, shape);
        return;
      }
      case 'AveragePool':
      case 'MaxPool': {
        const given = values.get(node.inputs[0]!)!.shape;
        if (given.length !== 4) throw fail('is no pooling over two axes', 'Only [N, C, H, W] is pooled.');
        if (application.number('ceil_mode', 0) !== 0)
          throw fail('has ceil_mode', 'Export with ceil_mode = 0 and pads.');
        const plan = planWindow(application, given, { kernel: application.numbers('kernel_shape')!, ceilMode: false });
        const window = window2d(plan);
        requireContraction(fail, window.kernel[0] * window.kernel[1]);
        if (node.op === 'AveragePool' && window.dilations.some((step) => step !== 1))
          throw fail('has dilations', 'Export an AveragePool without dilations.');
        if (!everyWindowMeets(plan))
          throw fail('has windows of padding alone', 'Use less padding than the window has sides.');
        const countsPadding = application.number('count_include_pad', 0) !== 0;
        const emitted: FloatNode =
          node.op === 'MaxPool'
            ? { kind: 'maxPool', x: x(), window }
            : { kind: 'averagePool', x: x(), window, countsPadding };
        this.#emit(emitted, node.outputs[0]!, shape);
        return;
      }
      case 'GlobalAveragePool': {
        const given = values.get(node.inputs[0]!)!.shape;
        if (given.length !== 4) throw fail('is no pooling over two axes', 'Only [N, C, H, W] is pooled.');
        const kernel = [given[2]!, given[3]!] as const;
        requireContraction(fail, kernel[0] * kernel[1]);
        const window: Window2d = { kernel, strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] };
        this.#emit({ kind: 'averagePool', x: x(), window, countsPadding: false }, node.outputs[0]!, shape);
        return;
      }
      case 'Add':
      case 'Sub':
      case 'Mul': {
        const rank = output.shape.length;
        const operand = (index: number): FloatOperand => {
          const name = node.inputs[index]!;
          const sides = values.get(name)!.shape;
          const number = this.#numbers.get(name);
          if (number !== undefined) {
            if (sides.length !== rank)
              throw fail('broadcasts a value to more axes', 'Reshape the operand to the same number of axes.');
            return number;
          }
          if (sides.length === rank && sides[0] !== 1)
            throw fail('has a constant for each item', 'Constants are the same for every item.');
          const own = sides.slice(Math.max(0, sides.length - rank + 1));
          return { shape: [...new Array<number>(rank - 1 - own.length).fill(1), ...own], data: constant(index)! };
        };
        const kind = node.op.toLowerCase() as 'add' | 'sub' | 'mul';
        this.#emit({ kind, a: operand(0), b: operand(1) }, node.outputs[0]!, shape);
        return;
      }
      case 'Relu':
        this.#emit({ kind: 'relu', x: x() }, node.outputs[0]!, shape);
        return;
      case 'Flatten':
      case 'Reshape':
      case 'Squeeze':
      case 'Unsqueeze':
      case 'Identity':
        this.#emit({ kind: 'reshape', x: x() }, node.outputs[0]!, shape);
        return;
      default:
        throw fail(
          'is no operator that a step of a float graph computes',
          'Use integers (`assay compile`), or Conv, Gemm, MatMul, Relu, Add, Sub, Mul, pooling and reshaping only.',
        );
    }
  }

  #finite(name: string, data: Float32Array): Float32Array {
    const found = data.findIndex((value) => !Number.isFinite(value));
    if (found < 0) return data;
    throw new AssayError(
      'CONSTANT_NOT_FINITE',
      `constant ${JSON.stringify(name)} has ${data[found]} as element ${found}`,
      {
        meta: { tensor: name, element: found },
      },
    );
  }

  /** y = factor x + shift, per channel, in float64. */
  #affine(norm: OnnxNode): { factor: number[]; shift: number[] } {
    const parameter = (index: number): Float32Array => {
      const name = norm.inputs[index]!;
      const tensor = this.#model.initializers.get(name);
      if (tensor === undefined)
        throw refuse(
          `node ${JSON.stringify(norm.name)} (BatchNormalization)`,
          'computes a parameter',
          'Export the model in evaluation mode.',
        );
      return this.#finite(name, tensor.data as Float32Array);
    };
    const [scale, bias, mean, variance] = [parameter(1), parameter(2), parameter(3), parameter(4)];
    const epsilon = (norm.attributes.get('epsilon') as number | undefined) ?? Math.fround(1e-5);
    const factor = Array.from(scale, (value, c) => value / Math.sqrt(variance[c]! + epsilon));
    return { factor, shift: factor.map((value, c) => bias[c]! - value * mean[c]!) };
  }

  #normalised(
    { data, rows, bias }: { data: Float32Array; rows: number; bias: Float32Array | null },
    norm: OnnxNode | null,
  ): { data: Float32Array; bias: Float32Array | null } {
    if (norm === null) return { data, bias };
    const { factor, shift } = this.#affine(norm);
    const row = data.length / rows;
    return {
      data: this.#finite(
        norm.name,
        data.map((value, i) => value * factor[Math.floor(i / row)]!),
      ),
      bias: this.#finite(
        norm.name,
        Float32Array.from(shift, (value, c) => value + factor[c]! * (bias?.[c] ?? 0)),
      ),
    };
  }

  #withLayouts(): FloatValue[] {
    const windowed = new Set(this.#nodes.flatMap((node) => ('window' in node ? operandsOf(node) : [])));
    return this.#values.map((value, number) => ({
      ...value,
      layout: windowed.has(number) ? CHANNELS_LAST : value.shape.map((_, axis) => axis),
    }));
  }
}

function refuse(what: string, reason: string, mend: string): AssayError {
  return new AssayError('ONNX_NODE_UNSUPPORTED', `A float graph cannot hold this model: ${what} ${reason}.`, { mend });
}

function requireContraction(fail: (reason: string, mend: string) => AssayError, terms: number): void {
  if (terms > MAX_CONTRACTION)
    throw fail(
      `sums ${terms} products; a step sums at most ${MAX_CONTRACTION}`,
      'Split the contraction into parts that are added.',
    );
}

function window2d({ kernel, strides, dilations, begin, end }: WindowPlan): Window2d {
  return { kernel, strides, dilations, pads: [begin[0], begin[1], end[0], end[1]] };
}

/** Has every window an element inside the input? */
function everyWindowMeets({ input, output, kernel, strides, dilations, begin }: WindowPlan): boolean {
  return ([0, 1] as const).every((axis) =>
    Array.from({ length: output[axis] }, (_, position) => position * strides[axis] - begin[axis]).every((from) =>
      Array.from({ length: kernel[axis] }, (_, tap) => from + tap * dilations[axis]).some(
        (at) => at >= 0 && at < input[axis],
      ),
    ),
  );
}

/** [O, C, H, W] as [O, H, W, C]. */
function channelsInnermost(data: Float32Array, shape: readonly number[]): Float32Array {
  const [out, channels] = shape as [number, number];
  const plane = sizeOf(shape.slice(2));
  const made = new Float32Array(data.length);
  for (let o = 0; o < out; o++)
    for (let c = 0; c < channels; c++)
      for (let i = 0; i < plane; i++) made[(o * plane + i) * channels + c] = data[(o * channels + c) * plane + i]!;
  return made;
}

/** [rows, columns] as [columns, rows]. */
function transpose(data: Float32Array, rows: number, columns: number): Float32Array {
  return data.map((_, i) => data[(i % rows) * columns + Math.floor(i / rows)]!);
}

function spread(bias: Float32Array, rows: number, fail: (reason: string, mend: string) => AssayError): Float32Array {
  if (bias.length !== 1 && bias.length !== rows) throw fail('has a bias that is no row', 'Give a bias of [N].');
  return bias.length === rows ? bias : new Float32Array(rows).fill(bias[0]!);
}
