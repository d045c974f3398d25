/** Builders of elementwise operators: one function per element, broadcast over the operands. */
import { sizeOf } from '../../tensor.js';
import type { ElementType, Tensor } from '../../tensor.js';
import { is64BitInteger, isFloat, numbersOf, tensorFromNumbers } from '../numbers.js';
import { newArray } from '../tensor-proto.js';
import { broadcastIndices, broadcastShapes } from './indexing.js';
import type { Application, Facts, Operator } from './operator.js';

/** The meaning of a function of n numbers on the element types. */
export interface Scalar<Args extends unknown[], BigArgs extends unknown[]> {
  /** On floats. */
  readonly real: (...args: Args) => number;
  /** On integers of at most 32 bits, before wrapping; `real` where absent. */
  readonly integer?: (...args: Args) => number;
  /** On int64 and uint64, before wrapping; the operator refuses them where absent. */
  readonly big?: (...args: BigArgs) => bigint;
}

export type UnaryScalar = Scalar<[x: number], [x: bigint]>;
export type BinaryScalar = Scalar<[a: number, b: number], [a: bigint, b: bigint]>;

/** y = f(x). The function may depend on the node's attributes. */
export function unary(op: string, sinceOpset: number, scalarOf: (application: Application) => UnaryScalar): Operator {
  return {
    op,
    sinceOpset,
    infer: (application) => {
      const { type, shape } = application.input(0);
      requireNumeric(application, type, scalarOf(application).big !== undefined);
      return [{ type, shape }];
    },
    evaluate: (application) => [mapUnary(application.tensor(0), scalarOf(application))],
  };
}

/** f of every element, in the tensor's own type. */
export function mapUnary(x: Tensor, scalar: UnaryScalar): Tensor {
  if (is64BitInteger(x.type)) {
    const source = x.data as BigInt64Array;
    const data = newArray(x.type as 'int64', source.length);
    for (let i = 0; i < source.length; i++) data[i] = scalar.big!(source[i]!);
    return { type: x.type, shape: x.shape, data };
  }
  const source = numbersOf(x);
  const f = isFloat(x.type) ? scalar.real : (scalar.integer ?? scalar.real);
  const values = new Float64Array(source.length);
  for (let i = 0; i < values.length; i++) values[i] = f(source[i]!);
  return tensorFromNumbers(x.type, x.shape, values);
}

/** y = f(a, b) with broadcasting, both of one type. */
export function binary(op: string, sinceOpset: number, scalarOf: (application: Application) => BinaryScalar): Operator {
  return {
    op,
    sinceOpset,
    infer: (application) => {
      const type = commonType(application, [application.input(0), application.input(1)]);
      requireNumeric(application, type, scalarOf(application).big !== undefined);
      return [{ type, shape: broadcastShapes(application, [application.input(0).shape, application.input(1).shape]) }];
    },
    evaluate: (application) => {
      const a = application.tensor(0);
      const b = application.tensor(1);
      return [mapBinary(a, b, broadcastShapes(application, [a.shape, b.shape]), scalarOf(application))];
    },
  };
}

/** f of every pair of elements, both broadcast to `shape`, in the type of `a`. */
export function mapBinary(a: Tensor, b: Tensor, shape: readonly number[], scalar: BinaryScalar): Tensor {
  const ia = broadcastIndices(a.shape, shape);
  const ib = broadcastIndices(b.shape, shape);
  const size = sizeOf(shape);
  if (is64BitInteger(a.type)) {
    const left = a.data as BigInt64Array;
    const right = b.data as BigInt64Array;
    const data = newArray(a.type as 'int64', size);
    for (let i = 0; i < size; i++) {
      data[i] = scalar.big!(left[ia === null ? i : ia[i]!]!, right[ib === null ? i : ib[i]!]!);
    }
    return { type: a.type, shape, data };
  }
  const left = numbersOf(a);
  const right = numbersOf(b);
  const f = isFloat(a.type) ? scalar.real : (scalar.integer ?? scalar.real);
  const values = new Float64Array(size);
  for (let i = 0; i < size; i++) {
    values[i] = f(left[ia === null ? i : ia[i]!]!, right[ib === null ? i : ib[i]!]!);
  }
  return tensorFromNumbers(a.type, shape, values);
}

