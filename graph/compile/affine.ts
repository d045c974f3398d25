/**
 * gain * x + bias with constants: folded into the linear layer before it where that layer is read by nobody else,
 * metadata or part of the elementwise function where the constants are single numbers, else a node of its own.
 */
import { QUOTIENT_LO, type BroadcastConstant } from '../integer/types.js';
import { alongAxis, uniformValue, type RealConstant } from './numbers.js';
import { compose, gain, gainOf, general } from './unary-function.js';
import { scaledValue, tensorValue, type Lowering, type Operand } from './lowering.js';
import { wholeNumbers } from './quantise-weights.js';
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
    return { value: shifted(lowering, value, factor, constants.bias!, name), how: 'combine' };
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

/**
 * factor * value + bias, as a combine with finer units than the operand's where the constants need them. The operand
 * is stored over its own range, not over the result's.
 * @param factor not 0.
 */
function shifted(lowering: Lowering, value: Value, factor: number, bias: RealConstant, name: string): Value {
  const largest = bias.data.reduce((max, b) => Math.max(max, Math.abs(b)), 0);
  const sign = Math.sign(factor);
  const magnitude = Math.abs(factor);
  let x = lowering.operand(value, 'linear');
  // Beside a constant of more than 2^21 units the operand is stored again in the constant's own, coarser units.
  const least = largest / BIAS_LIMIT / magnitude;
  if (x.scale < least) x = coarser(lowering, value, x, least, `${name}:coarse`);
  const unit = x.scale * magnitude;
  const whole = bias.data.every((b) => Math.abs(b / unit - Math.round(b / unit)) < 1e-9);
  let fineness = whole ? 1 : BIAS_FINENESS;
  while (fineness > 1 && (largest / unit) * fineness > BIAS_LIMIT) fineness /= 2;
  const scale = unit / fineness;
  const integers: BroadcastConstant = { shape: bias.shape, data: wholeNumbers(bias.data, scale, name) };
  const terms = [{ x: x.id, coefficient: sign * fineness }];
  const id = lowering.emit({ kind: 'combine', name, terms, bias: integers }, name, scale);
  return like(value, lowering, tensorValue(lowering.tensorBase(id, name, scale, 'sum'), value.batched));
}

/** The operand stored in units of at least `least`, coarser than its own, that a requantisation can give. */
function coarser(lowering: Lowering, value: Value, x: Operand, least: number, name: string): Operand {
  const reach = Math.max(-x.range.lo, x.range.hi) * x.scale;
  const scale = Math.max(least, reach / (-QUOTIENT_LO - 1));
  const lo = Math.floor((Math.min(x.range.lo, 0) * x.scale) / scale);
  const hi = Math.ceil((Math.max(x.range.hi, 0) * x.scale) / scale);
  return lowering.storedAs(value, name, { scale, lo, hi, calibration: 'units of the constant added', fixed: false });
}

/** bias - value. */
export function negated(lowering: Lowering, value: Value, bias: RealConstant | null, name: string): Value {
  if (bias !== null) return shifted(lowering, value, -1, bias, name);
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
    data: wholeNumbers(constant.data, unit, name),
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
