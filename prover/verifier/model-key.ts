/**
 * The key of a model: what a verifier holds in place of the model. It names the shape program and the commitments to
 * weights and tables, and the rest of the preimage of the model's digest: so whoever holds a receipt, which names the
 * digest, can tell that the key is the one meant. That the key was made from the model's weights is part of the digest's
 * meaning and is checked by whoever holds the bundle (`assay verify --bundle`).
 *
 *   keyHash = keccak256("assay/model-key/1" | srsId | programHash | commitments)
 *   digest  = the digest of graph/commitment/model-digest.ts with that key hash
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import { digestOfRoots, type ModelRoots } from '../../graph/commitment/digest-of-roots.js';
import { programHash } from '../program/encode-program.js';
import type { Program } from '../program/types.js';

export interface ModelKey {
  /** The preimage of the digest but for the key. */
  readonly roots: Omit<ModelRoots, 'digest'>;
  /** Names the SRS of the commitments, 32 bytes. */
  readonly srsId: Uint8Array;
  readonly program: Program;
  /** One per model column, 64 bytes each. */
  readonly commitments: readonly Uint8Array[];
}

const TAG = new TextEncoder().encode('assay/model-key/1');

/** 0x-hex of 32 bytes. */
export const modelKeyHash = ({ srsId, program, commitments }: Omit<ModelKey, 'roots'>): string =>
  `0x${bytesToHex(keccak_256(concatBytes(TAG, srsId, programHash(program), ...commitments)))}`;

/** The digest that receipts name, 0x-hex of 32 bytes. */
export const modelKeyDigest = (key: ModelKey): string => digestOfRoots(key.roots, modelKeyHash(key));

export const modelKeyDigestBytes = (key: ModelKey): Uint8Array => hexToBytes(modelKeyDigest(key).slice(2));
