/** Operators that only move elements. */
import { float64sOf } from '../../onnx/numbers.js';
import type { OnnxNode, PreparedModel } from '../../onnx/model.js';
import { numberAttribute, numbersAttribute, stringAttribute } from '../attributes.js';
import { inShape, onItemAxes, positiveAxis, settled } from '../batch-axis.js';
import { tensorValue, type Lowering } from '../lowering.js';
import { clamp } from '../numbers.js';
import type { Problem } from '../refusal.js';
import { expanded, reshaped, sliced, toWhole, transposed } from '../shape-wires.js';
import { wholeShape, type Value } from '../value.js';
import { accepted, constantOperands, isConstant, onlyReadBy, shapeOf, type OperatorTable } from './operator.js';

/** Largest number of slices that a Gather by constant indices may become. */
const MOST_SLICES = 256;

function wiring(
  check: (node: OnnxNode, model: PreparedModel) => Problem,
  move: (node: OnnxNode, lowering: Lowering, x: Value) => Value,
) {
  return {
    check,
    lower: (node: OnnxNode, lowering: Lowering): string => {
      const value = move(node, lowering, lowering.value(node.inputs[0]!));
      lowering.values.set(node.outputs[0]!, settled(value, lowering.hasBatch));
      return 'wiring';
    },
  };
}

/** Reshape, Flatten, Squeeze, Unsqueeze: the result's shape is known, the elements keep their order. */
const reshapeLike = wiring(accepted, (node, lowering, x) =>
  inShape(x, shapeOf(lowering.model, node.outputs[0]!), lowering.hasBatch),
);

const transpose = wiring(accepted, (node, _, x) => {
  const rank = wholeShape(x).length;
  const permutation = numbersAttribute(node, 'perm') ?? Array.from({ length: rank }, (_, i) => rank - 1 - i);
  if (x.batched && permutation[0] === 0)
    return transposed(
      x,
      permutation.slice(1).map((axis) => axis - 1),
    );
  return transposed(toWhole(x), permutation);
});

/** A list of integers from an attribute (old opsets) or a constant operand. */
function integers(node: OnnxNode, model: PreparedModel, attribute: string, position: number): readonly number[] | null {
  const name = node.inputs[position];
  if (isConstant(model, name)) return Array.from(float64sOf(model.initializers.get(name)!));
  return numbersAttribute(node, attribute);
}

const slice = wiring(
  (node, model) => constantOperands(node, model, [1, 2, 3, 4]),
  (node, lowering, x) => {
    const { model } = lowering;
    const whole = wholeShape(x);
    const begins = integers(node, model, 'starts', 1)!;
    const axes = (integers(node, model, 'axes', 3) ?? begins.map((_, i) => i)).map((axis) =>
      positiveAxis(axis, whole.length),
    );
    const strides = integers(node, model, 'steps', 4) ?? begins.map(() => 1);
    const result = shapeOf(model, node.outputs[0]!);
    const changed = axes.filter((axis) => result[axis] !== whole[axis] || strides[axes.indexOf(axis)] !== 1);
    const at = onItemAxes(x, changed);
    const shift = at.value.batched ? 1 : 0;
    const starts = at.value.shape.map(() => 0);
    const steps = at.value.shape.map(() => 1);
    axes.forEach((axis, i) => {
      if (axis - shift < 0) return;
      const side = whole[axis]!;
      const start = begins[i]! < 0 ? begins[i]! + side : begins[i]!;
      steps[axis - shift] = strides[i]!;
      starts[axis - shift] = strides[i]! > 0 ? clamp(start, 0, side) : clamp(start, 0, side - 1);
    });
    return sliced(at.value, starts, steps, result.slice(shift));
  },
);

function lowerSplit(node: OnnxNode, lowering: Lowering): string {
  const x = lowering.value(node.inputs[0]!);
  const at = onItemAxes(x, [numberAttribute(node, 'axis', 0)]);
  const axis = at.axes[0]!;
  const shift = at.value.batched ? 1 : 0;
  let start = 0;
  for (const name of node.outputs) {
    const side = shapeOf(lowering.model, name)[axis + shift]!;
    const shape = at.value.shape.map((s, i) => (i === axis ? side : s));
    const starts = shape.map((_, i) => (i === axis ? start : 0));
    if (name !== '')
      lowering.values.set(
        name,
        settled(
          sliced(
            at.value,
            starts,
            shape.map(() => 1),
            shape,
          ),
          lowering.hasBatch,
        ),
      );
    start += side;
  }
  return 'wiring';
}

function checkConcat(node: OnnxNode, model: PreparedModel): Problem {
  const constant = node.inputs.find((name) => isConstant(model, name));
  if (constant === undefined) return null;
  return {
    reason: `operand '${constant}' is a constant; only values that depend on the input can be concatenated`,
    mend: 'Pad the other operand, or make the constant an input.',
  };
}

