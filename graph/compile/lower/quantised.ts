/**
 * Operators of models that are quantised already. Their integers, scales and zero points are kept: a quantised value
 * is stored minus its zero point, weights likewise. ONNX rounds half to even after a float multiplication, the
 * integer graph half up after an integer one; the report counts how many outputs differ.
 */
import { float64sOf } from '../../onnx/numbers.js';
import type { OnnxNode, PreparedModel } from '../../onnx/model.js';
import { settled } from '../batch-axis.js';
import { scaledValue, tensorValue, type Lowering } from '../lowering.js';
import type { Problem } from '../refusal.js';
import { gainOf } from '../unary-function.js';
import type { Value } from '../value.js';
import { checkImage, convPlan, multiplyByMatrix, multiplyMatrices, type LayerWeights } from './linear.js';
import { constantOperands, isConstant, shapeOf, type OperatorTable } from './operator.js';

const RANGES: Readonly<Record<string, readonly [number, number]>> = { uint8: [0, 255], int8: [-128, 127] };

function checkType(model: PreparedModel, name: string): Problem {
  const { type } = model.values.get(name)!;
  if (type in RANGES) return null;
  return { reason: `'${name}' is quantised to ${type}; uint8 and int8 are supported`, mend: 'Quantise to 8 bits.' };
}

function checkPerTensor(model: PreparedModel, name: string | undefined): Problem {
  if (!isConstant(model, name) || float64sOf(model.initializers.get(name)!).length === 1) return null;
  return {
    reason: `activation parameter '${name}' has one value per channel`,
    mend: 'Quantise activations per tensor.',
  };
}

/** One number of a constant operand; `fallback` where it is omitted. */
function scalar(lowering: Lowering, name: string | undefined, fallback: number): number {
  return name === undefined || name === '' ? fallback : lowering.constant(name).data[0]!;
}

/** Rounds a real value to the model's own integers; they are stored minus their zero point. */
function quantise(
  lowering: Lowering,
  value: Value,
  scale: number,
  zeroPoint: number,
  type: string,
  name: string,
): Value {
  const [least, most] = RANGES[type]!;
  const [lo, hi] = [least - zeroPoint, most - zeroPoint];
  const { base, fn } = value.elementwise;
  const factor = gainOf(fn);
  // Integers that already count in this scale and keep this range are what they are.
  if (
    base.kind === 'tensor' &&
    base.form === 'stored' &&
    factor !== null &&
    Math.abs((base.scales[0]! * factor) / scale - 1) < 1e-6
  ) {
    const { range } = lowering.builder.tensor(base.id);
    if (range.lo >= lo && range.hi <= hi)
      return {
        ...value,
        elementwise: {
          base,
          fn: { ...fn, kind: 'clip', gain: 1 / base.scales[0]!, lo: -Infinity, hi: Infinity },
          name,
        },
        zeroPoint,
      };
  }
  // Saturation is that of the real value; an accumulator has no statistics.
  const statistics = lowering.statistics.get(value.elementwise.name);
  const target = { scale, lo, hi, calibration: 'fixed by the model', fixed: true, statistics };
  const stored = lowering.storedAs(value, name, target);
  return tensorValue(lowering.tensorBase(stored.id, name, 1, 'stored'), value.batched, zeroPoint);
}

/** The accumulator of a node that quantises at once: the node's own name and statistics are those of the result. */
function accumulatorOf(value: Value, name: string): Value {
  const own = `${name}:product`;
  return { ...value, elementwise: { ...value.elementwise, base: { ...value.elementwise.base, name: own }, name: own } };
}

/** A quantised value as a real one. */
function dequantise(lowering: Lowering, value: Value, scale: number, zeroPoint: number, name: string): Value {
  return { ...scaledValue(lowering.withZeroPoint(value, zeroPoint), scale, name), zeroPoint: 0 };
}

/** Integer weights minus their zero point (one, or one per output channel along `axis`), and their scales. */
function integerWeights(
  lowering: Lowering,
  name: string,
  zeroName: string | undefined,
  scales: Float64Array,
  axis: number,
): LayerWeights {
  const { data, shape } = lowering.constant(name);
  const zero = zeroName === undefined || zeroName === '' ? Float64Array.of(0) : lowering.constant(zeroName).data;
  const inner = shape.slice(axis + 1).reduce((product, side) => product * side, 1);
  const integers = Int16Array.from(
    data,
    (v, i) => v - zero[zero.length === 1 ? 0 : Math.floor(i / inner) % shape[axis]!]!,
  );
  return { real: Float64Array.from(integers), fixed: { integers, scales } };
}

