/**
 * Reads NumPy's .npy arrays and .npz archives of them.
 * Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html (versions 1.0 to 3.0).
 */
import { unzipSync } from 'fflate';
import { AssayError } from '../common/errors.js';
import { sizeOf, type ElementType, type Tensor } from '../graph/index.js';

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];

/** NumPy type string (little-endian or byte-sized) to ours. */
const TYPES: Record<string, ElementType> = {
  '<f4': 'float32',
  '<f8': 'float64',
  '|i1': 'int8',
  '|u1': 'uint8',
  '<i2': 'int16',
  '<u2': 'uint16',
  '<i4': 'int32',
  '<u4': 'uint32',
  '<i8': 'int64',
  '<u8': 'uint64',
  '|b1': 'bool',
};

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
} as const;

/** @throws AssayError NUMPY_INVALID naming the file and what is wrong with it. */
export function readNpy(bytes: Uint8Array, fileName: string): Tensor {
  const fail = (what: string) => new AssayError('NUMPY_INVALID', `${fileName}: ${what}`, { meta: { file: fileName } });
  if (bytes.length < 12 || MAGIC.some((byte, i) => bytes[i] !== byte))
    throw fail('is not a .npy array (its magic bytes are missing)');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wide = bytes[6]! >= 2;
  const headerStart = wide ? 12 : 10;
  const dataStart = headerStart + (wide ? view.getUint32(8, true) : view.getUint16(8, true));
  if (dataStart > bytes.length) throw fail('is truncated inside its header');
  const header = new TextDecoder().decode(bytes.subarray(headerStart, dataStart));
  const descr = /'descr':\s*'([^']*)'/.exec(header)?.[1];
  const order = /'fortran_order':\s*(True|False)/.exec(header)?.[1];
  const shapeText = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1];
  if (descr === undefined || order === undefined || shapeText === undefined)
    throw fail(`has an unreadable header: ${header.trim()}`);
  const type = TYPES[descr];
  if (type === undefined)
    throw fail(`holds elements of type ${descr}; expected one of ${Object.keys(TYPES).join(', ')}`);
  if (order === 'True') throw fail('is in Fortran order; save it with numpy.ascontiguousarray');
  const shape = shapeText
    .split(',')
    .map((side) => side.trim())
    .filter((side) => side !== '')
    .map(Number);
  const array = ARRAYS[type as keyof typeof ARRAYS];
  const expectedBytes = sizeOf(shape) * array.BYTES_PER_ELEMENT;
  if (bytes.length - dataStart !== expectedBytes) {
    throw fail(
      `holds ${bytes.length - dataStart} bytes of data; shape [${shape.join(', ')}] of ${type} needs ${expectedBytes}`,
    );
  }
  // Copied, since a typed array must start at a multiple of its element size (Buffer.slice would not copy).
  const data = new array(Uint8Array.from(bytes.subarray(dataStart)).buffer);
  return { type, shape, data } as Tensor;
}

/** @returns the arrays of the archive by name, without `.npy`. */
export function readNpz(bytes: Uint8Array, fileName: string): Map<string, Tensor> {
  let files: Record<string, Uint8Array>;
  try {
    files = unzipSync(bytes);
  } catch (cause) {
    throw new AssayError('NUMPY_INVALID', `${fileName}: is not a .npz archive (${(cause as Error).message})`, {
      cause,
      meta: { file: fileName },
    });
  }
  return new Map(
    Object.entries(files).map(([name, content]) => [
      name.replace(/\.npy$/, ''),
      readNpy(content, `${fileName}/${name}`),
    ]),
  );
}
