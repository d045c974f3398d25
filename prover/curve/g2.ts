/**
 * G2 of BN254: decoding with the subgroup check, and encoding.
 *
 * Encoding (that of EIP-197): x.c1 | x.c0 | y.c1 | y.c0 for x = x.c0 + x.c1 i, 32 bytes each, big endian, below q.
 * The twist has a cofactor, so being on the curve is not enough: [r]P = 0 is checked through the endomorphism psi.
 * Infinity is refused: no key of ours may hold it.
 */
import { bn254 } from '@noble/curves/bn254.js';
import type { WeierstrassPoint } from '@noble/curves/abstract/weierstrass.js';
import type { Fp2 } from '@noble/curves/abstract/tower.js';
import { AssayError, type ErrorCode } from '../../common/errors.js';
import { FQ_MODULUS } from '../field/bn254.params.js';
import { readUint256, writeUint256 } from './g1.js';

export type G2 = WeierstrassPoint<Fp2>;

export const G2_BYTES = 128;
const G2Point = bn254.G2.Point;
export const G2_GENERATOR: G2 = G2Point.BASE;

/**
 * A point of the subgroup from its 128 bytes.
 * @param what names the point in the message.
 * @throws AssayError `code`: wrong length, a coordinate not below q, infinity, not on the curve or not in the subgroup.
 */
export function decodeG2(bytes: Uint8Array, what: string, code: ErrorCode = 'SRS_INVALID'): G2 {
  const refuse = (found: string, cause?: unknown) =>
    new AssayError(code, `${what}: expected a point of G2, found ${found}`, { cause });
  if (bytes.length !== G2_BYTES) throw refuse(`${bytes.length} bytes instead of ${G2_BYTES}`);
  const [xc1, xc0, yc1, yc0] = [0, 32, 64, 96].map((offset) => readUint256(bytes, offset)) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  if ([xc0, xc1, yc0, yc1].some((coordinate) => coordinate >= FQ_MODULUS))
    throw refuse('a coordinate that is not below q');
  if ((xc0 | xc1 | yc0 | yc1) === 0n) throw refuse('infinity');
  const point = G2Point.fromAffine({ x: { c0: xc0, c1: xc1 }, y: { c0: yc0, c1: yc1 } });
  try {
    point.assertValidity();
  } catch (cause) {
    throw refuse('coordinates that are not on the curve or not in the subgroup of order r', cause);
  }
  return point;
}

export function encodeG2(point: G2): Uint8Array {
  const bytes = new Uint8Array(G2_BYTES);
  const { x, y } = point.toAffine();
  [x.c1, x.c0, y.c1, y.c0].forEach((coordinate, i) => writeUint256(bytes, 32 * i, coordinate));
  return bytes;
}
