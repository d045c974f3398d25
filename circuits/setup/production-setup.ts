/**
 * The keys of a circuit for chains with money on them: phase 2 of Groth16 over the powers of tau of a public ceremony,
 * by snarkjs, step by step, so that each step can be another person's on another machine.
 *
 *   1. startCeremony: the file of powers is checked against its published hash; then the circuit's points are computed
 *      from it. delta = 1: nobody has contributed yet, and the key must not be used.
 *   2. contribute, once per person: delta is multiplied by a secret that the person forgets. One honest person suffices.
 *   3. finishCeremony: a beacon that nobody could know before (a block hash that was named in advance) is the last
 *      contribution, and everything is verified: the key belongs to this r1cs and these powers, every contribution is
 *      well formed, gamma and delta differ, no development secret is in it.
 *
 * The powers must be prepared for phase 2 and hold at least 2^(k+1) points for a domain of 2^k (qap.ts). snarkjs's own
 * preparation took 103 s at 2^12 and did not end in ten minutes at 2^16: use the prepared files of the ceremony.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bytesToHex } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { checkFileHash, type FilePin } from '../../prover/srs/file-hash.js';
import { withFile } from '../../prover/srs/open-file.js';
import type { OnProgress } from '../run-apart.js';
import { runSnarkjs } from '../snarkjs/run-snarkjs.js';
import { readZkeyHead, type VerificationKey } from './read-zkey.js';
import { requireProductionKey } from './require-production-key.js';

/** The powers of tau of a public ceremony. */
export interface PreparedPowers {
  /** Path of the prepared .ptau. */
  readonly path: string;
  /** The hash that the ceremony published. */
  readonly pin: FilePin;
}

/**
 * Step 1.
 * @param to path of the .zkey to write.
 * @throws AssayError CIRCUIT_KEY_INVALID (another hash, too few powers, not prepared) or FILE_NOT_FOUND.
 */
export async function startCeremony(
  r1cs: Uint8Array,
  powers: PreparedPowers,
  to: string,
  onProgress?: OnProgress,
): Promise<void> {
  await withFile(powers.path, (file) => checkFileHash(file, powers.pin));
  await withR1csFile(r1cs, (path) => runSnarkjs({ kind: 'set up', r1cs: path, ptau: powers.path, to }, onProgress));
}

/**
 * Step 2. The secret is 64 bytes of this machine's randomness, hashed with snarkjs's own; it leaves the memory with the
 * process that used it.
 * @param name of the person, written into the key.
 */
export async function contribute(from: string, to: string, name: string, onProgress?: OnProgress): Promise<void> {
  const entropy = bytesToHex(crypto.getRandomValues(new Uint8Array(64)));
  await runSnarkjs({ kind: 'contribute', from, to, name, entropy }, onProgress);
}

export interface Beacon {
  /** 32 bytes that became known after the last contribution. */
  readonly hash: Uint8Array;
  /** 2^this many SHA-256 delay the result, 10 to 63. */
  readonly iterationsExponent: number;
}

/**
 * Step 3.
 * @returns the verification key.
 * @throws AssayError CIRCUIT_KEY_INVALID or CIRCUIT_KEY_DEVELOPMENT where the key must not be used.
 */
export async function finishCeremony(
  r1cs: Uint8Array,
  powers: PreparedPowers,
  from: string,
  to: string,
  { hash, iterationsExponent }: Beacon,
  onProgress?: OnProgress,
): Promise<VerificationKey> {
  if (hash.length !== 32)
    throw new AssayError('CIRCUIT_KEY_INVALID', `the beacon: expected 32 bytes, found ${hash.length} bytes`);
  const beacon = { name: 'beacon', hash: bytesToHex(hash), iterationsExponent };
  await runSnarkjs({ kind: 'beacon', from, to, ...beacon }, onProgress);
  return verifyKey(r1cs, powers, to, onProgress);
}

/**
 * What anybody does with a finished key before trusting it: the checks of step 3, from the r1cs on.
 * @throws AssayError CIRCUIT_KEY_INVALID, CIRCUIT_KEY_DEVELOPMENT or FILE_NOT_FOUND.
 */
export async function verifyKey(
  r1cs: Uint8Array,
  powers: PreparedPowers,
  key: string,
  onProgress?: OnProgress,
): Promise<VerificationKey> {
  const { contributions, verificationKey } = await readZkeyHead(key);
  requireProductionKey(verificationKey, undefined);
  if (contributions < 2)
    throw new AssayError(
      'CIRCUIT_KEY_INVALID',
      `${key}: expected two contributions at least, the last a beacon; found ${contributions}`,
    );
  await withFile(powers.path, (file) => checkFileHash(file, powers.pin));
  await withR1csFile(r1cs, (path) => runSnarkjs({ kind: 'verify', r1cs: path, ptau: powers.path, key }, onProgress));
  return verificationKey;
}

/** snarkjs reads circuits from files. */
async function withR1csFile(r1cs: Uint8Array, use: (path: string) => Promise<unknown>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-r1cs-'));
  try {
    const path = join(folder, 'circuit.r1cs');
    writeFileSync(path, r1cs);
    await use(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
