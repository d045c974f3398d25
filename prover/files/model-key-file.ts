/**
 * The file of a model key: all that a verifier needs beside a proof file. There is one file for one key:
 *
 *   "assaykey" | uint32 version 1 | graph root (32) | weights root (32) | uint32 opCount | tau G1 (64) | tau H (128)
 *   | uint32 bytes of the program | program (program/encode-program.ts) | commitments (64 each)
 *
 * The number of commitments follows from the program. The roots, the name of the SRS, the program and the commitments are
 * the preimage of the model's digest, so a changed byte is another model; nothing in the file has to be trusted.
 */
import { hexToBytes, bytesToHex } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { decodeG1, G1_BYTES } from '../curve/g1.js';
import { G2_BYTES } from '../curve/g2.js';
import { decodeProgram, MAX_PROGRAM_BYTES } from '../program/decode-program.js';
import { encodeProgram } from '../program/encode-program.js';
import { bitsOfAxes, placeSlots } from '../program/layout.js';
import { srsIdOf, type SrsHead } from '../srs/srs.js';
import type { ModelKey } from '../verifier/model-key.js';
import { ByteReader, ByteWriter } from './bytes.js';

const MAGIC = 'assaykey';
const VERSION = 1;
const HASH_BYTES = 32;

/** A key with what checks openings under it. */
export interface ModelKeyFile {
  readonly key: ModelKey;
  readonly srs: SrsHead;
}

/**
 * @throws AssayError MODEL_KEY_MISMATCH where the key was made with another SRS; MODEL_KEY_INVALID where the key is beyond
 * what its readers accept.
 */
export function encodeModelKey({ key, srs }: ModelKeyFile): Uint8Array {
  if (bytesToHex(srsIdOf(srs)) !== bytesToHex(key.srsId))
    throw new AssayError('MODEL_KEY_MISMATCH', 'the model key was made with another SRS than the one given with it');
  const program = encodeProgram(key.program);
  const out = new ByteWriter().raw(new TextEncoder().encode(MAGIC)).u32(VERSION);
  for (const root of [key.roots.graphRoot, key.roots.weightsRoot]) out.raw(hexToBytes(root.slice(2)));
  out.u32(key.roots.opCount).raw(srs.tauG1).raw(srs.tauG2).u32(program.length).raw(program);
  for (const commitment of key.commitments) out.raw(commitment);
  const bytes = out.done();
  decodeModelKey(bytes, 'the new key');
  return bytes;
}

/**
 * Checks everything but the points of the SRS, which openingKey() checks.
 * @param name of the file, for messages.
 * @throws AssayError MODEL_KEY_INVALID.
 */
export function decodeModelKey(file: Uint8Array, name: string): ModelKeyFile {
  const input = new ByteReader(
    file,
    (message) => new AssayError('MODEL_KEY_INVALID', `${name}: ${message}`, { meta: { file: name } }),
  );
  input.head(MAGIC, VERSION, 'a model key of Assay');
  const hash = (what: string): string => `0x${bytesToHex(input.raw(HASH_BYTES, what))}`;
  const roots = {
    graphRoot: hash('the graph root'),
    weightsRoot: hash('the weights root'),
    opCount: input.u32('opCount'),
  };
  const srs = { tauG1: input.raw(G1_BYTES, 'tau G1'), tauG2: input.raw(G2_BYTES, 'tau H') };
  const length = input.u32('the length of the program');
  if (length > MAX_PROGRAM_BYTES) throw input.refuse(`a program of ${length} bytes; at most ${MAX_PROGRAM_BYTES}`);
  const program = decodeProgram(input.raw(length, 'the program'));
  const cells = placeSlots(program.model.map(({ axes }) => bitsOfAxes(axes))).cells;
  const commitments = Array.from({ length: Math.ceil(cells / 2 ** program.modelBits) }, (_, i) => {
    const point = input.raw(G1_BYTES, `commitment ${i}`);
    decodeG1(point, `${name}: commitment ${i}`, 'MODEL_KEY_INVALID');
    return point;
  });
  input.end();
  return { key: { roots, srsId: srsIdOf(srs), program, commitments }, srs };
}
