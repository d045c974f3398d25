/**
 * Integer tensors as bytes: "ASV1", uint32 count, then for each array uint32 length and its int32 values; all
 * little-endian.
 */
import { AssayError } from '../../common/errors.js';

const MAGIC = 0x31565341; // "ASV1" read as little-endian

export function encodeValues(values: readonly Int32Array[]): Uint8Array {
  const bytes = new Uint8Array(8 + values.reduce((sum, array) => sum + 4 + 4 * array.length, 0));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, values.length, true);
  let at = 8;
  for (const array of values) {
    view.setUint32(at, array.length, true);
    at += 4;
    for (const value of array) {
      view.setInt32(at, value, true);
      at += 4;
    }
  }
  return bytes;
}

/** @throws AssayError STORE_CORRUPT when the bytes are not exactly one such file. */
export function decodeValues(bytes: Uint8Array, fileName: string): Int32Array[] {
  const corrupt = (what: string) =>
    new AssayError('STORE_CORRUPT', `${fileName}: ${what}.`, { meta: { file: fileName } });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 8 || view.getUint32(0, true) !== MAGIC)
    throw corrupt('expected a file of integer tensors (ASV1), found other bytes');
  const values: Int32Array[] = [];
  let at = 8;
  for (let count = view.getUint32(4, true); count > 0; count--) {
    if (at + 4 > bytes.length) throw corrupt('it ends inside a length');
    const length = view.getUint32(at, true);
    at += 4;
    if (at + 4 * length > bytes.length) throw corrupt('it ends inside a tensor');
    values.push(Int32Array.from({ length }, (_, i) => view.getInt32(at + 4 * i, true)));
    at += 4 * length;
  }
  if (at !== bytes.length) throw corrupt(`${bytes.length - at} bytes follow the last tensor`);
  return values;
}
