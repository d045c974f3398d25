/**
 * Bytes under hashes. All integers are big-endian; counts and indices are uint32.
 *
 * Element encoding, from the declared range lo..hi of a tensor:
 *   - signed if lo < 0, else unsigned;
 *   - width: the smallest of 1, 2 and 4 bytes that holds every integer of lo..hi in that signedness
 *     (0..255 -> 1, -128..127 -> 1, -1..128 -> 2, 0..65535 -> 2, else 4);
 *   - two's complement, big-endian.
 *
 * Mark of float32: lo = 2^31 - 1, hi = -2^31. A range that ends before it begins is none that integers have, so that
 * neither kind of tensor is ever read as the other; any other such range is none at all. An element is its four bytes as
 * IEEE 754 binary32, big-endian, NaNs with their payload. Where elements are handed around as integers they are these
 * bits. Whoever reads integers compares the range with the one that he expects. On chain: TensorTree.readHeader.
 */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import type { IntRange } from '../integer/types.js';
import { keccak256 } from './keccak.js';

export type ElementWidth = 1 | 2 | 4;

/** The range that says float32. */
export const FLOAT_RANGE: IntRange = { lo: 2 ** 31 - 1, hi: -(2 ** 31) };

/** A tensor can have it, of integers or of float32. Both ends are in int32. */
export const isElementRange = ({ lo, hi }: IntRange): boolean =>
  lo <= hi || (lo === FLOAT_RANGE.lo && hi === FLOAT_RANGE.hi);

export function elementWidth({ lo, hi }: IntRange): ElementWidth {
  if (lo > hi) return 4;
  const fits = (bits: number): boolean => (lo < 0 ? lo >= -(2 ** (bits - 1)) && hi < 2 ** (bits - 1) : hi < 2 ** bits);
  if (fits(8)) return 1;
  return fits(16) ? 2 : 4;
}

/** `values` in the given width; the caller has checked that they fit. */
export function encodeElements(values: ArrayLike<number>, width: ElementWidth): Uint8Array {
  const bytes = new Uint8Array(values.length * width);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < values.length; i++) {
    if (width === 1) bytes[i] = values[i]!;
    else if (width === 2) view.setUint16(2 * i, values[i]!);
    else view.setUint32(4 * i, values[i]!);
  }
  return bytes;
}

export function decodeElements(bytes: Uint8Array, width: ElementWidth, signed: boolean): Int32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = (i: number): number => {
    if (width === 1) return signed ? view.getInt8(i) : view.getUint8(i);
    if (width === 2) return signed ? view.getInt16(2 * i) : view.getUint16(2 * i);
    return view.getInt32(4 * i);
  };
  return Int32Array.from({ length: bytes.length / width }, (_, i) => read(i));
}

/**
 * Writes canonical preimages: fields of fixed width, one after another, in the order of the calls. Two values never give
 * the same bytes, so a value that a field cannot hold is refused instead of cut.
 */
export class Preimage {
  /** 64 bytes lie within the object, and stay there while nobody asks for their buffer; most preimages are hardly longer. */
  private bytes = new Uint8Array(64);
  private length = 0;

  /** @throws AssayError GRAPH_INVALID outside 0..255. */
  u8(value: number): this {
    const at = this.extend(1);
    this.bytes[at] = inRange(value, 0, 2 ** 8 - 1);
    return this;
  }

  /** @throws AssayError GRAPH_INVALID outside 0..2^32-1. */
  u32(value: number): this {
    return this.word(inRange(value, 0, 2 ** 32 - 1));
  }

  /** Two's complement. @throws AssayError GRAPH_INVALID outside -2^31..2^31-1. */
  i32(value: number): this {
    return this.word(inRange(value, -(2 ** 31), 2 ** 31 - 1));
  }

  /** IEEE 754 binary64. */
  f64(value: number): this {
    const at = this.extend(8);
    new DataView(this.bytes.buffer).setFloat64(at, value);
    return this;
  }

  /** Bytes of a length that the reader knows. */
  raw(bytes: Uint8Array): this {
    const at = this.extend(bytes.length);
    this.bytes.set(bytes, at);
    return this;
  }

  /** uint32 count, then each as uint32. */
  u32s(values: readonly number[]): this {
    this.u32(values.length);
    for (const value of values) this.u32(value);
    return this;
  }

  /** uint32 byte length, then UTF-8. @throws AssayError GRAPH_INVALID for lone surrogates, which UTF-8 cannot hold. */
  text(text: string): this {
    if (!isWellFormed(text))
      throw new AssayError('GRAPH_INVALID', `${JSON.stringify(text)} holds half of a surrogate pair and is no text`);
    const bytes = new TextEncoder().encode(text);
    return this.u32(bytes.length).raw(bytes);
  }

  /** A copy of what was written. */
  done(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }

  hash(): Uint8Array {
    return keccak256(this.bytes, this.length);
  }

  private word(value: number): this {
    const at = this.extend(4);
    this.bytes[at] = value >>> 24;
    this.bytes[at + 1] = value >>> 16;
    this.bytes[at + 2] = value >>> 8;
    this.bytes[at + 3] = value;
    return this;
  }

  /** Makes room for `count` bytes; returns where they start. */
  private extend(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.length, 2 * this.bytes.length));
      larger.set(this.bytes.subarray(0, at));
      this.bytes = larger;
    }
    return at;
  }
}

function inRange(value: number, lo: number, hi: number): number {
  if (!Number.isInteger(value) || value < lo || value > hi)
    throw new AssayError(
      'GRAPH_INVALID',
      `a commitment has a field for integers of ${lo}..${hi}, which ${value} is not`,
    );
  return value;
}

/** True where UTF-8 can hold the text: without halves of surrogate pairs, all of which would become one replacement. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

export const toHex = (bytes: Uint8Array): string => `0x${bytesToHex(bytes)}`;

/** Bytes of a 0x-hex string of `length` bytes, or null where it is not one. */
export function fromHex(text: unknown, length: number): Uint8Array | null {
  if (typeof text !== 'string' || text.length !== 2 + 2 * length || !/^0x[0-9a-f]*$/.test(text)) return null;
  return hexToBytes(text.slice(2));
}