/** Values side by side, at one scale: those stored at another one are requantised to the coarsest. */
function concatenate(lowering: Lowering, values: readonly Value[], wholeAxis: number, name: string): Value {
  const zeroPoint = values[0]!.zeroPoint;
  const whole = values.map((value) => lowering.withZeroPoint(value, zeroPoint));
  const itemwise = whole.every((value) => value.batched) && wholeAxis !== 0;
  const parts = itemwise ? whole : whole.map(toWhole);
  const axis = itemwise ? wholeAxis - 1 : wholeAxis;
  const operands = parts.map((value) => lowering.operand(value, zeroPoint === 0 ? 'max' : 'linear'));
  const scale = Math.max(...operands.map((operand) => operand.scale));
  const lo = Math.min(...operands.map((operand) => operand.range.lo));
  const hi = Math.max(...operands.map((operand) => operand.range.hi));
  const xs = operands.map((operand, i) => {
    if (Math.abs(operand.scale / scale - 1) < 1e-9) return operand.id;
    const target = { scale, lo, hi, calibration: 'scale of the concatenation', fixed: false };
    return lowering.storedAs(parts[i]!, `${name}:part${i}`, target).id;
  });
  if (xs.length === 1) return { ...parts[0]!, elementwise: { ...parts[0]!.elementwise, name } };
  const id = lowering.emit({ kind: 'concat', name, xs, axis }, name, scale);
  return tensorValue(lowering.tensorBase(id, name, scale, 'stored'), itemwise, zeroPoint);
}

function lowerConcat(node: OnnxNode, lowering: Lowering): string {
  const name = node.outputs[0]!;
  const values = node.inputs.map((input) => lowering.value(input));
  const axis = positiveAxis(numberAttribute(node, 'axis', 1), wholeShape(values[0]!).length);
  lowering.values.set(name, settled(concatenate(lowering, values, axis, name), lowering.hasBatch));
  return 'wiring';
}

function checkPad(node: OnnxNode, model: PreparedModel): Problem {
  const mode = stringAttribute(node, 'mode', 'constant');
  if (mode !== 'constant') return { reason: `padding mode '${mode}' is not supported`, mend: 'Pad with a constant.' };
  const problem = constantOperands(node, model, [1, 2, 3]);
  if (problem !== null) return problem;
  const amounts = integers(node, model, 'pads', 1) ?? [];
  if (amounts.some((amount) => amount < 0)) return { reason: 'it has negative padding', mend: 'Use Slice to cut.' };
  return null;
}

function lowerPad(node: OnnxNode, lowering: Lowering): string {
  const { model } = lowering;
  const name = node.outputs[0]!;
  const x = lowering.value(node.inputs[0]!);
  const rank = wholeShape(x).length;
  const amounts = integers(node, model, 'pads', 1) ?? integers(node, model, 'paddings', 1)!;
  const count = amounts.length / 2;
  const axes = (integers(node, model, 'axes', 3) ?? Array.from({ length: count }, (_, i) => i)).map((axis) =>
    positiveAxis(axis, rank),
  );
  const valueName = node.inputs[2];
  const value = isConstant(model, valueName)
    ? float64sOf(model.initializers.get(valueName)!)[0]!
    : numberAttribute(node, 'value', 0);
  const padded = axes.filter((_, i) => amounts[i] !== 0 || amounts[i + count] !== 0);
  const at = onItemAxes(x, padded);
  const shift = at.value.batched ? 1 : 0;
  const before = at.value.shape.map(() => 0);
  const after = at.value.shape.map(() => 0);
  axes.forEach((axis, i) => {
    if (axis - shift < 0) return;
    before[axis - shift] = amounts[i]!;
    after[axis - shift] = amounts[i + count]!;
  });
  // A maximum is never below its least operand, so that padding far below it (-3.4e38) may as well be just that.
  const compared = onlyReadBy(model, name, ['MaxPool']);
  // A value that was always 0 has no scale of its own: then the padding's decides.
  const statistics = lowering.statistics.get(x.elementwise.name);
  const silent = statistics?.min === 0 && statistics.max === 0 && value !== 0 && x.zeroPoint === 0;
  const operand = silent
    ? lowering.storedAs(at.value, `${name}:operand`, {
        scale: Math.abs(value) / 127,
        lo: -128,
        hi: 127,
        calibration: 'padding value',
        fixed: false,
      })
    : lowering.operand(at.value, compared ? 'max' : 'linear');
  const rounded = Math.round(value / operand.scale) - x.zeroPoint;
  const integer = compared ? Math.max(rounded, operand.range.lo) : rounded;
  const id = lowering.emit({ kind: 'pad', name, x: operand.id, before, after, value: integer }, name, operand.scale);
  const base = lowering.tensorBase(id, name, operand.scale, operand.form === 'stored' ? 'stored' : 'sum');
  lowering.values.set(name, settled(tensorValue(base, at.value.batched, x.zeroPoint), lowering.hasBatch));
  return 'wiring';
}

