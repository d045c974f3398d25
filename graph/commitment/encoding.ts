/**
 * Bytes under hashes. All integers are big-endian; counts and indices are uint32.
 *
 * Element encoding, from the declared range lo..hi of a tensor:
 *   - signed if lo < 0, else unsigned;
 *   - width: the smallest of 1, 2 and 4 bytes that holds every integer of lo..hi in that signedness
 *     (0..255 -> 1, -128..127 -> 1, -1..128 -> 2, 0..65535 -> 2, else 4);
 *   - two's complement, big-endian.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { IntRange } from '../integer/types.js';

export type ElementWidth = 1 | 2 | 4;

export function elementWidth({ lo, hi }: IntRange): ElementWidth {
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

/** Writes canonical preimages: fields of fixed width, one after another, in the order of the calls. */
export class Preimage {
  private readonly bytes: number[] = [];

  u8(value: number): this {
    this.bytes.push(value & 0xff);
    return this;
  }

  u32(value: number): this {
    this.bytes.push((value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);
    return this;
  }

  /** Two's complement. */
  i32(value: number): this {
    return this.u32(value);
  }

  /** IEEE 754 binary64. */
  f64(value: number): this {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value);
    return this.raw(new Uint8Array(view.buffer));
  }

  /** Bytes of a length that the reader knows. */
  raw(bytes: Uint8Array): this {
    for (const byte of bytes) this.bytes.push(byte);
    return this;
  }

  /** uint32 count, then each as uint32. */
  u32s(values: readonly number[]): this {
    this.u32(values.length);
    for (const value of values) this.u32(value);
    return this;
  }

  /** uint32 byte length, then UTF-8. */
  text(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.u32(bytes.length).raw(bytes);
  }

  done(): Uint8Array {
    return Uint8Array.from(this.bytes);
  }

  hash(): Uint8Array {
    return keccak_256(this.done());
  }
}

export const toHex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;

/** Bytes of a 0x-hex string of `length` bytes, or null where it is not one. */
export function fromHex(text: unknown, length: number): Uint8Array | null {
  if (typeof text !== 'string' || text.length !== 2 + 2 * length || !/^0x[0-9a-f]*$/.test(text)) return null;
  return Uint8Array.from(Buffer.from(text.slice(2), 'hex'));
}
