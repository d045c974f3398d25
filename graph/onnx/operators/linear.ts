/** Matrix products: Gemm, MatMul, MatMulInteger. */
import { sizeOf } from '../../tensor.js';
import type { Tensor } from '../../tensor.js';
import { float64sOf, numbersOf, tensorFromNumbers } from '../numbers.js';
import { commonType, requireNumeric } from './elementwise.js';
import { broadcastIndices, broadcastShapes, stridedIndices, take } from './indexing.js';
import type { Application, Operator } from './operator.js';

/** A product as a batch of matrices: for every batch index, a [m, k] at offset times b [k, n] at offset. */
export interface MatMulPlan {
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly aOffsets: Int32Array;
  readonly bOffsets: Int32Array;
  /** Shape of the result. */
  readonly shape: readonly number[];
}

/** numpy's matmul: vectors are promoted, leading axes broadcast. */
export function planMatMul(application: Application, a: readonly number[], b: readonly number[]): MatMulPlan {
  if (a.length === 0 || b.length === 0) throw application.mismatch('has a scalar operand');
  const left = a.length === 1 ? [1, a[0]!] : a;
  const right = b.length === 1 ? [b[0]!, 1] : b;
  const [m, k] = left.slice(-2) as [number, number];
  const [kRight, n] = right.slice(-2) as [number, number];
  if (k !== kRight) throw application.mismatch(`contracts ${k} columns against ${kRight} rows`);
  const batch = broadcastShapes(application, [left.slice(0, -2), right.slice(0, -2)]);
  const offsets = (shape: readonly number[], matrix: number): Int32Array => {
    const indices =
      broadcastIndices(shape.slice(0, -2), batch) ?? Int32Array.from({ length: sizeOf(batch) }, (_, i) => i);
    return indices.map((index) => index * matrix);
  };
  const shape = [...batch, ...(a.length === 1 ? [] : [m]), ...(b.length === 1 ? [] : [n])];
  return { m, k, n, aOffsets: offsets(left, m * k), bOffsets: offsets(right, k * n), shape };
}

/** The product in float64: one rounding per step of float64, exact for integers while sums stay below 2^53. */
export function multiplyMatrices(plan: MatMulPlan, a: Float64Array, b: Float64Array): Float64Array {
  const { m, k, n, aOffsets, bOffsets } = plan;
  const result = new Float64Array(aOffsets.length * m * n);
  let row = 0;
  for (let batch = 0; batch < aOffsets.length; batch++) {
    const bStart = bOffsets[batch]!;
    let aIndex = aOffsets[batch]!;
    for (let i = 0; i < m; i++, row += n) {
      for (let p = 0; p < k; p++) {
        const factor = a[aIndex++]!;
        let bIndex = bStart + p * n;
        for (let j = 0; j < n; j++) result[row + j]! += factor * b[bIndex++]!;
      }
    }
  }
  return result;
}

/** @throws ONNX_NODE_UNSUPPORTED for the integer types whose products float64 does not hold. */
function requireExactProduct(application: Application, type: Tensor['type']): void {
  requireNumeric(application, type, false);
  if (type === 'int32' || type === 'uint32') {
    throw application.unsupported(
      `it multiplies matrices of ${type}`,
      'Export the model with float32 or with MatMulInteger.',
    );
  }
}

const MATMUL: Operator = {
  op: 'MatMul',
  sinceOpset: 7,
  infer: (application) => {
    const a = application.input(0);
    const b = application.input(1);
    const type = commonType(application, [a, b]);
    requireExactProduct(application, type);
    return [{ type, shape: planMatMul(application, a.shape, b.shape).shape }];
  },
  evaluate: (application) => {
    const a = application.tensor(0);
    const b = application.tensor(1);
    const plan = planMatMul(application, a.shape, b.shape);
    return [tensorFromNumbers(a.type, plan.shape, multiplyMatrices(plan, float64sOf(a), float64sOf(b)))];
  },
};

