/**
 * Softmax and LogSoftmax over one axis.
 *
 * Statement. y_i = exp(x_i) / sum_j exp(x_j) within about 1/255.
 *
 * Symbols. x integer logits of 12 bits, s their scale; n summands; E = 2047, the largest operand of a product;
 * F >= E the unit of the sum.
 *   1. m = max_j x_j; d_i = x_i - m <= 0.
 *   2. e_i = round(E * exp(s * d_i)) and f_i = round(F * exp(s * d_i)): tables over d. The largest f is F exactly, so
 *   3. S = sum_j f_j lies in F..n*F.
 *   4. r = round(E * F / S) <= E: a table over S in steps of F / 256, coarser above 255 summands.
 *   5. y_i = e_i * r, in units of 1 / E^2: operands of 11 bits, products below 2^22.
 * Errors of y: s/4 from 1 (both roundings), 1/(2E) from e, n/(2F) from the sum of roundings in f (all may go one way:
 * many small terms beside one large), 1/512 from 4's argument, 1/(2E) from 4's value. F = E and f = e up to 8
 * summands; else the largest that an int16 and an accumulator below 2^24 hold.
 * LogSoftmax: y_i = s * d_i - log(S / F), the logarithm a table in units of s / 8.
 */
import { sizeOf } from '../../tensor.js';
import {
  FLOAT32_EXACT_LIMIT,
  QUOTIENT_HI,
  QUOTIENT_LO,
  REQUANT_SHIFT,
  type RequantTable,
  type TensorId,
} from '../../integer/types.js';
import { roundHalfEven } from '../../onnx/numbers.js';
import type { OnnxNode } from '../../onnx/model.js';
import { numberAttribute } from '../attributes.js';
import { inShape, onItemAxes, positiveAxis } from '../batch-axis.js';
import { tensorValue, type Lowering, type Operand } from '../lowering.js';
import { clamp } from '../numbers.js';
import { reshaped, toWhole } from '../shape-wires.js';
import { gainOf } from '../unary-function.js';
import { wholeShape, type Value } from '../value.js';
import { accepted, shapeOf, type OperatorTable } from './operator.js';

const E = 2047;
/** Logits are stored with 12 bits: differences of two fit a 12-bit range table of a prover. */
const LOGIT_LIMIT = 2047;
const FINEST_LOGIT = 1 / 64;
/** Rows of the reciprocal's table per summand: the sum's step is then F / 256, an error of at most 0.2 percent. */
const RECIPROCAL_ROWS = 256;
const LOG_FINENESS = 8;
/** Up to this many summands the roundings of E * exp add up to less than half of 1/255. */
const FEW = 8;
const INT16_MAX = 2 ** 15 - 1;

/** Stored logits of about 12 bits. */
function logits(lowering: Lowering, value: Value, name: string): Operand {
  const { base, fn } = value.elementwise;
  if (base.kind === 'tensor' && base.form === 'stored') return lowering.operand(value, 'max');
  const statistics = lowering.requireStatistics(value.elementwise.name);
  const factor = gainOf(fn);
  const proved = factor === null ? { lo: -Infinity, hi: Infinity } : lowering.provedReal(base);
  const lowest = Math.max(statistics.min, proved.lo * (factor ?? 1));
  const largest = Math.max(Math.abs(lowest), Math.abs(Math.min(statistics.max, proved.hi * (factor ?? 1))));
  // A quarter of headroom above what calibration saw, since a clipped logit changes the answer.
  const scale = Math.max(FINEST_LOGIT, (1.25 * largest) / LOGIT_LIMIT);
  const target = { scale, lo: -LOGIT_LIMIT - 1, hi: LOGIT_LIMIT, calibration: 'max * 1.25, 12 bits', fixed: false };
  return lowering.storedAs(value, `${name}:logits`, target);
}

/** A table over an accumulator: y = f(real argument), M chosen so that at most `rows` quotients occur. */
function table(
  lowering: Lowering,
  x: TensorId,
  name: string,
  label: string,
  rows: number,
  lo: number,
  hi: number,
  f: (integer: number) => number,
): TensorId {
  const { range } = lowering.builder.tensor(x);
  const step = Math.max(
    1,
    (range.hi - range.lo + 1) / rows,
    range.hi / (QUOTIENT_HI - 2),
    range.lo / (QUOTIENT_LO + 1),
  );
  const multiplier = Math.round(2 ** REQUANT_SHIFT / step);
  const multipliers = Int32Array.of(multiplier);
  const { lo: qLo, hi: qHi } = lowering.builder.quotientRange(x, multipliers, null);
  const values = Int16Array.from({ length: qHi - qLo + 1 }, (_, i) =>
    clamp(roundHalfEven(f(((qLo + i) * 2 ** REQUANT_SHIFT) / multiplier)), lo, hi),
  );
  const requantTable: RequantTable = { kind: 'values', qLo, qHi, values, label };
  return lowering.emit({ kind: 'requant', name, x, multipliers, channelAxis: null, table: requantTable }, name, 1);
}

