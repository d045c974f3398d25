/** Windows without weights: sums stay unrequantised for a linear consumer, maxima compare stored elements. */
import { sizeOf } from '../../tensor.js';
import { OPERAND_LIMIT } from '../../integer/types.js';
import { windowOutput } from '../../integer/shapes.js';
import type { OnnxNode, PreparedModel } from '../../onnx/model.js';
import { numberAttribute, numbersAttribute } from '../attributes.js';
import { affine } from '../affine.js';
import { asImage, fromImage } from '../image.js';
import { tensorValue, type Lowering } from '../lowering.js';
import type { Problem } from '../refusal.js';
import { wholeShape, type Value } from '../value.js';
import { validCells, windowOf } from '../window.js';
import { checkImage } from './linear.js';
import { shapeOf, type OperatorTable } from './operator.js';
import { reduceValue } from './reduce.js';

function imageWindow(node: OnnxNode, lowering: Lowering, x: Value) {
  const kernel = numbersAttribute(node, 'kernel_shape')!;
  const shape = shapeOf(lowering.model, node.outputs[0]!);
  const window = windowOf(node, kernel, wholeShape(x).slice(2), shape.slice(2));
  const image = asImage(x);
  const sides: [number, number] = windowOutput(window, image.shape[1]!, image.shape[2]!);
  return { kernel, shape, window, image, sides };
}

function lowerMaxPool(node: OnnxNode, lowering: Lowering): string {
  const name = node.outputs[0]!;
  const x = lowering.value(node.inputs[0]!);
  const { shape, window, image } = imageWindow(node, lowering, x);
  const operand = lowering.operand(image, 'max');
  const id = lowering.emit({ kind: 'maxPool', name, x: operand.id, window }, name, operand.scale);
  const pooled = tensorValue(lowering.tensorBase(id, name, operand.scale, 'stored'), true, x.zeroPoint);
  lowering.values.set(name, fromImage(pooled, x, shape, lowering));
  return 'maxPool';
}

function lowerAveragePool(node: OnnxNode, lowering: Lowering): string {
  const name = node.outputs[0]!;
  const x = lowering.real(node.inputs[0]!);
  const { kernel, shape, window, image, sides } = imageWindow(node, lowering, x);
  const operand = lowering.operand(image, 'linear');
  const cells = divisors(node, lowering, x, sides);
  const uniform = cells.every((count) => count === cells[0]) ? cells[0]! : null;
  const sumName = uniform === null ? `${name}:sum` : name;
  const scale = operand.scale / (uniform ?? 1);
  const id = lowering.emit({ kind: 'sumPool', name, x: operand.id, window }, `${name}:sum`, scale);
  const sum = tensorValue(lowering.tensorBase(id, sumName, scale, 'sum'), true);
  const finish = (value: Value, how: string): string => {
    lowering.values.set(name, fromImage(value, x, shape, lowering));
    return how;
  };
  if (uniform !== null) return finish(sum, 'sumPool');
  // Fewer cells at the border: one factor per position. The sum is first brought within 11 bits.
  const { range } = lowering.operand(sum, 'linear');
  const within = Math.max(-range.lo, range.hi) <= OPERAND_LIMIT;
  const base = within ? sum : narrowed(lowering, sum, image, sizeOf(kernel), `${name}:narrow`);
  const gain = { shape: [1, ...sides], data: cells.map((count) => 1 / count) };
  return finish(affine(lowering, base, { gain, bias: null }, name).value, 'sumPool + scale');
}

/** The sum of `taps` elements of the operand stored with 12 bits, over the range that calibration saw of those. */
function narrowed(lowering: Lowering, sum: Value, operand: Value, taps: number, name: string): Value {
  const { min, max } = lowering.requireStatistics(operand.elementwise.name);
  const largest = Math.max(-min, max);
  const target = {
    scale: (largest * taps) / (OPERAND_LIMIT - 1) || 1,
    lo: min >= 0 ? 0 : -OPERAND_LIMIT,
    hi: OPERAND_LIMIT - 1,
    calibration: 'taps * range of the operand',
    fixed: false,
  };
  const stored = lowering.storedAs(sum, name, target);
  return tensorValue(lowering.tensorBase(stored.id, name, stored.scale, 'stored'), true);
}

/** What each position's sum is divided by. Cells that only ceil_mode adds beyond the padding are never counted. */
function divisors(node: OnnxNode, lowering: Lowering, x: Value, sides: readonly [number, number]): Float64Array {
  const kernel = numbersAttribute(node, 'kernel_shape')!;
  const input = wholeShape(x).slice(2);
  const output = shapeOf(lowering.model, node.outputs[0]!).slice(2);
  const window = windowOf(node, kernel, input, output);
  const image: [number, number] = input.length === 1 ? [1, input[0]!] : [input[0]!, input[1]!];
  if (numberAttribute(node, 'count_include_pad', 0) === 0) return validCells(window, image, sides);
  const pads = numbersAttribute(node, 'pads') ?? [0, 0, 0, 0];
  const declared = input.length === 1 ? [0, pads[0]!, 0, pads[1]!] : pads;
  const given =
    node.attributes.get('auto_pad') === undefined || node.attributes.get('auto_pad') === 'NOTSET'
      ? declared
      : window.pads;
  const padded: [number, number] = [image[0] + given[0]! + given[2]!, image[1] + given[1]! + given[3]!];
  return validCells({ ...window, pads: [0, 0, 0, 0] }, padded, sides);
}

function checkPool(node: OnnxNode, model: PreparedModel): Problem {
  if (node.outputs.slice(1).some((name) => name !== ''))
    return { reason: 'its second output (indices of the maxima) is not supported', mend: 'Use only the first output.' };
  return checkImage(node, model);
}

function lowerGlobal(node: OnnxNode, lowering: Lowering): string {
  const name = node.outputs[0]!;
  const x = node.op === 'GlobalMaxPool' ? lowering.value(node.inputs[0]!) : lowering.real(node.inputs[0]!);
  const axes = wholeShape(x)
    .map((_, axis) => axis)
    .slice(2);
  const kind = node.op === 'GlobalMaxPool' ? 'max' : 'mean';
  lowering.values.set(name, reduceValue(lowering, x, kind, axes, true, name));
  return kind === 'max' ? 'reduceMax' : 'reduceSum';
}

export const POOLING: OperatorTable = {
  MaxPool: { check: checkPool, lower: lowerMaxPool },
  AveragePool: { check: checkPool, lower: lowerAveragePool },
  GlobalAveragePool: { check: () => null, lower: lowerGlobal },
  GlobalMaxPool: { check: () => null, lower: lowerGlobal },
};