const QUANTIZE_LINEAR = {
  check: (node: OnnxNode, model: PreparedModel): Problem =>
    constantOperands(node, model, [1, 2]) ??
    checkPerTensor(model, node.inputs[1]) ??
    checkType(model, node.outputs[0]!),
  lower: (node: OnnxNode, lowering: Lowering): string => {
    const name = node.outputs[0]!;
    const type = lowering.model.values.get(name)!.type;
    const [scale, zero] = [scalar(lowering, node.inputs[1], 1), scalar(lowering, node.inputs[2], 0)];
    lowering.values.set(name, quantise(lowering, lowering.real(node.inputs[0]!), scale, zero, type, name));
    return 'requant';
  },
};

const DEQUANTIZE_LINEAR = {
  check: (node: OnnxNode, model: PreparedModel): Problem =>
    constantOperands(node, model, [1, 2]) ?? checkPerTensor(model, node.inputs[1]),
  lower: (node: OnnxNode, lowering: Lowering): string => {
    const name = node.outputs[0]!;
    const [scale, zero] = [scalar(lowering, node.inputs[1], 1), scalar(lowering, node.inputs[2], 0)];
    lowering.values.set(name, dequantise(lowering, lowering.value(node.inputs[0]!), scale, zero, name));
    return 'scale metadata';
  },
};

const QLINEAR_CONV = {
  check: (node: OnnxNode, model: PreparedModel): Problem =>
    checkImage(node, model) ??
    constantOperands(node, model, [1, 2, 3, 4, 5, 6, 7, 8]) ??
    checkType(model, node.outputs[0]!),
  lower: (node: OnnxNode, lowering: Lowering): string => {
    const [xName, xs, xz, w, ws, wz, ys, yz, b] = node.inputs as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string?,
    ];
    const name = node.outputs[0]!;
    const xScale = scalar(lowering, xs, 1);
    const x = dequantise(lowering, lowering.value(xName), xScale, scalar(lowering, xz, 0), xName);
    const scales = lowering.constant(ws).data;
    const weights = integerWeights(lowering, w, wz, scales, 0);
    const bias =
      b === undefined || b === ''
        ? null
        : lowering.constant(b).data.map((v, row) => v * xScale * scales[scales.length === 1 ? 0 : row]!);
    const accumulator = accumulatorOf(convPlan(lowering, node, x, weights, shapeOf(lowering.model, w), bias), name);
    const type = lowering.model.values.get(name)!.type;
    lowering.values.set(
      name,
      quantise(lowering, accumulator, scalar(lowering, ys, 1), scalar(lowering, yz, 0), type, name),
    );
    return 'conv';
  },
};

/** A product of two quantised operands of which at most one is constant, in units of the product of their scales. */
function integerProduct(lowering: Lowering, node: OnnxNode, a: IntegerOperand, b: IntegerOperand): Value {
  const name = node.outputs[0]!;
  const shape = shapeOf(lowering.model, name);
  const value = ({ name: operand, scale, zeroName }: IntegerOperand): Value =>
    dequantise(lowering, lowering.value(operand), scale[0]!, scalar(lowering, zeroName, 0), operand);
  const aConstant = lowering.isConstant(a.name);
  if (!aConstant && !lowering.isConstant(b.name)) return multiplyMatrices(lowering, value(a), value(b), name, shape);
  const [constant, other] = aConstant ? [a, b] : [b, a];
  const matrix = shapeOf(lowering.model, constant.name);
  const axis = aConstant ? matrix.length - 2 : matrix.length - 1;
  const weights = integerWeights(lowering, constant.name, constant.zeroName, constant.scale, axis);
  return multiplyByMatrix(lowering, node, value(other), weights, matrix, aConstant);
}

interface IntegerOperand {
  readonly name: string;
  readonly scale: Float64Array;
  readonly zeroName: string | undefined;
}