const expand = wiring(
  (node, model) => constantOperands(node, model, [1]),
  (node, lowering, x) => {
    const shape = shapeOf(lowering.model, node.outputs[0]!);
    const whole = wholeShape(x);
    if (x.batched && shape.length === whole.length && shape[0] === 1) return expanded(x, shape.slice(1));
    return expanded(toWhole(x), shape);
  },
);

/** Tile: each axis of side s, repeated r times, is r copies of the axis. */
const tile = wiring(
  (node, model) => constantOperands(node, model, [1]),
  (node, lowering, x) => {
    const result = shapeOf(lowering.model, node.outputs[0]!);
    const at = x.batched && result[0] === 1 ? x : toWhole(x);
    const target = at.batched ? result.slice(1) : result;
    const split = at.shape.flatMap((side) => [1, side]);
    const repeated = at.shape.flatMap((side, axis) => [target[axis]! / side, side]);
    return reshaped(expanded(reshaped(at, split), repeated), target);
  },
);

function runs(indices: readonly number[]): { start: number; step: number; count: number }[] {
  const out: { start: number; step: number; count: number }[] = [];
  for (const index of indices) {
    const last = out.at(-1);
    if (last !== undefined && last.count === 1 && index !== last.start) {
      last.step = index - last.start;
      last.count = 2;
    } else if (last !== undefined && last.count > 1 && index === last.start + last.count * last.step) last.count++;
    else out.push({ start: index, step: 1, count: 1 });
  }
  return out;
}

function gatherIndices(node: OnnxNode, model: PreparedModel): number[] {
  const shape = shapeOf(model, node.inputs[0]!);
  const side = shape[positiveAxis(numberAttribute(node, 'axis', 0), shape.length)]!;
  return Array.from(float64sOf(model.initializers.get(node.inputs[1]!)!), (index) => positiveAxis(index, side));
}

function checkGather(node: OnnxNode, model: PreparedModel): Problem {
  const mend = 'Gather by constant indices only; embedding lookups are not in the integer graph yet.';
  if (isConstant(model, node.inputs[0]))
    return { reason: `its table '${node.inputs[0]}' is constant and its indices depend on the input`, mend };
  const problem = constantOperands(node, model, [1]);
  if (problem !== null) return problem;
  const pieces = runs(gatherIndices(node, model)).length;
  return pieces > MOST_SLICES
    ? { reason: `its indices fall into ${pieces} runs, at most ${MOST_SLICES} are supported`, mend }
    : null;
}

function lowerGather(node: OnnxNode, lowering: Lowering): string {
  const name = node.outputs[0]!;
  const x = lowering.value(node.inputs[0]!);
  const shape = shapeOf(lowering.model, name);
  const at = onItemAxes(x, [numberAttribute(node, 'axis', 0)]);
  const axis = at.axes[0]!;
  const pieces = runs(gatherIndices(node, lowering.model)).map(({ start, step, count }) => {
    const piece = at.value.shape.map((side, i) => (i === axis ? count : side));
    const starts = piece.map((_, i) => (i === axis ? start : 0));
    return sliced(
      at.value,
      starts,
      piece.map((_, i) => (i === axis ? step : 1)),
      piece,
    );
  });
  const wholeAxis = at.value.batched ? axis + 1 : axis;
  const gathered = concatenate(lowering, pieces, wholeAxis, name);
  lowering.values.set(name, inShape(gathered, shape, lowering.hasBatch));
  return 'wiring';
}

const INTEGER_TYPES = new Set(['int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64', 'bool']);

function checkCast(node: OnnxNode, model: PreparedModel): Problem {
  const from = model.values.get(node.inputs[0]!)!.type;
  const to = model.values.get(node.outputs[0]!)!.type;
  const wide = to === 'int32' || to === 'int64' || to === 'float32' || to === 'float64' || to === 'float16';
  if (from === to || (wide && (INTEGER_TYPES.has(from) || !INTEGER_TYPES.has(to)))) return null;
  return { reason: `it casts ${from} to ${to}, which changes values`, mend: 'Remove the cast, or round with Round.' };
}

export const WIRING: OperatorTable = {
  Reshape: reshapeLike,
  Flatten: reshapeLike,
  Squeeze: reshapeLike,
  Unsqueeze: reshapeLike,
  Identity: wiring(accepted, (_node, _lowering, x) => x),
  Dropout: wiring(accepted, (_node, _lowering, x) => x),
  Cast: {
    check: checkCast,
    lower: (node, lowering) => {
      const to = lowering.model.values.get(node.outputs[0]!)!.type;
      const x = lowering.value(node.inputs[0]!);
      lowering.values.set(node.outputs[0]!, INTEGER_TYPES.has(to) ? x : lowering.withZeroPoint(x, 0));
      return 'wiring';
    },
  },
  Transpose: transpose,
  Slice: slice,
  Split: { check: (node, model) => constantOperands(node, model, [1]), lower: lowerSplit },
  Concat: { check: checkConcat, lower: lowerConcat },
  Pad: { check: checkPad, lower: lowerPad },
  Expand: expand,
  Tile: tile,
  Gather: { check: checkGather, lower: lowerGather },
};
