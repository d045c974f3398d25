/**
 * Reads the powers of tau from a ceremony file of snarkjs (`.ptau`, prepared for phase 2 or not).
 *
 * Layout, all integers little endian: "ptau" | version 1 (4 bytes) | sections (4) | per section: type (4), length (8),
 * content. Section 1: bytes per coordinate (4), q, power k (4), power of the ceremony (4). Section 2: 2^(k+1) - 1
 * points tau^i G1. Section 3: 2^k points tau^i H. A coordinate is stored as c * 2^256 mod q (Montgomery form), little
 * endian, in 32 bytes; a point of G2 as x.c0, x.c1, y.c0, y.c1. The other sections are of no use here.
 * Only the points that are wanted are read, after the hash of the whole file has been compared.
 */
import { AssayError } from '../../common/errors.js';
import { G1_BYTES, writeUint256 } from '../curve/g1.js';
import { encodeG2, G2_BYTES, G2_GENERATOR } from '../curve/g2.js';
import { FQ_MODULUS } from '../field/bn254.params.js';
import { checkPowers, type MultiScalarMultiplication } from './check-powers.js';
import { checkFileHash, type FilePin } from './file-hash.js';
import { readInside, type RandomAccess } from './random-access.js';
import type { Srs } from './srs.js';

const COORDINATE_BYTES = 32;
/** Sections 1 to 7, 12 to 15 and room for what later versions add. */
const MAX_SECTIONS = 64;
const CHUNK_POINTS = 1 << 14;

/** 2^-256 mod q, by Fermat. */
const MONTGOMERY_INVERSE = (() => {
  let [result, base] = [1n, 2n ** 256n % FQ_MODULUS];
  for (let e = FQ_MODULUS - 2n; e > 0n; e >>= 1n, base = (base * base) % FQ_MODULUS)
    if (e & 1n) result = (result * base) % FQ_MODULUS;
  return result;
})();

interface Section {
  readonly offset: number;
  readonly length: number;
}

export interface ReadPtauOptions {
  /** Number of points wanted, at least 2. */
  readonly size: number;
  readonly pin: FilePin;
  readonly msm: MultiScalarMultiplication;
  /** Told what is under way and how much of it is done. */
  readonly onProgress?: (step: 'hash' | 'read', done: number, total: number) => void;
}

/**
 * A checked SRS from a ceremony file.
 * @throws AssayError SRS_INVALID (another hash, not a ptau file of BN254, damaged, not the powers of one tau) or
 * SRS_TOO_SMALL.
 */
export async function readPtau(file: RandomAccess, { size, pin, msm, onProgress }: ReadPtauOptions): Promise<Srs> {
  await checkFileHash(file, pin, (done) => onProgress?.('hash', done, file.sizeBytes));
  const sections = await readSections(file);
  await checkHeader(file, sections);
  const tauG1 = sectionOf(file, sections, 2);
  const tauG2 = sectionOf(file, sections, 3);
  const available = Math.floor(tauG1.length / G1_BYTES);
  if (size > available)
    throw new AssayError('SRS_TOO_SMALL', `${file.name}: holds ${available} powers of tau, ${size} are wanted`);

  const points = new Uint8Array(size * G1_BYTES);
  for (let from = 0; from < size; from += CHUNK_POINTS) {
    const count = Math.min(CHUNK_POINTS, size - from);
    const stored = await readInside(file, tauG1.offset + from * G1_BYTES, count * G1_BYTES);
    for (let at = 0; at < stored.length; at += COORDINATE_BYTES)
      writeUint256(points, from * G1_BYTES + at, coordinate(stored, at, file.name));
    onProgress?.('read', from + count, size);
  }

  const storedG2 = await readInside(file, tauG2.offset, 2 * G2_BYTES);
  const h = g2FromStored(storedG2.subarray(0, G2_BYTES), file.name);
  if (!encodeG2(G2_GENERATOR).every((byte, i) => byte === h[i]))
    throw new AssayError('SRS_INVALID', `${file.name}: the first point of G2 is not the generator`);
  const srs = {
    tauG1: points.slice(G1_BYTES, 2 * G1_BYTES),
    tauG2: g2FromStored(storedG2.subarray(G2_BYTES), file.name),
    points,
  };
  checkPowers(srs, msm);
  return srs;
}