/** Y = alpha A' B' + beta C, C broadcast to [M, N]; C is optional since opset 11. */
const GEMM: Operator = {
  op: 'Gemm',
  sinceOpset: 7,
  infer: (application) => {
    const a = application.input(0);
    const b = application.input(1);
    const c = application.optional(2);
    const type = commonType(application, c === null ? [a, b] : [a, b, c]);
    requireExactProduct(application, type);
    const [m, k] = matrix(application, a.shape, 'transA');
    const [kRight, n] = matrix(application, b.shape, 'transB');
    if (k !== kRight) throw application.mismatch(`contracts ${k} columns against ${kRight} rows`);
    if (c !== null && broadcastShapes(application, [[m, n], c.shape]).join() !== [m, n].join()) {
      throw application.mismatch(`adds a C that does not broadcast to [${m}, ${n}]`);
    }
    return [{ type, shape: [m, n] }];
  },
  evaluate: (application) => {
    const a = transposed(application.tensor(0), application.number('transA', 0) !== 0);
    const b = transposed(application.tensor(1), application.number('transB', 0) !== 0);
    const plan = planMatMul(application, a.shape, b.shape);
    const values = multiplyMatrices(plan, float64sOf(a), float64sOf(b));
    const alpha = application.number('alpha', 1);
    const beta = application.number('beta', 1);
    const c = application.optional(2) === null ? null : application.tensor(2);
    const cIndices = c === null ? null : broadcastIndices(c.shape, plan.shape);
    const addend = c === null ? null : numbersOf(c);
    for (let i = 0; i < values.length; i++) {
      values[i] = alpha * values[i]! + (addend === null ? 0 : beta * addend[cIndices === null ? i : cIndices[i]!]!);
    }
    return [tensorFromNumbers(a.type, plan.shape, values)];
  },
};

function matrix(application: Application, shape: readonly number[], transpose: string): [number, number] {
  if (shape.length !== 2) throw application.mismatch('has an operand that is no matrix');
  const [rows, columns] = shape as [number, number];
  return application.number(transpose, 0) === 0 ? [rows, columns] : [columns, rows];
}

function transposed(tensor: Tensor, yes: boolean): Tensor {
  if (!yes) return tensor;
  const [rows, columns] = tensor.shape as [number, number];
  return take(tensor, stridedIndices([columns, rows], [1, columns], 0), [columns, rows]);
}

/** int32 product of 8-bit matrices minus their zero points (per tensor, or per row of A and column of B). */
const MATMUL_INTEGER: Operator = {
  op: 'MatMulInteger',
  sinceOpset: 10,
  infer: (application) => {
    const a = application.input(0);
    const b = application.input(1);
    for (const operand of [a, b]) {
      if (operand.type !== 'int8' && operand.type !== 'uint8') {
        throw application.invalid(`has an operand of ${operand.type}; expected int8 or uint8`);
      }
    }
    application.requireTypes([2], [a.type]);
    application.requireTypes([3], [b.type]);
    return [{ type: 'int32', shape: planMatMul(application, a.shape, b.shape).shape }];
  },
  evaluate: (application) => {
    const a = application.tensor(0);
    const b = application.tensor(1);
    const plan = planMatMul(application, a.shape, b.shape);
    const zeroPoint = (index: number): Tensor | null =>
      application.optional(index) === null ? null : application.tensor(index);
    const values = multiplyMatrices(
      plan,
      withoutZeroPoint(application, a, zeroPoint(2), 'row'),
      withoutZeroPoint(application, b, zeroPoint(3), 'column'),
    );
    return [tensorFromNumbers('int32', plan.shape, values)];
  },
};

/**
 * The elements of a matrix operand minus its zero point: a scalar, or one number for each row (of A) or column
 * (of B), with the leading axes of the operand or without.
 */
export function withoutZeroPoint(
  application: Application,
  x: Tensor,
  zeroPoint: Tensor | null,
  per: 'row' | 'column',
): Float64Array {
  const values = new Float64Array(numbersOf(x));
  if (zeroPoint === null) return values;
  const zeros = numbersOf(zeroPoint);
  if (zeros.length === 1) return values.map((value) => value - zeros[0]!);
  const columns = x.shape.length === 1 && per === 'column' ? 1 : x.shape[x.shape.length - 1]!;
  const rows = x.shape.length === 1 ? x.shape[0]! / columns : x.shape[x.shape.length - 2]!;
  const count = per === 'row' ? rows : columns;
  const matrices = values.length / (rows * columns);
  if (zeros.length !== count && zeros.length !== count * matrices) {
    throw application.mismatch(`has ${zeros.length} zero points for ${count} ${per}s`);
  }
  for (let i = 0; i < values.length; i++) {
    const own = per === 'row' ? Math.floor(i / columns) % rows : i % columns;
    const lead = zeros.length === count ? 0 : Math.floor(i / (rows * columns)) * count;
    values[i]! -= zeros[lead + own]!;
  }
  return values;
}

export const LINEAR: readonly Operator[] = [GEMM, MATMUL, MATMUL_INTEGER];
