/** Reading and writing of our binary files: big-endian fields one after another, every length exact. */
import { concatBytes } from '@noble/hashes/utils.js';
import type { AssayError } from '../../common/errors.js';

export class ByteWriter {
  private readonly parts: Uint8Array[] = [];

  raw(bytes: Uint8Array): this {
    this.parts.push(bytes);
    return this;
  }

  u8(value: number): this {
    return this.raw(Uint8Array.of(value));
  }

  u16(value: number): this {
    return this.raw(Uint8Array.of(value >> 8, value & 0xff));
  }

  u32(value: number): this {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, value);
    return this.raw(bytes);
  }

  done(): Uint8Array {
    return concatBytes(...this.parts);
  }
}

export class ByteReader {
  private at = 0;
  private readonly bytes: Uint8Array;

  /** @param refuse makes the error to throw where a field does not fit. */
  constructor(
    file: Uint8Array,
    readonly refuse: (message: string) => AssayError,
  ) {
    // A plain view: what Node reads from disk is a Buffer, whose slices share memory.
    this.bytes = new Uint8Array(file.buffer, file.byteOffset, file.length);
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  /** A copy of the next bytes. */
  raw(length: number, what: string): Uint8Array {
    if (length > this.left) throw this.refuse(`ends inside ${what}: ${length} bytes expected, ${this.left} left`);
    return this.bytes.slice(this.at, (this.at += length));
  }

  u8(what: string): number {
    return this.raw(1, what)[0]!;
  }

  u16(what: string): number {
    return new DataView(this.raw(2, what).buffer).getUint16(0);
  }

  u32(what: string): number {
    return new DataView(this.raw(4, what).buffer).getUint32(0);
  }

  /** Eight letters and the version that this release reads. */
  head(magic: string, version: number, kind: string): void {
    const expected = new TextEncoder().encode(magic);
    if (this.left < expected.length || expected.some((byte, i) => byte !== this.bytes[this.at + i]))
      throw this.refuse(`is not ${kind}`);
    this.at += expected.length;
    const found = this.u32('its version');
    if (found !== version) throw this.refuse(`has version ${found}; this release reads version ${version}`);
  }

  end(): void {
    if (this.left > 0) throw this.refuse(`${this.left} bytes follow its end`);
  }
}
