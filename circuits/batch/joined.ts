/**
 * x as a list of field elements, and what binds circuit and contract to it.
 *
 *   c    = joiningDigest(x)                                    circuits/poseidon/joining.ts; in the circuit
 *   seed = keccak256("assay/batch/1" | uint256 chainId | address of the contract, 32 bytes | keyHash | srsId | c
 *                    | keccak256(contexts, 32 bytes each) | x, 32 bytes each)
 *   rho  = seed mod r,   E = sum_i rho^i x_i
 *
 * The circuit's public signals are c, E, rho in this order. The contract draws rho, computes E from its x, and seeds the
 * opening's transcript by absorbing the 32 bytes of seed, labelled 'batch'.
 * Contexts are the hashes of the orders of the receipts that count: a copied proof serves no other orders.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { fromBytes, toBytes } from '../../prover/field/fr.js';
import { pointLimbs } from '../poseidon/transcript.js';
import type { Joined } from './types.js';

const LIMB_MASK = (1n << 128n) - 1n;
const SEED_TAG = new TextEncoder().encode('assay/batch/1');

export const digestLimbs = (digest: bigint): [bigint, bigint] => [digest >> 128n, digest & LIMB_MASK];

/** x, in the order of the fields of `Joined`. */
export function joinedElements({ groups, commitments, coefficients, point, value }: Joined): bigint[] {
  return [
    ...groups.flatMap(({ modelDigest, receipts }) => [
      ...digestLimbs(modelDigest),
      ...receipts.flatMap(({ inputCommitment, outputWords }) => [inputCommitment, ...outputWords]),
    ]),
    ...commitments.flatMap(pointLimbs),
    ...coefficients,
    ...point,
    value,
  ];
}

/** Where a proof may be posted. */
export interface BatchPlace {
  readonly chainId: number;
  /** The contract that will check it, 0x-hex. */
  readonly contract: string;
  /** Hash of the contract's record of the key, 32 bytes. */
  readonly keyHash: Uint8Array;
  /** 32 bytes. */
  readonly srsId: Uint8Array;
}

/** @param contexts hashes of the orders, 32 bytes each, of the receipts that count, in the order of x. */
export function batchSeed(
  place: BatchPlace,
  c: bigint,
  contexts: readonly Uint8Array[],
  x: readonly bigint[],
): Uint8Array {
  return keccak_256(
    concatBytes(
      SEED_TAG,
      toBytes(BigInt(place.chainId)),
      toBytes(BigInt(place.contract)),
      place.keyHash,
      place.srsId,
      toBytes(c),
      keccak_256(concatBytes(...contexts)),
      ...x.map(toBytes),
    ),
  );
}

export const batchRho = (seed: Uint8Array): bigint => fromBytes(seed) % FR_MODULUS;
