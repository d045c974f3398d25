/** Elementwise operators of two operands, with broadcasting. */
import { combineCoefficients } from '../combine-coefficients.js';
import { numberAttribute } from '../attributes.js';
import { affine } from '../affine.js';
import { settled } from '../batch-axis.js';
import { broadcastShape } from '../decompose.js';
import { tensorValue, type Lowering } from '../lowering.js';
import type { RealConstant } from '../numbers.js';
import { uniformValue } from '../numbers.js';
import type { OnnxNode, PreparedModel } from '../../onnx/model.js';
import type { Problem } from '../refusal.js';
import { expanded, toWhole } from '../shape-wires.js';
import { applyUnary, clip, compose, general } from '../unary-function.js';
import { sameElements, wholeShape, withFunction, type Value } from '../value.js';
import { accepted, constantOperands, isConstant, onlyReadBy, shapeOf, type OperatorTable } from './operator.js';

const REAL: Readonly<Record<string, (a: number, b: number) => number>> = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  Div: (a, b) => a / b,
  Pow: (a, b) => a ** b,
  Min: Math.min,
  Max: Math.max,
};

/** Both values expanded to their common item shape. */
export function aligned(a: Value, b: Value): [Value, Value] {
  const itemwise = a.batched === b.batched && a.shape.length === b.shape.length;
  const [x, y] = itemwise ? [a, b] : [toWhole(a), toWhole(b)];
  const shape = broadcastShape(x.shape, y.shape);
  return [expanded(x, shape), expanded(y, shape)];
}

/** A value and a constant such that the constant broadcasts to the value's item shape without changing it. */
export function alignedConstant(
  value: Value,
  constant: RealConstant,
  result: readonly number[],
): { value: Value; constant: RealConstant } {
  const rank = wholeShape(value).length;
  const batchSide = constant.shape.length === rank ? constant.shape[0]! : 1;
  const keeps = value.batched && constant.shape.length <= rank && batchSide === 1 && result.length === rank;
  const x = keeps ? value : toWhole(value);
  const target = keeps ? result.slice(1) : result;
  const shape = constant.shape.slice(Math.max(0, constant.shape.length - target.length));
  return { value: expanded(x, target), constant: { shape, data: constant.data } };
}

/** sum of sign * value, each with its own scale, as one combine. */
export function combineValues(
  lowering: Lowering,
  terms: readonly { value: Value; sign: 1 | -1 }[],
  name: string,
): Value {
  const operands = terms.map(({ value }) => lowering.operand(value, 'linear'));
  const { coefficients, scale } = combineCoefficients(operands);
  const id = lowering.emit(
    {
      kind: 'combine',
      name,
      terms: operands.map((operand, i) => ({ x: operand.id, coefficient: coefficients[i]! * terms[i]!.sign })),
      bias: null,
    },
    name,
    scale,
  );
  return tensorValue(lowering.tensorBase(id, name, scale, 'sum'), terms[0]!.value.batched);
}

/** Elementwise product of two values of equal item shape. */
function multiplyValues(lowering: Lowering, a: Value, b: Value, name: string): Value {
  const x = lowering.operand(a, 'product');
  const y = lowering.operand(b, 'product');
  const id = lowering.emit({ kind: 'mul', name, a: x.id, b: y.id }, name, x.scale * y.scale);
  return tensorValue(lowering.tensorBase(id, name, x.scale * y.scale, 'product'), a.batched);
}

/** Share of a softmax, e^-16, that is nothing. */
const NOTHING = 16;

/**
 * A constant that a softmax over the last axis reads next. Softmax does not see what a whole row has in common, nor
 * anything far below the row's largest: an attention mask of -1e9 is brought near the logits, so that both fit
 * one scale.
 */
function maskOf(lowering: Lowering, value: Value, constant: RealConstant, name: string): RealConstant {
  const side = value.shape.at(-1);
  const { model } = lowering;
  if (!onlyReadBy(model, name, ['Softmax']) || side === undefined || constant.shape.at(-1) !== side) return constant;
  const rank = shapeOf(model, name).length;
  const fallback = model.opset < 13 ? 1 : -1;
  const lastAxis = model.nodes
    .filter((node) => node.inputs.includes(name))
    .every((node) => [-1, rank - 1].includes(numberAttribute(node, 'axis', fallback)));
  if (!lastAxis) return constant;
  const { min, max } = lowering.requireStatistics(value.elementwise.name);
  const depth = 2 * (max - min) + NOTHING;
  const tops = Float64Array.from({ length: constant.data.length / side }, (_, row) =>
    constant.data.subarray(row * side, (row + 1) * side).reduce((top, b) => Math.max(top, b), -Infinity),
  );
  const below = (b: number, i: number): number => b - tops[Math.floor(i / side)]!;
  if (constant.data.every((b, i) => below(b, i) >= -depth)) return constant;
  return { ...constant, data: constant.data.map((b, i) => Math.max(below(b, i), -depth)) };
}

