/** Reductions over axes. */
import { float64sOf } from '../../onnx/numbers.js';
import type { OnnxNode, PreparedModel } from '../../onnx/model.js';
import { numberAttribute, numbersAttribute } from '../attributes.js';
import { negated } from '../affine.js';
import { onItemAxes, positiveAxis, settled } from '../batch-axis.js';
import { tensorValue, type Lowering, type OperandUse } from '../lowering.js';
import { reshaped, toWhole } from '../shape-wires.js';
import { wholeShape, type Value } from '../value.js';
import { constantOperands, shapeOf, type OperatorTable } from './operator.js';

export type Reduction = 'sum' | 'mean' | 'max' | 'min';

/** @param axes of the ONNX shape, counted from the front. */
export function reduceValue(
  lowering: Lowering,
  value: Value,
  reduction: Reduction,
  axes: readonly number[],
  keepDims: boolean,
  name: string,
): Value {
  const whole = wholeShape(value);
  const wide = axes.filter((axis) => whole[axis] !== 1);
  const reduced = wide.length === 0 ? value : reduceItem(lowering, value, reduction, wide, name);
  if (keepDims) return settled(reduced, lowering.hasBatch);
  if (reduced.batched && !axes.includes(0)) {
    const item = reduced.shape.filter((_, axis) => !axes.includes(axis + 1));
    return reshaped(reduced, item);
  }
  const shape = whole.filter((_, axis) => !axes.includes(axis));
  return settled(reshaped(toWhole(reduced), shape), lowering.hasBatch);
}

function reduceItem(
  lowering: Lowering,
  value: Value,
  reduction: Reduction,
  wide: readonly number[],
  name: string,
): Value {
  if (reduction === 'min') {
    const negative = negated(lowering, value, null, `${name}:negative`);
    // A negated stored tensor is a structured sum, but of single elements: it may be compared as it stands.
    return negated(lowering, maximum(lowering, negative, wide, `${name}:maximum`, 'linear'), null, name);
  }
  if (reduction === 'max') return maximum(lowering, value, wide, name, 'max');
  const at = onItemAxes(value, wide);
  const axes = [...at.axes].sort((a, b) => a - b);
  const x = lowering.operand(at.value, 'linear');
  const count = axes.reduce((product, axis) => product * at.value.shape[axis]!, 1);
  const scale = reduction === 'mean' ? x.scale / count : x.scale;
  const id = lowering.emit({ kind: 'reduceSum', name, x: x.id, axes }, `${name}:sum`, scale);
  return tensorValue(lowering.tensorBase(id, name, scale, 'sum'), at.value.batched);
}

function maximum(lowering: Lowering, value: Value, wide: readonly number[], name: string, use: OperandUse): Value {
  const at = onItemAxes(value, wide);
  const axes = [...at.axes].sort((a, b) => a - b);
  const x = lowering.operand(at.value, use);
  const id = lowering.emit({ kind: 'reduceMax', name, x: x.id, axes }, name, x.scale);
  return tensorValue(lowering.tensorBase(id, name, x.scale, 'stored'), at.value.batched, value.zeroPoint);
}

const REDUCTIONS: Readonly<Record<string, Reduction>> = {
  ReduceSum: 'sum',
  ReduceMean: 'mean',
  ReduceMax: 'max',
  ReduceMin: 'min',
};

/** Axes of a reduction, from the attribute or the second operand; all where there are none. */
function axesOf(node: OnnxNode, model: PreparedModel, rank: number): number[] {
  const operand = node.inputs[1];
  const given =
    operand === undefined || operand === ''
      ? numbersAttribute(node, 'axes')
      : Array.from(float64sOf(model.initializers.get(operand)!));
  const none = given === null || given.length === 0;
  if (none && numberAttribute(node, 'noop_with_empty_axes', 0) !== 0) return [];
  return none ? Array.from({ length: rank }, (_, axis) => axis) : given.map((axis) => positiveAxis(axis, rank));
}

export const REDUCE: OperatorTable = Object.fromEntries(
  Object.entries(REDUCTIONS).map(([op, reduction]) => [
    op,
    {
      check: (node, model) => constantOperands(node, model, [1]),
      lower: (node, lowering) => {
        const [input, output] = [node.inputs[0]!, node.outputs[0]!];
        const axes = axesOf(node, lowering.model, shapeOf(lowering.model, input).length);
        const keep = numberAttribute(node, 'keepdims', 1) !== 0;
        lowering.values.set(output, reduceValue(lowering, lowering.real(input), reduction, axes, keep, output));
        return reduction === 'max' || reduction === 'min' ? 'reduceMax' : 'reduceSum';
      },
    },
  ]),
);