function checkMatrices(node: OnnxNode, model: PreparedModel, positions: readonly [number, number]): Problem {
  for (const position of positions) {
    const name = node.inputs[position]!;
    if (isConstant(model, name) && shapeOf(model, name).length > 2)
      return { reason: `constant operand '${name}' is a stack of matrices`, mend: 'Use one matrix.' };
  }
  return positions.every((position) => isConstant(model, node.inputs[position]!))
    ? { reason: 'both operands are constant', mend: 'Fold the product into an initializer.' }
    : null;
}

const QLINEAR_MATMUL = {
  check: (node: OnnxNode, model: PreparedModel): Problem =>
    constantOperands(node, model, [1, 2, 4, 5, 6, 7]) ??
    checkMatrices(node, model, [0, 3]) ??
    checkPerTensor(model, isConstant(model, node.inputs[0]) ? undefined : node.inputs[1]) ??
    checkPerTensor(model, isConstant(model, node.inputs[3]) ? undefined : node.inputs[4]) ??
    checkPerTensor(model, node.inputs[6]) ??
    checkType(model, node.outputs[0]!),
  lower: (node: OnnxNode, lowering: Lowering): string => {
    const [a, as, az, b, bs, bz, ys, yz] = node.inputs as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const name = node.outputs[0]!;
    const left = { name: a, scale: lowering.constant(as).data, zeroName: az };
    const right = { name: b, scale: lowering.constant(bs).data, zeroName: bz };
    const product = accumulatorOf(integerProduct(lowering, node, left, right), name);
    const type = lowering.model.values.get(name)!.type;
    lowering.values.set(
      name,
      quantise(lowering, product, scalar(lowering, ys, 1), scalar(lowering, yz, 0), type, name),
    );
    return 'matmul';
  },
};

const ONE = Float64Array.of(1);

const CONV_INTEGER = {
  check: (node: OnnxNode, model: PreparedModel): Problem =>
    checkImage(node, model) ?? constantOperands(node, model, [1, 2, 3]) ?? checkPerTensor(model, node.inputs[2]),
  lower: (node: OnnxNode, lowering: Lowering): string => {
    const [xName, w, xz, wz] = node.inputs as [string, string, string?, string?];
    const x = dequantise(lowering, lowering.value(xName), 1, scalar(lowering, xz, 0), xName);
    const weights = integerWeights(lowering, w, wz, ONE, 0);
    lowering.values.set(node.outputs[0]!, convPlan(lowering, node, x, weights, shapeOf(lowering.model, w), null));
    return 'conv';
  },
};

const MATMUL_INTEGER = {
  check: (node: OnnxNode, model: PreparedModel): Problem =>
    constantOperands(node, model, [2, 3]) ??
    checkMatrices(node, model, [0, 1]) ??
    checkPerTensor(model, isConstant(model, node.inputs[0]) ? undefined : node.inputs[2]) ??
    checkPerTensor(model, isConstant(model, node.inputs[1]) ? undefined : node.inputs[3]),
  lower: (node: OnnxNode, lowering: Lowering): string => {
    const [a, b, az, bz] = node.inputs as [string, string, string?, string?];
    const product = integerProduct(
      lowering,
      node,
      { name: a, scale: ONE, zeroName: az },
      { name: b, scale: ONE, zeroName: bz },
    );
    lowering.values.set(node.outputs[0]!, settled(product, lowering.hasBatch));
    return 'matmul';
  },
};

const DYNAMIC_QUANTIZE_LINEAR = {
  check: (): Problem => ({
    reason: 'its scale is computed from each input, so the arithmetic after it is not fixed by the model',
    mend: 'Quantise statically (QuantizeLinear with a constant scale), or compile the float model and let calibration choose the scale.',
  }),
  lower: (): string => 'unsupported',
};

export const QUANTISED: OperatorTable = {
  QuantizeLinear: QUANTIZE_LINEAR,
  DequantizeLinear: DEQUANTIZE_LINEAR,
  QLinearConv: QLINEAR_CONV,
  QLinearMatMul: QLINEAR_MATMUL,
  ConvInteger: CONV_INTEGER,
  MatMulInteger: MATMUL_INTEGER,
  DynamicQuantizeLinear: DYNAMIC_QUANTIZE_LINEAR,
};