function softmax(lowering: Lowering, node: OnnxNode, value: Value, axis: number): Value {
  const name = node.outputs[0]!;
  const shape = value.shape;
  const n = shape[axis]!;
  const x = logits(lowering, value, name);
  const emit = lowering.emit.bind(lowering);
  const maximum = emit({ kind: 'reduceMax', name, x: x.id, axes: [axis] }, `${name}:max`, x.scale);
  const wide = emit({ kind: 'expand', name, x: maximum }, `${name}:max:expand`, x.scale, shape);
  const terms = [
    { x: x.id, coefficient: 1 },
    { x: wide, coefficient: -1 },
  ];
  const difference = emit({ kind: 'combine', name, terms, bias: null }, `${name}:difference`, x.scale);
  const unitOfSum = n <= FEW ? E : Math.min(INT16_MAX, Math.floor((FLOAT32_EXACT_LIMIT - 1) / n));
  const exponential = (unit: number, suffix: string): TensorId =>
    table(lowering, difference, `${name}:${suffix}`, 'Exp', 2 ** 13, 0, unit, (d) => unit * Math.exp(d * x.scale));
  const summands = exponential(unitOfSum, 'exp');
  const sum = emit({ kind: 'reduceSum', name, x: summands, axes: [axis] }, `${name}:sum`, 1 / unitOfSum);
  const rows = clamp(RECIPROCAL_ROWS * n, 2 ** 11, QUOTIENT_HI - 2);
  if (n * RECIPROCAL_ROWS > QUOTIENT_HI)
    lowering.warn(
      node,
      `softmax over ${n} elements is accurate to about ${(n / rows / 2 + n / unitOfSum / 2).toFixed(4)} only`,
    );
  if (node.op === 'LogSoftmax') {
    const unit = x.scale / LOG_FINENESS;
    const log = (s: number): number => Math.log(Math.max(s, unitOfSum) / unitOfSum) / unit;
    const logarithm = table(lowering, sum, `${name}:log`, 'Log', rows, 0, 2 ** 15 - 1, log);
    const logWide = emit({ kind: 'expand', name, x: logarithm }, `${name}:log:expand`, unit, shape);
    const parts = [
      { x: difference, coefficient: LOG_FINENESS },
      { x: logWide, coefficient: -1 },
    ];
    const id = emit({ kind: 'combine', name, terms: parts, bias: null }, name, unit);
    return tensorValue(lowering.tensorBase(id, name, unit, 'sum'), value.batched);
  }
  const reciprocal = table(
    lowering,
    sum,
    `${name}:reciprocal`,
    'Reciprocal',
    rows,
    0,
    E,
    (s) => (E * unitOfSum) / Math.max(s, unitOfSum),
  );
  const factor = emit({ kind: 'expand', name, x: reciprocal }, `${name}:reciprocal:expand`, 1 / E, shape);
  const numerator = unitOfSum === E ? summands : exponential(E, 'numerator');
  const id = emit({ kind: 'mul', name, a: numerator, b: factor }, name, 1 / (E * E));
  return tensorValue(lowering.tensorBase(id, name, 1 / (E * E), 'product'), value.batched);
}

function lower(node: OnnxNode, lowering: Lowering): string {
  const name = node.outputs[0]!;
  const x = lowering.real(node.inputs[0]!);
  const whole = wholeShape(x);
  const coerced = lowering.model.opset < 13;
  const axis = positiveAxis(numberAttribute(node, 'axis', coerced ? 1 : -1), whole.length);
  const how = 'max + exp table + sum + reciprocal table + mul';
  // Before opset 13 the operand is seen as a matrix: all axes from `axis` on are normalised together.
  if (coerced && axis < whole.length - 1) {
    const matrix = reshaped(toWhole(x), [sizeOf(whole.slice(0, axis)), sizeOf(whole.slice(axis))], false);
    const result = softmax(lowering, node, matrix, 1);
    lowering.values.set(name, inShape(result, whole, lowering.hasBatch));
    return how;
  }
  const at = onItemAxes(x, [axis]);
  const result = softmax(lowering, node, at.value, at.axes[0]!);
  lowering.values.set(name, inShape(result, shapeOf(lowering.model, name), lowering.hasBatch));
  return how;
}

export const SOFTMAX: OperatorTable = { Softmax: { check: accepted, lower }, LogSoftmax: { check: accepted, lower } };
