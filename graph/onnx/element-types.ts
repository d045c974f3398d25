/** TensorProto.DataType numbers of onnx.proto and what they are called here. */
import { AssayError } from '../../common/errors.js';
import type { ElementType } from '../tensor.js';

/** Element types that Assay holds, by their number in onnx.proto. */
const NUMBER_OF: Readonly<Record<ElementType, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
};

const TYPE_OF: ReadonlyMap<number, ElementType> = new Map(
  Object.entries(NUMBER_OF).map(([type, number]) => [number, type as ElementType]),
);

/** Names of the types that ONNX has and Assay does not hold, for messages. */
const REFUSED: ReadonlyMap<number, string> = new Map([
  [14, 'complex64'],
  [15, 'complex128'],
  [17, 'float8e4m3fn'],
  [18, 'float8e4m3fnuz'],
  [19, 'float8e5m2'],
  [20, 'float8e5m2fnuz'],
  [21, 'uint4'],
  [22, 'int4'],
  [23, 'float4e2m1'],
  [24, 'float8e8m0'],
  [25, 'uint2'],
  [26, 'int2'],
]);

/** The number of an element type in onnx.proto. */
export function dataTypeOf(type: ElementType): number {
  return NUMBER_OF[type];
}

/** The name of a data type number, held or not, for messages. */
export function nameOfDataType(dataType: number): string {
  return TYPE_OF.get(dataType) ?? REFUSED.get(dataType) ?? `data type ${dataType}`;
}

/** The element type of a data type number, or null where Assay does not hold that type. */
export function elementTypeOf(dataType: number): ElementType | null {
  return TYPE_OF.get(dataType) ?? null;
}

/**
 * The element type of a data type number.
 * @param where names the file and the tensor.
 * @throws ONNX_TYPE_UNSUPPORTED where Assay does not hold that type.
 */
export function requireElementType(dataType: number, where: string): ElementType {
  const type = elementTypeOf(dataType);
  if (type !== null) return type;
  throw new AssayError(
    'ONNX_TYPE_UNSUPPORTED',
    `${where} has element type ${nameOfDataType(dataType)}, which Assay does not read.`,
    { meta: { dataType } },
  );
}
