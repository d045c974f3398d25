/** Activation functions. Each formula is that of the ONNX operator page; defaults are the standard's. */
import type { ElementType, Tensor } from '../../tensor.js';
import { is64BitInteger, numbersOf } from '../numbers.js';
import { mapBinary, mapUnary, requireNumeric, unary } from './elementwise.js';
import { broadcastShapes } from './indexing.js';
import type { Application, Operator } from './operator.js';

/** 2/sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!: all terms of one sign, so nothing cancels. */
export function erf(x: number): number {
  if (Math.abs(x) > 6) return Math.sign(x); // 1 - erf(6) = 2e-17
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-17; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/** log(1 + exp(x)) without overflow. */
export function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

/** Float attributes are float32 in the file; defaults are rounded alike, as onnxruntime does. */
const attribute = (application: Application, name: string, fallback: number): number =>
  application.number(name, Math.fround(fallback));

/** min and max: attributes before opset 11, optional inputs since. */
const CLIP: Operator = {
  op: 'Clip',
  sinceOpset: 7,
  infer: (application) => {
    const { type, shape } = application.input(0);
    requireNumeric(application, type, true);
    if (application.opset >= 11) {
      for (const index of [1, 2]) {
        const bound = application.optional(index);
        if (bound === null) continue;
        if (bound.type !== type) throw application.invalid(`has a bound of ${bound.type} for an input of ${type}`);
        if (bound.shape.some((side) => side !== 1)) throw application.mismatch('has a bound that is no scalar');
      }
    }
    return [{ type, shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const bound = (index: number, name: string): number | bigint | null => {
      if (application.opset < 11) return application.optionalNumber(name);
      if (application.optional(index) === null) return null;
      const tensor = application.tensor(index);
      return is64BitInteger(tensor.type) ? (tensor.data as BigInt64Array)[0]! : numbersOf(tensor)[0]!;
    };
    const low = bound(1, 'min');
    const high = bound(2, 'max');
    if (is64BitInteger(x.type)) {
      const big = (value: bigint): bigint => {
        const raised = low !== null && value < low ? (low as bigint) : value;
        return high !== null && raised > high ? (high as bigint) : raised;
      };
      return [mapUnary(x, { real: Number, big })];
    }
    // The order matters where min > max: the maximum wins.
    const lo = low === null ? -Infinity : Number(low);
    const hi = high === null ? Infinity : Number(high);
    return [mapUnary(x, { real: (value) => Math.min(hi, Math.max(lo, value)) })];
  },
};

/** The slope broadcasts to the input, not the other way round. */
const PRELU: Operator = {
  op: 'PRelu',
  sinceOpset: 7,
  infer: (application) => {
    const { type, shape } = application.input(0);
    const slope = application.input(1);
    if (slope.type !== type) throw application.invalid(`has a slope of ${slope.type} for an input of ${type}`);
    requireNumeric(application, type, true);
    if (broadcastShapes(application, [shape, slope.shape]).join() !== shape.join()) {
      throw application.mismatch('has a slope that does not broadcast to its input');
    }
    return [{ type, shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const slope: Tensor<ElementType> = application.tensor(1);
    return [
      mapBinary(x, slope, x.shape, {
        real: (value, s) => (value < 0 ? s * value : value),
        integer: (value, s) => (value < 0 ? Math.imul(s, value) : value),
        big: (value, s) => (value < 0n ? s * value : value),
      }),
    ];
  },
};

export const ACTIVATIONS: readonly Operator[] = [
  unary('Relu', 7, () => ({ real: (x) => (x < 0 ? 0 : x), big: (x) => (x < 0n ? 0n : x) })),
  unary('LeakyRelu', 7, (application) => {
    const alpha = attribute(application, 'alpha', 0.01);
    return { real: (x) => (x < 0 ? alpha * x : x) };
  }),
  PRELU,
  CLIP,
  unary('Sigmoid', 7, () => ({ real: sigmoid })),
  unary('Tanh', 7, () => ({ real: Math.tanh })),
  unary('Erf', 9, () => ({ real: erf })),
  unary('HardSigmoid', 7, (application) => {
    const alpha = attribute(application, 'alpha', 0.2);
    const beta = attribute(application, 'beta', 0.5);
    return { real: (x) => Math.max(0, Math.min(1, alpha * x + beta)) };
  }),
  unary('HardSwish', 14, () => ({ real: (x) => x * Math.max(0, Math.min(1, x / 6 + 0.5)) })),
  unary('Elu', 7, (application) => {
    const alpha = attribute(application, 'alpha', 1);
    return { real: (x) => (x < 0 ? alpha * Math.expm1(x) : x) };
  }),
  unary('Selu', 7, (application) => {
    const alpha = attribute(application, 'alpha', 1.67326319217681884765625);
    const gamma = attribute(application, 'gamma', 1.05070102214813232421875);
    return { real: (x) => gamma * (x <= 0 ? alpha * Math.expm1(x) : x) };
  }),
  unary('Celu', 12, (application) => {
    const alpha = attribute(application, 'alpha', 1);
    return { real: (x) => Math.max(0, x) + Math.min(0, alpha * Math.expm1(x / alpha)) };
  }),
  unary('Softplus', 7, () => ({ real: softplus })),
  unary('Softsign', 7, () => ({ real: (x) => x / (1 + Math.abs(x)) })),
  unary('ThresholdedRelu', 10, (application) => {
    const alpha = attribute(application, 'alpha', 1);
    return { real: (x) => (x > alpha ? x : 0) };
  }),
  unary('Gelu', 20, (application) => {
    const approximate = application.text('approximate', 'none');
    if (approximate === 'none') return { real: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)) };
    if (approximate !== 'tanh')
      throw application.invalid(`has approximate = ${JSON.stringify(approximate)}; expected none or tanh`);
    return { real: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))) };
  }),
  unary('Mish', 18, () => ({ real: (x) => x * Math.tanh(softplus(x)) })),
  unary('Swish', 24, (application) => {
    const alpha = attribute(application, 'alpha', 1);
    return { real: (x) => x * sigmoid(alpha * x) };
  }),
];
