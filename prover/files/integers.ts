/**
 * Public integers in a file: uint32 count | uint8 form | elements, big endian. Forms in this order: uint8, int8, uint16,
 * int16, int32; the first that holds every element is the only one that is read.
 */
import type { ByteReader, ByteWriter } from './bytes.js';

interface Form {
  readonly bytes: 1 | 2 | 4;
  readonly lo: number;
  readonly hi: number;
}

const FORMS: readonly Form[] = [
  { bytes: 1, lo: 0, hi: 2 ** 8 - 1 },
  { bytes: 1, lo: -(2 ** 7), hi: 2 ** 7 - 1 },
  { bytes: 2, lo: 0, hi: 2 ** 16 - 1 },
  { bytes: 2, lo: -(2 ** 15), hi: 2 ** 15 - 1 },
  { bytes: 4, lo: -(2 ** 31), hi: 2 ** 31 - 1 },
];

const formOf = (values: Int32Array): number => FORMS.findIndex(({ lo, hi }) => values.every((v) => v >= lo && v <= hi));

export function writeIntegers(out: ByteWriter, values: Int32Array): void {
  const code = formOf(values);
  const { bytes: width, lo } = FORMS[code]!;
  const bytes = new Uint8Array(values.length * width);
  const view = new DataView(bytes.buffer);
  values.forEach((v, i) => {
    const bits = lo < 0 && v < 0 ? v + 2 ** (8 * width) : v;
    if (width === 1) view.setUint8(i, bits);
    else if (width === 2) view.setUint16(2 * i, bits);
    else view.setUint32(4 * i, bits);
  });
  out.u32(values.length).u8(code).raw(bytes);
}

/** Throws what the reader's `refuse` makes: cut off, an unknown form, or one that is wider than needed. */
export function readIntegers(input: ByteReader, what: string): Int32Array {
  const count = input.u32(`the length of ${what}`);
  const code = input.u8(`the form of ${what}`);
  const form = FORMS[code];
  if (!form) throw input.refuse(`${what} has the unknown form ${code}`);
  const { bytes: width, lo } = form;
  const bytes = input.raw(count * width, what);
  const view = new DataView(bytes.buffer);
  const values = Int32Array.from({ length: count }, (_, i) => {
    if (width === 1) return lo < 0 ? view.getInt8(i) : view.getUint8(i);
    if (width === 2) return lo < 0 ? view.getInt16(2 * i) : view.getUint16(2 * i);
    return view.getInt32(4 * i);
  });
  if (formOf(values) !== code) throw input.refuse(`${what} is not in its shortest form`);
  return values;
}
