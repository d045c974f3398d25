/** Linear layers: Conv, Gemm, MatMul. They stay plans until a consumer needs them, so that what follows can fold in. */
import { AssayError } from '../../../common/errors.js';
import { windowOutput } from '../../integer/shapes.js';
import type { OnnxNode, PreparedModel } from '../../onnx/model.js';
import { numberAttribute } from '../attributes.js';
import { inShape, settled } from '../batch-axis.js';
import { asImage, fromImage } from '../image.js';
import { tensorValue, type Lowering } from '../lowering.js';
import { alongAxis, type RealConstant } from '../numbers.js';
import type { Problem } from '../refusal.js';
import { expanded, reshaped, toWhole, transposed } from '../shape-wires.js';
import { IDENTITY } from '../unary-function.js';
import { wholeShape, type FixedWeights, type LinearPlan, type Value } from '../value.js';
import { windowOf } from '../window.js';
import { alignedConstant } from './binary.js';
import { constantOperands, isConstant, shapeOf, type OperatorTable } from './operator.js';

/** A layer's real weights, and the integers behind them where the model brings those. */
export interface LayerWeights {
  readonly real: Float64Array;
  readonly fixed: FixedWeights | null;
}

/** [outer][rows][columns] to [outer][columns][rows]. */
function transposeLast<T extends Float64Array | Int16Array>(data: T, outer: number, rows: number, columns: number): T {
  const out = data.slice() as T;
  for (let o = 0; o < outer; o++)
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < columns; c++) out[(o * columns + c) * rows + r] = data[(o * rows + r) * columns + c]!;
  return out;
}

function reorderWeights(weights: LayerWeights, outer: number, rows: number, columns: number): LayerWeights {
  return {
    real: transposeLast(weights.real, outer, rows, columns),
    fixed:
      weights.fixed === null
        ? null
        : { ...weights.fixed, integers: transposeLast(weights.fixed.integers, outer, rows, columns) },
  };
}

/**
 * Weights of a constant operand. Where the model quantised them itself, with one scale or one per output channel
 * (`channelAxis` of the constant), its integers are kept.
 */
function weightsOf(lowering: Lowering, name: string, channelAxis: number): LayerWeights {
  const { data } = lowering.constant(name);
  const known = lowering.facts.quantisedConstants.get(name);
  if (known === undefined || (known.scale.length > 1 && known.axis !== channelAxis)) return { real: data, fixed: null };
  return { real: data, fixed: { integers: Int16Array.from(known.integers), scales: known.scale } };
}

function planValue(plan: LinearPlan, batched: boolean): Value {
  return {
    elementwise: { base: plan, fn: IDENTITY, name: plan.name },
    wires: [],
    shape: plan.shape,
    batched,
    channelAxis: plan.channelAxis,
    zeroPoint: 0,
  };
}

/** x [..., K] times weights [rows][K]. */
function matmulPlan(
  node: OnnxNode,
  name: string,
  x: Value,
  weights: LayerWeights,
  rows: number,
  bias: Float64Array | null,
): Value {
  const perRow = x.shape.at(-1)!;
  const shape = [...x.shape.slice(0, -1), rows];
  return planValue(
    {
      kind: 'plan',
      name,
      node: node.name,
      x,
      geometry: { kind: 'matmul' },
      weight: weights.real,
      fixed: weights.fixed,
      rows,
      perRow,
      bias,
      shape,
      channelAxis: shape.length - 1,
    },
    x.batched,
  );
}

/** Convolution of an ONNX operand; weights as in ONNX, [outChannels][C / groups][kernel...]. */
export function convPlan(
  lowering: Lowering,
  node: OnnxNode,
  x: Value,
  weights: LayerWeights,
  kernelShape: readonly number[],
  bias: Float64Array | null,
): Value {
  const name = node.outputs[0]!;
  const shape = shapeOf(lowering.model, name);
  const [rows, perGroup, ...kernel] = kernelShape as [number, number, ...number[]];
  const window = windowOf(node, kernel, wholeShape(x).slice(2), shape.slice(2));
  const taps = window.kernel[0] * window.kernel[1];
  const image = asImage(x);
  const ordered = reorderWeights(weights, rows, perGroup, taps);
  const plan: LinearPlan = {
    kind: 'plan',
    name,
    node: node.name,
    x: image,
    geometry: { kind: 'conv', window, groups: numberAttribute(node, 'group', 1) },
    weight: ordered.real,
    fixed: ordered.fixed,
    rows,
    perRow: perGroup * taps,
    bias,
    shape: [rows, ...windowOutput(window, image.shape[1]!, image.shape[2]!)],
    channelAxis: 0,
  };
  return fromImage(planValue(plan, true), x, shape, lowering);
}