function withConstant(
  lowering: Lowering,
  node: OnnxNode,
  x: Value,
  constant: RealConstant,
  constantFirst: boolean,
): string {
  const name = node.outputs[0]!;
  const at = alignedConstant(x, constant, shapeOf(lowering.model, name));
  const map = (f: (c: number) => number): RealConstant => ({ ...at.constant, data: at.constant.data.map(f) });
  const uniform = uniformValue(constant);
  const finish = ({ value, how }: { value: Value; how: string }): string => {
    lowering.values.set(name, settled(value, lowering.hasBatch));
    return how;
  };
  switch (node.op) {
    case 'Add':
      return finish(
        affine(lowering, at.value, { gain: null, bias: maskOf(lowering, at.value, at.constant, name) }, name),
      );
    case 'Sub':
      if (!constantFirst) return finish(affine(lowering, at.value, { gain: null, bias: map((c) => -c) }, name));
      return finish(
        affine(lowering, at.value, { gain: { shape: [], data: Float64Array.of(-1) }, bias: at.constant }, name),
      );
    case 'Mul':
      return finish(affine(lowering, at.value, { gain: at.constant, bias: null }, name));
    case 'Div':
      if (!constantFirst) return finish(affine(lowering, at.value, { gain: map((c) => 1 / c), bias: null }, name));
  }
  // What is left is a function of one variable: c / x, x ^ c, min(x, c), max(x, c).
  if (node.op === 'Div') {
    const inverse = withFunction(
      at.value,
      compose(
        at.value.elementwise.fn,
        general('Reciprocal', (v) => 1 / v),
      ),
      name,
    );
    if (uniform === null) return finish({ value: inverse, how: 'table of a requantisation' });
  }
  const c = uniform!;
  const real = REAL[node.op]!;
  const fn =
    node.op === 'Max'
      ? clip(c, Infinity, 'Max')
      : node.op === 'Min'
        ? clip(-Infinity, c, 'Min')
        : general(node.op, (v) => (constantFirst ? real(c, v) : real(v, c)));
  return finish({
    value: withFunction(at.value, compose(at.value.elementwise.fn, fn), name),
    how: fn.kind === 'clip' ? 'clamp of a requantisation' : 'table of a requantisation',
  });
}

function ofValues(lowering: Lowering, node: OnnxNode, first: Value, second: Value): string {
  const name = node.outputs[0]!;
  const [a, b] = aligned(first, second);
  const finish = (value: Value, how: string): string => {
    lowering.values.set(name, settled(value, lowering.hasBatch));
    return how;
  };
  if (sameElements(a, b)) {
    // Both are functions of the same elements, and so is the result: x * Sigmoid(x), x + x, ...
    const real = REAL[node.op]!;
    const [f, g] = [a.elementwise.fn, b.elementwise.fn];
    const fn = general(node.op, (v) => real(applyUnary(f, v), applyUnary(g, v)));
    return finish(withFunction(a, fn, name), 'table of a requantisation');
  }
  switch (node.op) {
    case 'Add':
      return finish(
        combineValues(
          lowering,
          [
            { value: a, sign: 1 },
            { value: b, sign: 1 },
          ],
          name,
        ),
        'combine',
      );
    case 'Sub':
      return finish(
        combineValues(
          lowering,
          [
            { value: a, sign: 1 },
            { value: b, sign: -1 },
          ],
          name,
        ),
        'combine',
      );
    case 'Mul':
      return finish(multiplyValues(lowering, a, b, name), 'mul');
    case 'Div':
      return finish(
        multiplyValues(lowering, a, reciprocal(lowering, b, `${name}:reciprocal`), name),
        'reciprocal table + mul',
      );
    default: {
      // max(a, b) = b + relu(a - b), min(a, b) = b - relu(b - a).
      const largest = node.op === 'Max';
      const pair = largest
        ? [
            { value: a, sign: 1 as const },
            { value: b, sign: -1 as const },
          ]
        : [
            { value: b, sign: 1 as const },
            { value: a, sign: -1 as const },
          ];
      const difference = combineValues(lowering, pair, `${name}:difference`);
      const positive = differencePart(lowering, difference, `${name}:relu`);
      return finish(
        combineValues(
          lowering,
          [
            { value: b, sign: 1 },
            { value: positive, sign: largest ? 1 : -1 },
          ],
          name,
        ),
        'combine + requant + combine',
      );
    }
  }
}

