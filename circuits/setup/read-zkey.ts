/** Reads from a .zkey file (zkey-format.ts) what its verifiers need: the verification key, and how it came about. */
import { bytesToHex } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { FQ_MODULUS, FR_MODULUS } from '../../prover/field/bn254.params.js';
import { withFile } from '../../prover/srs/open-file.js';
import type { RandomAccess } from '../../prover/srs/random-access.js';
import type { G1Coordinates, G2Coordinates } from '../prove/groth16-proof.js';
import { G1_BYTES, G2_BYTES, MARK_BYTES, readCoordinates, readElement, SECTIONS } from './zkey-format.js';

export interface VerificationKey {
  readonly alphaG1: G1Coordinates;
  readonly betaG2: G2Coordinates;
  readonly gammaG2: G2Coordinates;
  readonly deltaG2: G2Coordinates;
  /** Of the constant and of each public signal. */
  readonly publicPoints: readonly G1Coordinates[];
}

export interface ZkeyHead {
  readonly verificationKey: VerificationKey;
  readonly wires: number;
  readonly domainSize: number;
  /** Hex: snarkjs's hash of the circuit's points, or KNOWN_SECRETS_MARK and the circuit's hash. */
  readonly mark: string;
  readonly contributions: number;
}

const HEADER_BYTES = 2 * 36 + 12 + 3 * G1_BYTES + 3 * G2_BYTES;
const MAX_SECTIONS = 64;

/**
 * @param path of the file; only its head and the public points are read.
 * @throws AssayError FILE_NOT_FOUND or CIRCUIT_KEY_INVALID.
 */
export function readZkeyHead(path: string): Promise<ZkeyHead> {
  return withFile(path, async (file) => {
    const sections = await readSections(file);
    const content = (type: number): Promise<Uint8Array> => {
      const section = sections.get(type);
      if (section === undefined) throw refuse(path, `has no section ${type}`);
      return file.read(section.at, section.length);
    };
    const protocol = await content(SECTIONS.protocol);
    const header = await content(SECTIONS.header);
    const view = viewOf(header);
    if (protocol[0] !== 1 || header.length !== HEADER_BYTES) throw refuse(path, 'is not a key for Groth16');
    if (readElement(view, 4) !== FQ_MODULUS || readElement(view, 40) !== FR_MODULUS)
      throw refuse(path, 'is for another curve than BN254');
    let at = 84;
    const take = (bytes: number): bigint[] => readCoordinates(header.subarray(at, (at += bytes)), path);
    const g1 = (): G1Coordinates => take(G1_BYTES) as [bigint, bigint];
    const g2 = (): G2Coordinates => {
      const [x0, x1, y0, y1] = take(G2_BYTES) as [bigint, bigint, bigint, bigint];
      return [
        [x0, x1],
        [y0, y1],
      ];
    };
    const alphaG1 = g1();
    g1();
    const [betaG2, gammaG2] = [g2(), g2()];
    g1();
    const deltaG2 = g2();
    const points = readCoordinates(await content(SECTIONS.publicPoints), path);
    const publicPoints = Array.from({ length: points.length / 2 }, (_, i): G1Coordinates => [
      points[2 * i]!,
      points[2 * i + 1]!,
    ]);
    if (publicPoints.length !== view.getUint32(76, true) + 1)
      throw refuse(path, `has ${publicPoints.length} public points for ${view.getUint32(76, true)} public wires`);
    const last = await content(SECTIONS.contributions);
    return {
      verificationKey: { alphaG1, betaG2, gammaG2, deltaG2, publicPoints },
      wires: view.getUint32(72, true),
      domainSize: view.getUint32(80, true),
      mark: bytesToHex(last.subarray(0, MARK_BYTES)),
      contributions: viewOf(last).getUint32(MARK_BYTES, true),
    };
  });
}

const refuse = (path: string, message: string): AssayError =>
  new AssayError('CIRCUIT_KEY_INVALID', `${path}: ${message}`);

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

async function readSections(file: RandomAccess): Promise<Map<number, { at: number; length: number }>> {
  const inside = async (at: number, length: number): Promise<DataView> => {
    if (at + length > file.sizeBytes) throw refuse(file.name, 'is truncated');
    return viewOf(await file.read(at, length));
  };
  const head = await inside(0, 12);
  if (head.getUint32(0) !== 0x7a6b6579 || head.getUint32(4, true) !== 1)
    throw refuse(file.name, 'expected "zkey" and version 1 at its start');
  const count = head.getUint32(8, true);
  if (count > MAX_SECTIONS) throw refuse(file.name, `expected at most ${MAX_SECTIONS} sections, found ${count}`);
  const sections = new Map<number, { at: number; length: number }>();
  let at = 12;
  for (let i = 0; i < count; i++) {
    const section = await inside(at, 12);
    const length = Number(section.getBigUint64(4, true));
    if (at + 12 + length > file.sizeBytes) throw refuse(file.name, 'is truncated');
    sections.set(section.getUint32(0, true), { at: at + 12, length });
    at += 12 + length;
  }
  return sections;
}