/** Convolution and pooling read items [C, L] or [C, H, W]. */
export function checkImage(node: OnnxNode, model: PreparedModel): Problem {
  const shape = shapeOf(model, node.inputs[0]!);
  if (shape.length !== 3 && shape.length !== 4)
    return {
      reason: `its operand has ${shape.length} axes; 1-D and 2-D windows are supported`,
      mend: 'Use a 1-D or 2-D layer.',
    };
  if (shape[0] !== 1)
    return { reason: `its operand has a batch of ${shape[0]} inside one item`, mend: 'Bind the batch dimension to 1.' };
  return null;
}

function checkConv(node: OnnxNode, model: PreparedModel): Problem {
  return checkImage(node, model) ?? constantOperands(node, model, [1, 2]);
}

function lowerConv(node: OnnxNode, lowering: Lowering): string {
  const [x, w, b] = node.inputs as [string, string, string | undefined];
  const kernelShape = shapeOf(lowering.model, w);
  const bias = b === undefined || b === '' ? null : lowering.constant(b).data;
  const value = convPlan(lowering, node, lowering.real(x), weightsOf(lowering, w, 0), kernelShape, bias);
  lowering.values.set(node.outputs[0]!, value);
  return 'conv';
}

/** a [..., M, K] times b [..., K, N], both depending on the input. */
export function multiplyMatrices(
  lowering: Lowering,
  first: Value,
  second: Value,
  name: string,
  shape: readonly number[],
): Value {
  const [a, b] = matrices(first, second);
  const leading = broadcastLeading(a.shape, b.shape);
  const x = lowering.operand(expanded(a, [...leading, ...a.shape.slice(-2)]), 'product');
  const swap = [...leading.map((_, i) => i), leading.length + 1, leading.length];
  const y = lowering.operand(transposed(expanded(b, [...leading, ...b.shape.slice(-2)]), swap), 'product');
  const scale = x.scale * y.scale;
  const id = lowering.emit({ kind: 'matmulActivations', name, a: x.id, b: y.id }, name, scale);
  const value = tensorValue(lowering.tensorBase(id, name, scale, 'product'), a.batched);
  return inShape(value, shape, lowering.hasBatch);
}

/** Both with at least two item axes, and the batch either in both or in neither. */
function matrices(first: Value, second: Value): [Value, Value] {
  const itemwise =
    first.batched && second.batched && first.shape.length === second.shape.length && first.shape.length >= 2;
  const [a, b] = itemwise ? [first, second] : [toWhole(first), toWhole(second)];
  return [
    a.shape.length === 1 ? reshaped(a, [1, ...a.shape]) : a,
    b.shape.length === 1 ? reshaped(b, [...b.shape, 1]) : b,
  ];
}

function broadcastLeading(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length) - 2;
  const side = (shape: readonly number[], i: number): number => shape[i - (rank - (shape.length - 2))] ?? 1;
  return Array.from({ length: rank }, (_, i) => Math.max(side(a, i), side(b, i)));
}

function checkMatMul(node: OnnxNode, model: PreparedModel): Problem {
  for (const name of node.inputs) {
    if (!isConstant(model, name)) continue;
    const shape = shapeOf(model, name);
    if (shape.slice(0, -2).some((side) => side !== 1))
      return {
        reason: `constant operand '${name}' is a stack of matrices, shape [${shape.join(', ')}]`,
        mend: 'Use one matrix, or a grouped convolution.',
      };
  }
  return null;
}

/** x times a constant matrix, on whichever side the constant stands. */
export function multiplyByMatrix(
  lowering: Lowering,
  node: OnnxNode,
  x: Value,
  weights: LayerWeights,
  matrixShape: readonly number[],
  constantFirst: boolean,
): Value {
  const name = node.outputs[0]!;
  const shape = shapeOf(lowering.model, name);
  const [rows, columns] =
    matrixShape.length === 1
      ? constantFirst
        ? [1, matrixShape[0]!]
        : [matrixShape[0]!, 1]
      : [matrixShape.at(-2)!, matrixShape.at(-1)!];
  if (!constantFirst) {
    const item = x.shape.length === 0 ? toWhole(x) : x;
    const product = matmulPlan(node, name, item, reorderWeights(weights, 1, rows, columns), columns, null);
    return inShape(product, shape, lowering.hasBatch);
  }
  // W x = (x^T W^T)^T.
  const item = x.shape.length < 2 ? toWhole(x) : x;
  const matrix = item.shape.length === 1 ? reshaped(item, [...item.shape, 1]) : item;
  const swap = matrix.shape.map((_, i) => (i < matrix.shape.length - 2 ? i : 2 * matrix.shape.length - 3 - i));
  const product = matmulPlan(node, name, transposed(matrix, swap), weights, rows, null);
  return inShape(transposed(product, swap), shape, lowering.hasBatch);
}

