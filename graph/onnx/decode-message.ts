/** The outermost step of reading: bytes to a protobuf message, and what a wrong file is instead. */
import type { Message, Type } from 'protobufjs/light.js';
import { AssayError } from '../../common/errors.js';

/** First bytes of files that people hand in by mistake. */
const SIGNATURES: readonly (readonly [string, readonly number[]])[] = [
  ['a JPEG image', [0xff, 0xd8, 0xff]],
  ['a PNG image', [0x89, 0x50, 0x4e, 0x47]],
  ['a GIF image', [0x47, 0x49, 0x46, 0x38]],
  ['a PDF document', [0x25, 0x50, 0x44, 0x46]],
  ['a zip archive (.npz, .pt and .zip are such)', [0x50, 0x4b, 0x03, 0x04]],
  ['a gzip archive', [0x1f, 0x8b]],
  ['an HDF5 file (.h5 of Keras)', [0x89, 0x48, 0x44, 0x46]],
  ['a NumPy array (.npy)', [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]],
  ['a Python pickle', [0x80, 0x02]],
  ['a Python pickle', [0x80, 0x04]],
  ['a TensorFlow Lite model', [0x1c, 0x00, 0x00, 0x00, 0x54, 0x46, 0x4c, 0x33]],
  ['an Assay bundle', [0x41, 0x53, 0x53, 0x41, 0x59]],
];

/**
 * @throws ONNX_NOT_A_MODEL where the bytes are of another kind of file; ONNX_TRUNCATED where they begin like
 * protobuf and break off.
 */
export function decodeMessage(type: Type, bytes: Uint8Array, fileName: string): Message {
  const kind = kindOf(bytes);
  if (kind !== null) {
    throw new AssayError('ONNX_NOT_A_MODEL', `${fileName} is ${kind}; expected an ONNX file.`, {
      meta: { file: fileName },
    });
  }
  try {
    return type.decode(bytes);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AssayError(
      'ONNX_TRUNCATED',
      `${fileName} (${bytes.length} bytes) cannot be decoded as ONNX: it ends in the middle, is damaged, or is another kind of file (${reason}).`,
      { cause, meta: { file: fileName, sizeBytes: bytes.length } },
    );
  }
}

/** What the bytes evidently are, if not protobuf. */
function kindOf(bytes: Uint8Array): string | null {
  if (bytes.length === 0) return 'empty';
  for (const [kind, signature] of SIGNATURES) {
    if (signature.every((byte, index) => bytes[index] === byte)) return kind;
  }
  const head = bytes.subarray(0, 256);
  // ONNX begins with a field key below 0x20 (ir_version 0x08, name 0x42 only after it), text does not.
  const isText = head.every((byte) => byte === 9 || byte === 10 || byte === 13 || (byte >= 32 && byte !== 127));
  return isText ? `text (it begins ${JSON.stringify(new TextDecoder().decode(head.subarray(0, 24)))})` : null;
}
