/**
 * The development keys of a circuit from the cache, or made now and kept: entries are named by the circuit's hash. For
 * tests, the demo and the local development chain; require-production-key.ts keeps them there.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../../common/errors.js';
import type { CompiledCircuit } from '../compile/types.js';
import { defaultCircuitCache, readCacheEntry, writeCacheEntry } from '../file-cache.js';
import { runInProcess } from '../run-apart.js';
import type { DevelopmentSetupTask, SetupSpent } from './development-setup-process.js';
import { KNOWN_SECRETS_MARK, type SetupProgress } from './make-zkey.js';
import { readZkeyHead, type VerificationKey } from './read-zkey.js';

export interface DevelopmentKeyOptions {
  /** @default `.cache/circuits` in the package's root */
  readonly cacheDir?: string;
  /** First told what the set-up will take, then how far it is; not called where a cache serves. */
  readonly onProgress?: (progress: SetupProgress) => void;
}

export interface CircuitKey {
  /** Path of the .zkey. */
  readonly provingKey: string;
  readonly verificationKey: VerificationKey;
  /** Where the key was made now. */
  readonly spent?: SetupSpent;
}

const NAMES = ['development.zkey'] as const;

/** @throws AssayError INTERNAL where the set-up fails or the cache holds another key under this name. */
export async function developmentKey(
  circuit: CompiledCircuit,
  { cacheDir = defaultCircuitCache(), onProgress }: DevelopmentKeyOptions = {},
): Promise<CircuitKey> {
  const key = `development-2-${circuit.circuitHash}`;
  let spent: SetupSpent | undefined;
  const paths =
    (await readCacheEntry(cacheDir, key, NAMES)) ??
    (await writeCacheEntry(cacheDir, key, NAMES, async (folder) => {
      const r1cs = join(folder, 'circuit.r1cs');
      writeFileSync(r1cs, circuit.r1cs);
      const file = new URL('./development-setup-process', import.meta.url);
      spent = await runInProcess<DevelopmentSetupTask, SetupSpent>(file, { r1cs, to: join(folder, NAMES[0]) }, (text) =>
        onProgress?.(JSON.parse(text) as SetupProgress),
      );
      rmSync(r1cs);
    }));
  const provingKey = paths['development.zkey'];
  const { mark, verificationKey } = await readZkeyHead(provingKey);
  if (mark !== developmentMark(circuit.circuitHash))
    throw new AssayError('INTERNAL', `${provingKey}: is not the development key of circuit ${circuit.circuitHash}`, {
      mend: 'Delete the file; it is made again.',
    });
  return { provingKey, verificationKey, ...(spent === undefined ? {} : { spent }) };
}

/** Hex, as readZkeyHead gives it. */
export const developmentMark = (circuitHash: string): string =>
  Buffer.from(KNOWN_SECRETS_MARK, 'ascii').toString('hex') + circuitHash;