function lowerMatMul(node: OnnxNode, lowering: Lowering): string {
  const [a, b] = node.inputs as [string, string];
  const name = node.outputs[0]!;
  if (!lowering.isConstant(a) && !lowering.isConstant(b)) {
    const shape = shapeOf(lowering.model, name);
    lowering.values.set(name, multiplyMatrices(lowering, lowering.real(a), lowering.real(b), name, shape));
    return 'matmul of two activations';
  }
  const first = lowering.isConstant(a);
  const matrix = first ? a : b;
  const shape = shapeOf(lowering.model, matrix);
  const weights = weightsOf(lowering, matrix, first ? shape.length - 2 : shape.length - 1);
  const x = lowering.real(first ? b : a);
  lowering.values.set(name, multiplyByMatrix(lowering, node, x, weights, shape, first));
  return 'matmul';
}

function checkGemm(node: OnnxNode, model: PreparedModel): Problem {
  return isConstant(model, node.inputs[0]) ? constantOperands(node, model, [1]) : null;
}

function lowerGemm(node: OnnxNode, lowering: Lowering): string {
  const [aName, bName, cName] = node.inputs as [string, string, string | undefined];
  const name = node.outputs[0]!;
  const shape = shapeOf(lowering.model, name);
  const alpha = numberAttribute(node, 'alpha', 1);
  const beta = numberAttribute(node, 'beta', 1);
  const transA = numberAttribute(node, 'transA', 0) !== 0;
  const transB = numberAttribute(node, 'transB', 0) !== 0;
  const swap = (value: Value): Value => transposed(toWhole(value), [1, 0]);
  const scaled = (constant: RealConstant, factor: number): RealConstant => ({
    ...constant,
    data: constant.data.map((v) => v * factor),
  });
  const a = (): Value => (transA ? swap(lowering.real(aName)) : lowering.real(aName));
  const bShape = shapeOf(lowering.model, bName);
  let product: Value;
  if (lowering.isConstant(bName)) {
    const stored = weightsOf(lowering, bName, transB ? 0 : 1);
    const weights = alpha === 1 ? stored : { real: stored.real.map((w) => w * alpha), fixed: null };
    const [rows, columns] = bShape as [number, number];
    const ordered = transB ? weights : reorderWeights(weights, 1, rows, columns);
    product = matmulPlan(node, name, a(), ordered, shape[1]!, null);
    product = inShape(product, shape, lowering.hasBatch);
  } else if (lowering.isConstant(aName)) {
    const stored = weightsOf(lowering, aName, transA ? 1 : 0);
    const [rows, columns] = shapeOf(lowering.model, aName) as [number, number];
    const weights = { real: stored.real.map((w) => w * alpha), fixed: alpha === 1 ? stored.fixed : null };
    const ordered = transA ? reorderWeights(weights, 1, rows, columns) : weights;
    const b = transB ? swap(lowering.real(bName)) : lowering.real(bName);
    product = multiplyByMatrix(lowering, node, b, ordered, transA ? [columns, rows] : [rows, columns], true);
  } else {
    const b = transB ? swap(lowering.real(bName)) : lowering.real(bName);
    product = multiplyMatrices(lowering, a(), b, name, shape);
  }
  if (cName === undefined || cName === '' || beta === 0) {
    lowering.values.set(name, product);
    return 'matmul';
  }
  const at = alignedConstant(product, scaled(lowering.constant(cName), beta), shape);
  lowering.values.set(name, settled(withBias(at.value, at.constant), lowering.hasBatch));
  return 'matmul';
}

/** A Gemm's own constant C, one value per output feature: `decompose` leaves no other. */
function withBias(product: Value, constant: RealConstant): Value {
  const { base } = product.elementwise;
  const bias =
    base.kind === 'plan' && product.channelAxis !== null
      ? alongAxis(constant, product.shape.length, product.channelAxis, base.rows)
      : null;
  if (base.kind !== 'plan' || bias === null)
    throw new AssayError('INTERNAL', `the bias of '${product.elementwise.name}' is not one value per output feature`);
  return { ...product, elementwise: { ...product.elementwise, base: { ...base, bias } } };
}

export const LINEAR: OperatorTable = {
  Conv: { check: checkConv, lower: lowerConv },
  Gemm: { check: checkGemm, lower: lowerGemm },
  MatMul: { check: checkMatMul, lower: lowerMatMul },
};
