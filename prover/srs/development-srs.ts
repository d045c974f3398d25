/**
 * The development SRS: its tau is written here, so anybody can open any commitment under it to any value. It is for
 * tests, the demo and the local development chain, and is known by its id wherever it comes from (a file of it too).
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { encodeG1, G1_GENERATOR } from '../curve/g1.js';
import { encodeG2, G2_GENERATOR } from '../curve/g2.js';
import { FR_MODULUS } from '../field/bn254.params.js';
import { fromBytes } from '../field/fr.js';
import type { SrsHead } from './srs.js';

/** For development only: the secret that nobody may know of a real SRS. */
export const DEVELOPMENT_TAU =
  fromBytes(keccak_256(new TextEncoder().encode('assay development SRS: everybody knows this tau'))) % FR_MODULUS;

/** srsId of the development SRS, hex. */
const DEVELOPMENT_ID = '06db80f7b265f39a9a66f359481662f1d5e77a6bcab76a7c95a7de5d4557c09f';

let head: SrsHead | undefined;

/** Computed at the first call, some tens of milliseconds. */
export function developmentHead(): SrsHead {
  head ??= {
    tauG1: encodeG1(G1_GENERATOR.multiplyUnsafe(DEVELOPMENT_TAU)),
    tauG2: encodeG2(G2_GENERATOR.multiplyUnsafe(DEVELOPMENT_TAU)),
  };
  return head;
}

export const isDevelopmentSrs = (srsId: Uint8Array): boolean => bytesToHex(srsId) === DEVELOPMENT_ID;