/** Folds any number of operands from the left in float64 or bigint, then finishes (a mean divides). */
export function variadic(
  op: string,
  sinceOpset: number,
  scalar: BinaryScalar,
  finish: (value: number, count: number) => number = (value) => value,
): Operator {
  return {
    op,
    sinceOpset,
    infer: (application) => {
      const inputs = application.inputs();
      const type = commonType(application, inputs);
      requireNumeric(application, type, scalar.big !== undefined);
      return [
        {
          type,
          shape: broadcastShapes(
            application,
            inputs.map((input) => input.shape),
          ),
        },
      ];
    },
    evaluate: (application) => {
      const tensors = application.inputs().map((_, index) => application.tensor(index));
      const shape = broadcastShapes(
        application,
        tensors.map((tensor) => tensor.shape),
      );
      const type = tensors[0]!.type;
      if (is64BitInteger(type)) {
        const first = { ...tensors[0]! };
        const folded = tensors.slice(1).reduce<Tensor>((left, right) => {
          return mapBinary(left, right, broadcastShapes(application, [left.shape, right.shape]), scalar);
        }, first);
        return [{ ...folded, shape }];
      }
      // In float64 throughout: a sum of float32 is rounded once.
      const values = new Float64Array(sizeOf(shape));
      tensors.forEach((tensor, position) => {
        const source = numbersOf(tensor);
        const indices = broadcastIndices(tensor.shape, shape);
        for (let i = 0; i < values.length; i++) {
          const value = source[indices === null ? i : indices[i]!]!;
          values[i] = position === 0 ? value : scalar.real(values[i]!, value);
        }
      });
      for (let i = 0; i < values.length; i++) values[i] = finish(values[i]!, tensors.length);
      return [tensorFromNumbers(type, shape, values)];
    },
  };
}

/** A comparison or a logical operator: bool from two operands of one type. */
export function predicate(
  op: string,
  sinceOpset: number,
  holds: (a: number | bigint | string, b: number | bigint | string) => boolean,
): Operator {
  return {
    op,
    sinceOpset,
    infer: (application) => {
      const inputs = [application.input(0), application.input(1)];
      commonType(application, inputs);
      return [
        {
          type: 'bool',
          shape: broadcastShapes(
            application,
            inputs.map((input) => input.shape),
          ),
        },
      ];
    },
    evaluate: (application) => {
      const a = application.tensor(0);
      const b = application.tensor(1);
      const shape = broadcastShapes(application, [a.shape, b.shape]);
      const ia = broadcastIndices(a.shape, shape);
      const ib = broadcastIndices(b.shape, shape);
      const left = comparable(a);
      const right = comparable(b);
      const data = new Uint8Array(sizeOf(shape));
      for (let i = 0; i < data.length; i++) {
        data[i] = holds(left[ia === null ? i : ia[i]!]!, right[ib === null ? i : ib[i]!]!) ? 1 : 0;
      }
      return [{ type: 'bool', shape, data }];
    },
  };
}

function comparable(tensor: Tensor): ArrayLike<number | bigint | string> {
  if (tensor.type === 'string' || is64BitInteger(tensor.type)) return tensor.data;
  return numbersOf(tensor);
}

/** @throws ONNX_INVALID where the operands' types differ. */
export function commonType(application: Application, operands: readonly Facts[]): ElementType {
  const type = operands[0]!.type;
  for (const operand of operands) {
    if (operand.type !== type) throw application.invalid(`mixes operands of ${type} and ${operand.type}`);
  }
  return type;
}

/** @throws ONNX_NODE_UNSUPPORTED where the operator does not compute on the type. */
export function requireNumeric(application: Application, type: ElementType, wide: boolean): void {
  if (type === 'string' || type === 'bool' || (is64BitInteger(type) && !wide)) {
    throw application.unsupported(`it computes on ${type}`, 'Cast its operands to float32 before the export.');
  }
}
