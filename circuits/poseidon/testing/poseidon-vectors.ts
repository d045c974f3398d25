/**
 * Outputs of the permutation by circomlibjs 0.1.7 (`buildPoseidon`, iden3), for 1 to 16 inputs: `poseidon(inputs)` for
 * 1, 2, 3, .. and `poseidon(inputs, initialState, t)` for inputs 123456789 i^7. Made once with that package, which is not
 * installed here.
 */
import { readFileSync } from 'node:fs';

export interface PoseidonVector {
  readonly initialState: string;
  readonly inputs: readonly string[];
  /** The first cells of the permutation of (initialState, inputs). */
  readonly outputs: readonly string[];
}

export const poseidonVectors = (): PoseidonVector[] =>
  JSON.parse(readFileSync(new URL('./poseidon-vectors.json', import.meta.url), 'utf8')) as PoseidonVector[];