/** relu of a difference that has no statistics of its own: stored over its proved range with 10 bits. */
function differencePart(lowering: Lowering, difference: Value, name: string): Value {
  const { hi } = lowering.provedReal(difference.elementwise.base);
  const relu = withFunction(difference, clip(0, Infinity, 'Relu'), name);
  const stored = lowering.storedAs(relu, name, {
    scale: hi / 1023 || 1,
    lo: 0,
    hi: 1023,
    calibration: 'proved range',
    fixed: false,
  });
  return tensorValue(lowering.tensorBase(stored.id, name, stored.scale, 'stored'), difference.batched);
}

/** 1 / x over the interval of x that calibration saw, stored with 11 bits. */
function reciprocal(lowering: Lowering, value: Value, name: string): Value {
  const { min: low, max: high } = lowering.requireStatistics(value.elementwise.name);
  const crosses = low <= 0 && high >= 0;
  const least = crosses ? Math.max(Math.abs(low), Math.abs(high)) / 255 : Math.min(Math.abs(low), Math.abs(high));
  const scale = 1 / (least || 1) / 2047;
  const fn = compose(
    value.elementwise.fn,
    general('Reciprocal', (v) => 1 / v),
  );
  const target = {
    scale,
    lo: low >= 0 ? 0 : -2047,
    hi: high <= 0 ? 0 : 2047,
    calibration: 'seen range of the divisor',
    fixed: false,
  };
  const stored = lowering.storedAs(withFunction(value, fn, value.elementwise.name), name, target);
  return tensorValue(lowering.tensorBase(stored.id, name, stored.scale, 'stored'), value.batched);
}

function checkUniform(node: OnnxNode, model: PreparedModel): Problem {
  if (node.op === 'Pow') {
    const problem = constantOperands(node, model, [1]);
    if (problem !== null) return problem;
  }
  for (const name of node.inputs) {
    if (!isConstant(model, name)) continue;
    const { data } = model.initializers.get(name)!;
    const varies = Array.from(data as ArrayLike<number | bigint>).some((v, _, all) => v !== all[0]);
    const perElement = node.op === 'Div' && name === node.inputs[0];
    if (varies && (node.op !== 'Div' || perElement))
      return {
        reason: `constant operand '${name}' differs between elements; ${node.op} supports one value for all`,
        mend: node.op === 'Div' ? 'Write c / x as c * Reciprocal(x).' : 'Use one value for all elements.',
      };
  }
  return null;
}

function lower(node: OnnxNode, lowering: Lowering): string {
  const [first, second] = node.inputs as [string, string];
  if (lowering.isConstant(first))
    return withConstant(lowering, node, lowering.real(second), lowering.constant(first), true);
  if (lowering.isConstant(second))
    return withConstant(lowering, node, lowering.real(first), lowering.constant(second), false);
  return ofValues(lowering, node, lowering.real(first), lowering.real(second));
}

/** Sum, Min, Max and Mean of one operand, or of two; `decompose` has taken longer ones apart. */
function lowerVariadic(node: OnnxNode, lowering: Lowering): string {
  if (node.inputs.length > 1) return lower({ ...node, op: node.op === 'Sum' ? 'Add' : node.op }, lowering);
  lowering.values.set(node.outputs[0]!, lowering.real(node.inputs[0]!));
  return 'wiring';
}

export const BINARY: OperatorTable = {
  Add: { check: accepted, lower },
  Sub: { check: accepted, lower },
  Mul: { check: accepted, lower },
  Div: { check: checkUniform, lower },
  Pow: { check: checkUniform, lower },
  Min: { check: checkUniform, lower: lowerVariadic },
  Max: { check: checkUniform, lower: lowerVariadic },
  Sum: { check: accepted, lower: lowerVariadic },
  Mean: { check: accepted, lower: lowerVariadic },
};