async function readSections(file: RandomAccess): Promise<Map<number, Section>> {
  const head = viewOf(await readInside(file, 0, 12));
  if (head.getUint32(0) !== 0x70746175 || head.getUint32(4, true) !== 1)
    throw new AssayError('SRS_INVALID', `${file.name}: expected "ptau" and version 1 at its start`);
  const count = head.getUint32(8, true);
  if (count > MAX_SECTIONS)
    throw new AssayError('SRS_INVALID', `${file.name}: expected at most ${MAX_SECTIONS} sections, found ${count}`);
  const sections = new Map<number, Section>();
  let at = 12;
  for (let i = 0; i < count; i++) {
    const header = viewOf(await readInside(file, at, 12));
    const type = header.getUint32(0, true);
    const length = Number(header.getBigUint64(4, true));
    if (sections.has(type)) throw new AssayError('SRS_INVALID', `${file.name}: has section ${type} twice`);
    if (at + 12 + length > file.sizeBytes)
      throw new AssayError('SRS_INVALID', `${file.name}: section ${type} ends after the file; the copy is truncated`);
    sections.set(type, { offset: at + 12, length });
    at += 12 + length;
  }
  return sections;
}

function sectionOf(file: RandomAccess, sections: ReadonlyMap<number, Section>, type: number): Section {
  const section = sections.get(type);
  if (section === undefined) throw new AssayError('SRS_INVALID', `${file.name}: has no section ${type}`);
  return section;
}

/** The curve, and that the sections of points have the length that the power says. */
async function checkHeader(file: RandomAccess, sections: ReadonlyMap<number, Section>): Promise<void> {
  const { offset, length } = sectionOf(file, sections, 1);
  const header = await readInside(file, offset, length);
  if (length !== 12 + COORDINATE_BYTES || viewOf(header).getUint32(0, true) !== COORDINATE_BYTES)
    throw new AssayError('SRS_INVALID', `${file.name}: expected a header with coordinates of 32 bytes`);
  if (littleEndian(header, 4) !== FQ_MODULUS)
    throw new AssayError('SRS_INVALID', `${file.name}: is for another curve than BN254`);
  const power = viewOf(header).getUint32(4 + COORDINATE_BYTES, true);
  const expected = { 2: (2 ** (power + 1) - 1) * G1_BYTES, 3: 2 ** power * G2_BYTES };
  for (const [type, bytes] of Object.entries(expected)) {
    const found = sectionOf(file, sections, Number(type)).length;
    if (power < 1 || found !== bytes)
      throw new AssayError(
        'SRS_INVALID',
        `${file.name}: section ${type} has ${found} bytes, power ${power} needs ${bytes}`,
      );
  }
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function littleEndian(bytes: Uint8Array, offset: number): bigint {
  const view = viewOf(bytes);
  let value = 0n;
  for (let word = 3; word >= 0; word--) value = (value << 64n) | view.getBigUint64(offset + 8 * word, true);
  return value;
}

/** Out of Montgomery form. */
function coordinate(stored: Uint8Array, offset: number, name: string): bigint {
  const value = littleEndian(stored, offset);
  if (value >= FQ_MODULUS) throw new AssayError('SRS_INVALID', `${name}: a coordinate is not below q`);
  return (value * MONTGOMERY_INVERSE) % FQ_MODULUS;
}

/** Into the encoding of g2.ts. */
function g2FromStored(stored: Uint8Array, name: string): Uint8Array {
  const encoded = new Uint8Array(G2_BYTES);
  [1, 0, 3, 2].forEach((from, to) =>
    writeUint256(encoded, to * COORDINATE_BYTES, coordinate(stored, from * COORDINATE_BYTES, name)),
  );
  return encoded;
}
