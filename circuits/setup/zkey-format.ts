/**
 * The .zkey file of snarkjs for Groth16: layout, and elements in and out of it.
 *
 * All integers little endian: "zkey" | version 1 (4) | sections (4) | per section: type (4), length (8), content.
 *
 *   1  protocol: 1 for Groth16 (4)
 *   2  32 (4) | q (32) | 32 (4) | r (32) | wires (4) | public wires (4) | N (4) | alpha G1 | beta G1 | beta H | gamma H |
 *      delta G1 | delta H
 *   3  (beta A_w + alpha B_w + C_w) / gamma G1 for the constant and the public wires
 *   4  terms (4), per term of A and B: part 0 A, 1 B (4) | row (4) | wire (4) | coefficient times 2^512 mod r (32)
 *   5  A_w G1    6  B_w G1    7  B_w H    for all wires
 *   8  (beta A_w + alpha B_w + C_w) / delta G1 for the other wires
 *   9  quotient points divided by delta, N of them (qap.ts, step 3)
 *  10  circuit mark (64) | contributions (4) | per contribution its record
 *
 * A coordinate is stored times 2^256 mod q; a point of G2 as x.c0, x.c1, y.c0, y.c1; infinity as zeros.
 */
import { AssayError } from '../../common/errors.js';
import { readUint256 } from '../../prover/curve/g1.js';
import { FQ_MODULUS } from '../../prover/field/bn254.params.js';

export const SECTIONS = {
  protocol: 1,
  header: 2,
  publicPoints: 3,
  coefficients: 4,
  aG1: 5,
  bG1: 6,
  bG2: 7,
  privatePoints: 8,
  quotient: 9,
  contributions: 10,
} as const;

export const G1_BYTES = 64;
export const G2_BYTES = 128;
export const MARK_BYTES = 64;
export const COEFFICIENT_BYTES = 12 + 32;

/** 2^256 mod q. */
const MONTGOMERY = 2n ** 256n % FQ_MODULUS;
const MONTGOMERY_INVERSE = (() => {
  let [result, base] = [1n, MONTGOMERY];
  for (let e = FQ_MODULUS - 2n; e > 0n; e >>= 1n, base = (base * base) % FQ_MODULUS)
    if (e & 1n) result = (result * base) % FQ_MODULUS;
  return result;
})();

/** 32 bytes, little endian. */
export function writeElement(view: DataView, offset: number, value: bigint): void {
  for (let word = 0, rest = value; word < 4; word++, rest >>= 64n)
    view.setBigUint64(offset + 8 * word, rest & 0xffffffffffffffffn, true);
}

/** 32 bytes, little endian. */
export function readElement(view: DataView, offset: number): bigint {
  let value = 0n;
  for (let word = 3; word >= 0; word--) value = (value << 64n) | view.getBigUint64(offset + 8 * word, true);
  return value;
}

/** Coordinates, 32 bytes big endian each, into the form of the file; `order` permutes those of one point. */
export function storedCoordinates(bytes: Uint8Array, order: readonly number[]): Uint8Array {
  const stored = new Uint8Array(bytes.length);
  const view = new DataView(stored.buffer);
  for (let at = 0; at < bytes.length; at += 32 * order.length)
    order.forEach((from, to) =>
      writeElement(view, at + 32 * to, (readUint256(bytes, at + 32 * from) * MONTGOMERY) % FQ_MODULUS),
    );
  return stored;
}

export const storedG1 = (points: Uint8Array): Uint8Array => storedCoordinates(points, [0, 1]);
/** From the encoding of prover/curve/g2.ts. */
export const storedG2 = (points: Uint8Array): Uint8Array => storedCoordinates(points, [1, 0, 3, 2]);

/** The coordinates of stored points. @throws AssayError CIRCUIT_KEY_INVALID for one that is not below q. */
export function readCoordinates(bytes: Uint8Array, name: string): bigint[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / 32 }, (_, i) => {
    const value = readElement(view, 32 * i);
    if (value >= FQ_MODULUS) throw new AssayError('CIRCUIT_KEY_INVALID', `${name}: a coordinate is not below q`);
    return (value * MONTGOMERY_INVERSE) % FQ_MODULUS;
  });
}
