/**
 * A commitment that hides nothing and saves nothing: the hash of a column; its opening is all columns in the clear.
 * With it the whole protocol runs without curve arithmetic, so that every tamper test of the reductions is fast. It is
 * no scheme for proofs that travel: only tests and the audit of the protocol use it.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { FR_MODULUS } from '../field/bn254.params.js';
import { add, fromBytes, mul, toBytes } from '../field/fr.js';
import { denseWeights, eqWeight } from '../plan/functional.js';
import type { OpeningClaim } from '../opening/types.js';
import type { CommitmentScheme } from '../verifier/scheme.js';

const SCALAR_BYTES = 32;
export const PLAIN_SRS_ID = keccak_256(new TextEncoder().encode('assay/plain-columns/1'));

/** @param column values up to the last that is not 0; a column of another length but equal values commits alike. */
export function plainCommitment(column: readonly bigint[]): Uint8Array {
  let length = column.length;
  while (length > 0 && column[length - 1] === 0n) length--;
  const digest = keccak_256(plainOpening([column.slice(0, length)]));
  return concatBytes(digest, keccak_256(digest));
}

/** All columns, value after value. */
export function plainOpening(columns: readonly (readonly bigint[])[]): Uint8Array {
  const values = columns.flat();
  const bytes = new Uint8Array(SCALAR_BYTES * values.length);
  values.forEach((value, i) => bytes.set(toBytes(value), SCALAR_BYTES * i));
  return bytes;
}

export const plainScheme: CommitmentScheme = {
  name: 'plain',
  code: 0,
  srsId: PLAIN_SRS_ID,
  openingBytes: (n, columns) => SCALAR_BYTES * columns * 2 ** n,
  verify(_transcript, { n, commitments, coefficients, point, value }: OpeningClaim, opening: Uint8Array): void {
    const size = 2 ** n;
    const eq = denseWeights(eqWeight(point), size);
    let sum = 0n;
    commitments.forEach((commitment, c) => {
      const column = Array.from({ length: size }, (_, i) => {
        const at = (c * size + i) * SCALAR_BYTES;
        return fromBytes(opening.subarray(at, at + SCALAR_BYTES));
      });
      if (column.some((v) => v >= FR_MODULUS))
        throw new AssayError('PROOF_INVALID', `column ${c} has a value not below r`);
      if (!plainCommitment(column).every((byte, i) => byte === commitment[i]))
        throw new AssayError('PROOF_INVALID', `opening: column ${c} is not the one committed to`);
      column.forEach((v, i) => {
        if (v !== 0n && coefficients[c] !== 0n) sum = add(sum, mul(mul(coefficients[c]!, eq[i]!), v));
      });
    });
    if (sum !== value) throw new AssayError('PROOF_INVALID', 'opening: the combination has another value at the point');
  },
};
