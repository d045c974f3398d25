/** What stands in x for the inputs and outputs of a receipt. */
import { toField } from '../../prover/field/fr.js';
import { asciiElement, PoseidonHash } from '../poseidon/transcript.js';

/** Where the commitment to an input starts. */
export const INPUT_START = asciiElement('assay/input/poseidon/1');

/**
 * The Poseidon commitment to the inputs of a receipt: one absorb of all its packed words (prover/plan/inputs.ts), input by
 * input, item by item. In the circuit nothing says that words are below 2^128: the lookup of every cell does.
 */
export function inputCommitment(words: readonly bigint[]): bigint {
  const hash = new PoseidonHash(INPUT_START);
  hash.absorb('scalars', words, words.length);
  return hash.state;
}

/** Published integers in one output word. */
export const INTEGERS_PER_WORD = 7;
const INTEGER_BITS = 32n;
const INTEGER_OFFSET = 1n << 31n;

/**
 * All published integers of a receipt (output by output, item-major, row-major) as words of up to 7:
 * word = sum over its k integers of (v_j + 2^31) 2^(32 (k - 1 - j)), which is their two's complement, big endian, with the
 * top bit of each flipped. Linear in the integers, so that it costs a circuit nothing.
 */
export function packOutputs(values: readonly number[]): bigint[] {
  const words: bigint[] = [];
  for (let at = 0; at < values.length; at += INTEGERS_PER_WORD)
    words.push(
      values
        .slice(at, at + INTEGERS_PER_WORD)
        .reduce((word, v) => (word << INTEGER_BITS) + BigInt(v) + INTEGER_OFFSET, 0n),
    );
  return words.map((word) => toField(word));
}
