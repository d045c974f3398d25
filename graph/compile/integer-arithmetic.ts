/** ONNX arithmetic on integer types wraps around and truncates; the integer graph computes with real quantities. */
import type { OnnxNode, PreparedModel } from '../onnx/model.js';
import type { Problem } from './refusal.js';

/** Results are truncated where operands are integers. */
const TRUNCATING = new Set(['Div', 'Pow', 'Mean', 'ReduceMean', 'AveragePool', 'GlobalAveragePool']);
/** Results wrap around; with 32 or 64 bits they cannot here, since every accumulator is proved below 2^31. */
const WRAPPING = new Set(['Add', 'Sub', 'Mul', 'Sum', 'Neg', 'Abs', 'ReduceSum', 'MatMul', 'Gemm']);
const NARROW = new Set(['int8', 'uint8', 'int16', 'uint16']);
const WIDE = new Set(['int32', 'uint32', 'int64', 'uint64']);

export function checkIntegerArithmetic(node: OnnxNode, model: PreparedModel): Problem {
  const { type } = model.values.get(node.inputs[0] ?? '') ?? { type: 'float32' };
  if (TRUNCATING.has(node.op) && (NARROW.has(type) || WIDE.has(type)))
    return { reason: `it computes with ${type}, where ONNX truncates`, mend: 'Cast to float32 before it.' };
  if (WRAPPING.has(node.op) && NARROW.has(type))
    return { reason: `it computes with ${type}, where ONNX wraps around`, mend: 'Cast to float32 or int32 before it.' };
  return null;
}
