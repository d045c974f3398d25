/** Arithmetic, element by element. Integers wrap modulo 2^n; integer division truncates towards zero. */
import { AssayError } from '../../../common/errors.js';
import { sizeOf } from '../../tensor.js';
import type { Tensor } from '../../tensor.js';
import { float64sOf, is64BitInteger, isFloat, roundHalfEven, tensorFromNumbers } from '../numbers.js';
import { binary, requireNumeric, unary, variadic } from './elementwise.js';
import { broadcastIndices, broadcastShapes } from './indexing.js';
import type { Application, Operator } from './operator.js';

function divisionByZero(application: Application): AssayError {
  return new AssayError(
    'ONNX_INPUT_INVALID',
    `Node ${JSON.stringify(application.node.name)} (${application.node.op}) divides an integer by zero.`,
    {
      mend: 'Check the divisor that reaches this node; ONNX gives no meaning to an integer division by zero.',
      meta: { node: application.node.name },
    },
  );
}

/** Truncates, as onnxruntime and C do; numpy would floor. */
const DIV = binary('Div', 7, (application) => ({
  real: (a, b) => a / b,
  integer: (a, b) => {
    if (b === 0) throw divisionByZero(application);
    return Math.trunc(a / b); // exact: both below 2^32
  },
  big: (a, b) => {
    if (b === 0n) throw divisionByZero(application);
    return a / b;
  },
}));

/** fmod = 0: the sign of the divisor (Python); fmod = 1: the sign of the dividend (C). */
const MOD = binary('Mod', 10, (application) => {
  const c = application.number('fmod', 0) === 1;
  if (!c && isFloat(application.input(0).type)) throw application.invalid('has float operands without fmod = 1');
  const floored = (a: number, b: number): number => {
    const rest = a % b;
    return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
  };
  return {
    real: (a, b) => a % b,
    integer: (a, b) => {
      if (b === 0) throw divisionByZero(application);
      return c ? a % b : floored(a, b);
    },
    big: (a, b) => {
      if (b === 0n) throw divisionByZero(application);
      const rest = a % b;
      return !c && rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
    },
  };
});

/** Base and exponent may be of different types; the result has the base's. */
const POW: Operator = {
  op: 'Pow',
  sinceOpset: 7,
  infer: (application) => {
    const base = application.input(0);
    const exponent = application.input(1);
    requireNumeric(application, base.type, true);
    requireNumeric(application, exponent.type, true);
    return [{ type: base.type, shape: broadcastShapes(application, [base.shape, exponent.shape]) }];
  },
  evaluate: (application) => {
    const base = application.tensor(0);
    const exponent = application.tensor(1);
    const shape = broadcastShapes(application, [base.shape, exponent.shape]);
    const ia = broadcastIndices(base.shape, shape);
    const ib = broadcastIndices(exponent.shape, shape);
    if (is64BitInteger(base.type) && is64BitInteger(exponent.type)) {
      const data =
        is64BitInteger(base.type) && base.type === 'int64'
          ? new BigInt64Array(sizeOf(shape))
          : new BigUint64Array(sizeOf(shape));
      const left = base.data as BigInt64Array;
      const right = exponent.data as BigInt64Array;
      for (let i = 0; i < data.length; i++)
        data[i] = bigPower(left[ia === null ? i : ia[i]!]!, right[ib === null ? i : ib[i]!]!);
      return [{ type: base.type, shape, data } as Tensor];
    }
    const left = float64sOf(base);
    const right = float64sOf(exponent);
    const values = new Float64Array(sizeOf(shape));
    for (let i = 0; i < values.length; i++)
      values[i] = left[ia === null ? i : ia[i]!]! ** right[ib === null ? i : ib[i]!]!;
    return [tensorFromNumbers(base.type, shape, values)];
  },
};

/** a^b modulo 2^64 by squaring; a negative exponent truncates the fraction. */
function bigPower(base: bigint, exponent: bigint): bigint {
  if (exponent < 0n) return base === 1n ? 1n : base === -1n ? (exponent % 2n === 0n ? 1n : -1n) : 0n;
  let result = 1n;
  let square = base;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = BigInt.asIntN(64, result * square);
    square = BigInt.asIntN(64, square * square);
  }
  return result;
}

const bigMax = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const bigMin = (a: bigint, b: bigint): bigint => (a < b ? a : b);

export const ARITHMETIC: readonly Operator[] = [
  binary('Add', 7, () => ({ real: (a, b) => a + b, big: (a, b) => a + b })),
  binary('Sub', 7, () => ({ real: (a, b) => a - b, big: (a, b) => a - b })),
  // A product of 32-bit integers exceeds float64; imul keeps its low 32 bits, which is all that is stored.
  binary('Mul', 7, () => ({ real: (a, b) => a * b, integer: Math.imul, big: (a, b) => a * b })),
  DIV,
  MOD,
  POW,
  variadic('Sum', 7, { real: (a, b) => a + b, big: (a, b) => a + b }),
  variadic('Mean', 7, { real: (a, b) => a + b }, (sum, count) => sum / count),
  variadic('Max', 7, { real: Math.max, big: bigMax }),
  variadic('Min', 7, { real: Math.min, big: bigMin }),
  unary('Neg', 7, () => ({ real: (x) => -x, big: (x) => -x })),
  unary('Abs', 7, () => ({ real: Math.abs, big: (x) => (x < 0n ? -x : x) })),
  unary('Sign', 9, () => ({ real: Math.sign, big: (x) => (x > 0n ? 1n : x < 0n ? -1n : 0n) })),
  unary('Floor', 7, () => ({ real: Math.floor })),
  unary('Ceil', 7, () => ({ real: Math.ceil })),
  unary('Round', 11, () => ({ real: roundHalfEven })),
  unary('Reciprocal', 7, () => ({ real: (x) => 1 / x })),
  unary('Sqrt', 7, () => ({ real: Math.sqrt })),
  unary('Exp', 7, () => ({ real: Math.exp })),
  unary('Log', 7, () => ({ real: Math.log })),
  unary('Sin', 7, () => ({ real: Math.sin })),
  unary('Cos', 7, () => ({ real: Math.cos })),
];
