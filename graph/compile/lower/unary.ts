/** Elementwise functions of one variable: none becomes a node; the next requantisation's table absorbs them. */
import { float64sOf, roundHalfEven } from '../../onnx/numbers.js';
import type { OnnxNode, PreparedModel } from '../../onnx/model.js';
import { numberAttribute, stringAttribute } from '../attributes.js';
import { affine } from '../affine.js';
import type { Problem } from '../refusal.js';
import { clip, compose, general, type UnaryFunction } from '../unary-function.js';
import { withFunction } from '../value.js';
import { accepted, constantOperands, isConstant, type OperatorTable } from './operator.js';

type Constants = (position: number) => number | null;

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const softplus = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const hardSigmoid = (x: number, alpha: number, beta: number): number => Math.min(Math.max(alpha * x + beta, 0), 1);

/**
 * The error function to about 1e-15: its Taylor series below 3, and a continued fraction of the complement above.
 * Abramowitz and Stegun, 7.1.6 and 7.1.14.
 */
export function erf(x: number): number {
  const z = Math.abs(x);
  if (z > 6) return Math.sign(x);
  if (z < 3) {
    let term = z;
    let sum = z;
    for (let n = 1; n < 200 && Math.abs(term) > 1e-17 * sum; n++) {
      term *= (2 * z * z) / (2 * n + 1);
      sum += term;
    }
    return (Math.sign(x) * 2 * Math.exp(-z * z) * sum) / Math.sqrt(Math.PI);
  }
  let fraction = z;
  for (let n = 60; n >= 1; n--) fraction = z + n / 2 / fraction;
  return Math.sign(x) * (1 - Math.exp(-z * z) / (fraction * Math.sqrt(Math.PI)));
}

/** Operator to function; constants are single numbers. */
const FUNCTIONS: Readonly<Record<string, (node: OnnxNode, constant: Constants) => UnaryFunction>> = {
  Relu: () => clip(0, Infinity, 'Relu'),
  Clip: (node, constant) =>
    clip(
      constant(1) ?? numberAttribute(node, 'min', -Infinity),
      constant(2) ?? numberAttribute(node, 'max', Infinity),
      'Clip',
    ),
  LeakyRelu: (node) => {
    const alpha = numberAttribute(node, 'alpha', 0.01);
    return general('LeakyRelu', (x) => (x < 0 ? alpha * x : x));
  },
  PRelu: (_, constant) => {
    const slope = constant(1)!;
    return general('PRelu', (x) => (x < 0 ? slope * x : x));
  },
  ThresholdedRelu: (node) => {
    const alpha = numberAttribute(node, 'alpha', 1);
    return general('ThresholdedRelu', (x) => (x > alpha ? x : 0));
  },
  Sigmoid: () => general('Sigmoid', sigmoid),
  Tanh: () => general('Tanh', Math.tanh),
  HardSigmoid: (node) => {
    const alpha = numberAttribute(node, 'alpha', 0.2);
    const beta = numberAttribute(node, 'beta', 0.5);
    return general('HardSigmoid', (x) => hardSigmoid(x, alpha, beta));
  },
  HardSwish: () => general('HardSwish', (x) => x * hardSigmoid(x, 1 / 6, 0.5)),
  Elu: (node) => {
    const alpha = numberAttribute(node, 'alpha', 1);
    return general('Elu', (x) => (x < 0 ? alpha * Math.expm1(x) : x));
  },
  Celu: (node) => {
    const alpha = numberAttribute(node, 'alpha', 1);
    return general('Celu', (x) => Math.max(0, x) + Math.min(0, alpha * Math.expm1(x / alpha)));
  },
  Selu: (node) => {
    const alpha = numberAttribute(node, 'alpha', 1.6732632423543772);
    const gamma = numberAttribute(node, 'gamma', 1.0507009873554805);
    return general('Selu', (x) => gamma * (x <= 0 ? alpha * Math.expm1(x) : x));
  },
  Softplus: () => general('Softplus', softplus),
  Softsign: () => general('Softsign', (x) => x / (1 + Math.abs(x))),
  Swish: (node) => {
    const alpha = numberAttribute(node, 'alpha', 1);
    return general('Swish', (x) => x * sigmoid(alpha * x));
  },
  Mish: () => general('Mish', (x) => x * Math.tanh(softplus(x))),
  Gelu: (node) =>
    stringAttribute(node, 'approximate', 'none') === 'tanh'
      ? general('Gelu', (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))))
      : general('Gelu', (x) => 0.5 * x * (1 + erf(x / Math.SQRT2))),
  Erf: () => general('Erf', erf),
  Exp: () => general('Exp', Math.exp),
  Log: () => general('Log', (x) => (x > 0 ? Math.log(x) : -Infinity)),
  Sqrt: () => general('Sqrt', (x) => Math.sqrt(Math.max(x, 0))),
  Reciprocal: () => general('Reciprocal', (x) => 1 / x),
  Abs: () => general('Abs', Math.abs),
  Sign: () => general('Sign', Math.sign),
  Floor: () => general('Floor', Math.floor),
  Ceil: () => general('Ceil', Math.ceil),
  Round: () => general('Round', roundHalfEven),
  Sin: () => general('Sin', Math.sin),
  Cos: () => general('Cos', Math.cos),
};

/** Operators whose parameters may come as further operands. */
const OPERAND_POSITIONS: Readonly<Record<string, readonly number[]>> = { Clip: [1, 2], PRelu: [1] };

function check(node: OnnxNode, model: PreparedModel): Problem {
  const positions = OPERAND_POSITIONS[node.op] ?? [];
  const problem = constantOperands(node, model, positions);
  if (problem !== null) return problem;
  for (const position of positions) {
    const name = node.inputs[position];
    if (!isConstant(model, name)) continue;
    const values = float64sOf(model.initializers.get(name)!);
    if (values.some((v) => v !== values[0]))
      return {
        reason: `operand ${position} ('${name}') has a different value per channel; one value for all is supported`,
        mend: node.op === 'PRelu' ? 'Train with one slope, or use LeakyRelu.' : 'Use one bound for all elements.',
      };
  }
  return null;
}

/** The function of a unary node, with its constants read from the model. */
function unaryFunction(node: OnnxNode, model: PreparedModel): UnaryFunction {
  return FUNCTIONS[node.op]!(node, (position) => {
    const name = node.inputs[position];
    return isConstant(model, name) ? float64sOf(model.initializers.get(name)!)[0]! : null;
  });
}

export const UNARY: OperatorTable = {
  ...Object.fromEntries(
    Object.keys(FUNCTIONS).map((op) => [
      op,
      {
        check,
        lower: (node, lowering) => {
          const x = lowering.real(node.inputs[0]!);
          const name = node.outputs[0]!;
          const fn = compose(x.elementwise.fn, unaryFunction(node, lowering.model));
          lowering.values.set(name, withFunction(x, fn, name));
          return fn.kind === 'clip' ? 'clamp of a requantisation' : 'table of a requantisation';
        },
      },
    ]),
  ),
  Neg: {
    check: accepted,
    lower: (node, lowering) => {
      const name = node.outputs[0]!;
      const minusOne = { shape: [], data: Float64Array.of(-1) };
      const { value, how } = affine(lowering, lowering.real(node.inputs[0]!), { gain: minusOne, bias: null }, name);
      lowering.values.set(name, value);
      return how;
    },
  },
};
