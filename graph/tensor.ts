/**
 * Dense tensors as they travel between ONNX files, engines and the integer graph.
 * Data is row-major: the last axis varies fastest.
 */

export type ElementType =
  | 'float32'
  | 'float64'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'bool'
  | 'float16'
  | 'bfloat16'
  | 'string';

/** The JavaScript array that holds each element type. `bool` is one byte, 0 or 1; float16 and bfloat16 hold raw bits. */
export interface TensorArrays {
  float32: Float32Array;
  float64: Float64Array;
  int8: Int8Array;
  uint8: Uint8Array;
  int16: Int16Array;
  uint16: Uint16Array;
  int32: Int32Array;
  uint32: Uint32Array;
  int64: BigInt64Array;
  uint64: BigUint64Array;
  bool: Uint8Array;
  float16: Uint16Array;
  bfloat16: Uint16Array;
  string: string[];
}

export interface Tensor<T extends ElementType = ElementType> {
  readonly type: T;
  readonly shape: readonly number[];
  readonly data: TensorArrays[T];
}

/** Number of elements of a shape; 1 for a scalar. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, side) => product * side, 1);
}

/** Row-major strides of a shape, in elements. */
export function stridesOf(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= shape[axis]!;
  }
  return strides;
}
