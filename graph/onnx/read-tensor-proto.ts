import type { Tensor } from '../tensor.js';
import { decodeMessage } from './decode-message.js';
import { TensorProtoType } from './schema.js';
import type { TensorProto } from './schema.js';
import { decodeTensor } from './tensor-proto.js';

/**
 * A tensor from the bytes of a serialized TensorProto (a `.pb` file of the ONNX tests).
 * @throws ONNX_NOT_A_MODEL, ONNX_TRUNCATED, ONNX_TYPE_UNSUPPORTED, ONNX_EXTERNAL_DATA, ONNX_INVALID.
 */
export function readTensorProto(bytes: Uint8Array, fileName: string): Tensor {
  return decodeTensor(decodeMessage(TensorProtoType, bytes, fileName) as unknown as TensorProto, fileName);
}
