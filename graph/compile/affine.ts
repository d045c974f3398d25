/**
 * gain * x + bias with constants: folded into the linear layer before it where that layer is read by nobody else,
 * metadata or part of the elementwise function where the constants are single numbers, else a node of its own.
 */
import type { BroadcastConstant } from '../integer/types.js';
import { alongAxis, uniformValue, type RealConstant } from './numbers.js';
import { compose, gain, gainOf, general } from './unary-function.js';
import { scaledValue, tensorValue, type Lowering } from './lowering.js';
import { toWhole } from './shape-wires.js';
import { settled } from './batch-axis.js';
import { withFunction, type LinearPlan, type Value } from './value.js';

/** Largest factor of a scale node: 11 bits. */
const FACTOR_LIMIT = 2047;
/** A constant term is added in units of at least this fineness, relative to the operand's. */
const BIAS_FINENESS = 64;
/** Largest constant term in units of the result. */
const BIAS_LIMIT = 2 ** 21;

export interface Affine {
  readonly gain: RealConstant | null;
  readonly bias: RealConstant | null;
}

/** @param constants broadcastable to the value's item shape without changing it. */
export function affine(
  lowering: Lowering,
  value: Value,
  constants: Affine,
  name: string,
): { value: Value; how: string } {
  const folded = fold(lowering, value, constants, name);
  if (folded !== null) return { value: folded, how: 'folded into the layer before it' };
  // Where the operand is read elsewhere too, a function of one variable may still meet it again (x * clip(x + 3)).
  const factor = constants.gain === null ? 1 : uniformValue(constants.gain);
  const term = constants.bias === null ? 0 : uniformValue(constants.bias);
  if (factor !== null && term === 0 && factor > 0)
    return { value: scaledValue(value, factor, name), how: 'scale metadata' };
  if (factor !== null && term !== null && (isWeighted(value) || !lowering.readOnce(value.elementwise.name))) {
    const fn = compose(
      value.elementwise.fn,
      general(`${factor} * x + ${term}`, (x) => factor * x + term),
    );
    return { value: withFunction(value, fn, name), how: 'part of a requantisation table' };
  }
  if (factor !== null && factor > 0)
    return { value: shifted(lowering, scaledValue(value, factor, name), constants.bias!, name), how: 'combine' };
  if (factor === -1) return { value: negated(lowering, value, constants.bias, name), how: 'combine' };
  return { value: scaledPerElement(lowering, value, constants, name), how: 'scale' };
}

/** True where the value is a linear layer's accumulator or has a function that a requantisation will absorb anyway. */
function isWeighted(value: Value): boolean {
  const { base, fn } = value.elementwise;
  return base.kind === 'plan' || base.form === 'product' || gainOf(fn) === null;
}

function fold(lowering: Lowering, value: Value, constants: Affine, name: string): Value | null {
  const { base, fn, name: before } = value.elementwise;
  const outer = gainOf(fn);
  if (base.kind !== 'plan' || outer === null || value.channelAxis === null || !lowering.readOnce(before)) return null;
  const rank = value.shape.length;
  const per = (constant: RealConstant | null, fallback: number): Float64Array | null =>
    constant === null
      ? new Float64Array(base.rows).fill(fallback)
      : alongAxis(constant, rank, value.channelAxis!, base.rows);
  const gains = per(constants.gain, 1);
  const biases = per(constants.bias, 0);
  if (gains === null || biases === null) return null;
  const plan = withAffine(
    base,
    gains.map((g) => g * outer),
    biases,
    constants.bias !== null,
    name,
  );
  return { ...value, elementwise: { base: plan, fn: gain(1), name } };
}

function withAffine(
  plan: LinearPlan,
  gains: Float64Array,
  biases: Float64Array,
  hasBias: boolean,
  name: string,
): LinearPlan {
  const bias =
    plan.bias === null && !hasBias
      ? null
      : gains.map((g, row) => g * (plan.bias === null ? 0 : plan.bias[row]!) + biases[row]!);
  if (plan.fixed === null) {
    const weight = plan.weight.map((w, i) => w * gains[Math.floor(i / plan.perRow)]!);
    return { ...plan, name, weight, bias };
  }
  // Integer weights stay what they are; only their scale and sign change.
  const { integers, scales } = plan.fixed;
  const signed = integers.map((w, i) => w * Math.sign(gains[Math.floor(i / plan.perRow)]!));
  const scale = gains.map((g, row) => (g === 0 ? 1 : Math.abs(g)) * scales[scales.length === 1 ? 0 : row]!);
  const one = scale.every((s) => s === scale[0]) ? scale.slice(0, 1) : scale;
  return { ...plan, name, fixed: { integers: signed, scales: one }, bias };
}

/** value + bias, as a combine with finer units than the operand's where the constants need them. */
export function shifted(lowering: Lowering, value: Value, bias: RealConstant, name: string, sign: 1 | -1 = 1): Value {
  const x = lowering.operand(value, 'linear');
  const largest = bias.data.reduce((max, b) => Math.max(max, Math.abs(b)), 0);
  const whole = bias.data.every((b) => Math.abs(b / x.scale - Math.round(b / x.scale)) < 1e-9);
  let fineness = whole ? 1 : BIAS_FINENESS;
  while (fineness > 1 && (largest / x.scale) * fineness > BIAS_LIMIT) fineness /= 2;
  const scale = x.scale / fineness;
  const integers: BroadcastConstant = {
    shape: bias.shape,
    data: Int32Array.from(bias.data, (b) => Math.round(b / scale)),
  };
  const terms = [{ x: x.id, coefficient: sign * fineness }];
  const id = lowering.emit({ kind: 'combine', name, terms, bias: integers }, name, scale);
  return like(value, lowering, tensorValue(lowering.tensorBase(id, name, scale, 'sum'), value.batched));
}

/** bias - value. */
export function negated(lowering: Lowering, value: Value, bias: RealConstant | null, name: string): Value {
  if (bias !== null) return shifted(lowering, value, bias, name, -1);
  const x = lowering.operand(value, 'linear');
  const id = lowering.emit({ kind: 'combine', name, terms: [{ x: x.id, coefficient: -1 }], bias: null }, name, x.scale);
  return like(value, lowering, tensorValue(lowering.tensorBase(id, name, x.scale, 'sum'), value.batched));
}

function scaledPerElement(lowering: Lowering, value: Value, constants: Affine, name: string): Value {
  const x = lowering.operand(value, 'product');
  const factor = constants.gain!;
  const largest = factor.data.reduce((max, g) => Math.max(max, Math.abs(g)), 0);
  const largestBias =
    constants.bias === null ? 0 : constants.bias.data.reduce((max, b) => Math.max(max, Math.abs(b)), 0);
  const factorScale = Math.max(largest / FACTOR_LIMIT, largestBias / x.scale / BIAS_LIMIT) || 1;
  const scale = x.scale * factorScale;
  const integers = (constant: RealConstant, unit: number): BroadcastConstant => ({
    shape: constant.shape,
    data: Int32Array.from(constant.data, (v) => Math.round(v / unit)),
  });
  const id = lowering.emit(
    {
      kind: 'scale',
      name,
      x: x.id,
      factor: integers(factor, factorScale),
      bias: constants.bias === null ? null : integers(constants.bias, scale),
    },
    name,
    scale,
  );
  return like(value, lowering, tensorValue(lowering.tensorBase(id, name, scale, 'product'), value.batched));
}

/** A result with the batch of its operand. */
function like(operand: Value, lowering: Lowering, result: Value): Value {
  return operand.batched ? result : settled(toWhole(result), lowering.hasBatch);
}
