/**
 * Our file of an SRS: only what KZG needs of a ceremony file, about an eighteenth of it.
 *
 *   "assaysrs" | version 1 (uint32) | N (uint32) | tau H (128 bytes) | P_0 .. P_{N-1} (64 each) | sha256 of all before
 *
 * Integers are big endian. The checksum finds damage, not malice: whoever relies on proofs pins the srsId.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { AssayError } from '../../common/errors.js';
import { G1_BYTES } from '../curve/g1.js';
import { G2_BYTES } from '../curve/g2.js';
import { srsSize, type Srs } from './srs.js';

const MAGIC = new TextEncoder().encode('assaysrs');
const VERSION = 1;
const HEAD_BYTES = MAGIC.length + 8 + G2_BYTES;
const CHECKSUM_BYTES = 32;

export function encodeSrs(srs: Srs): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES + srs.points.length + CHECKSUM_BYTES);
  bytes.set(MAGIC);
  const view = new DataView(bytes.buffer);
  view.setUint32(MAGIC.length, VERSION);
  view.setUint32(MAGIC.length + 4, srsSize(srs));
  bytes.set(srs.tauG2, MAGIC.length + 8);
  bytes.set(srs.points, HEAD_BYTES);
  const body = bytes.subarray(0, -CHECKSUM_BYTES);
  bytes.set(sha256(body), body.length);
  return bytes;
}

/**
 * Length, version and checksum are checked; checkPowers() checks the points.
 * @param name of the file, for messages.
 * @throws AssayError SRS_INVALID.
 */
export function decodeSrs(file: Uint8Array, name: string): Srs {
  // A plain view: what Node reads from disk is a Buffer, whose slices share memory.
  const bytes = new Uint8Array(file.buffer, file.byteOffset, file.length);
  const refuse = (what: string) => new AssayError('SRS_INVALID', `${name}: ${what}`, { meta: { file: name } });
  if (bytes.length < HEAD_BYTES + CHECKSUM_BYTES || !MAGIC.every((byte, i) => byte === bytes[i]))
    throw refuse('is not an SRS file of Assay (a ceremony file becomes one by `assay srs import`)');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(MAGIC.length);
  if (version !== VERSION) throw refuse(`expected version ${VERSION}, found ${version}`);
  const size = view.getUint32(MAGIC.length + 4);
  const expected = HEAD_BYTES + size * G1_BYTES + CHECKSUM_BYTES;
  if (size < 2 || bytes.length !== expected)
    throw refuse(`expected ${expected} bytes for ${size} points (at least 2), found ${bytes.length} bytes`);
  const body = bytes.subarray(0, -CHECKSUM_BYTES);
  if (!sha256(body).every((byte, i) => byte === bytes[body.length + i]))
    throw refuse('its checksum does not fit; the file is damaged');
  const points = body.subarray(HEAD_BYTES);
  return {
    tauG1: points.slice(G1_BYTES, 2 * G1_BYTES),
    tauG2: body.slice(HEAD_BYTES - G2_BYTES, HEAD_BYTES),
    points,
  };
}
