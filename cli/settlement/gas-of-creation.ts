import type { Artifact } from '../../verifier-contracts/build.js';

/** Of a transaction that creates a contract, before its code: base, creation. */
const BASE_GAS = 21_000 + 32_000;
/** Of a byte of stored code, of a call's data that is not zero, and of one that is; of a new word of storage. */
const [CODE_BYTE_GAS, DATA_BYTE_GAS, ZERO_BYTE_GAS, WORD_GAS] = [200, 16, 4, 22_100];
/** A constructor's own work: checks, an event, a question to another contract. */
const CONSTRUCTOR_GAS = 30_000;

/**
 * About what the creation of a contract will cost. Computed and not asked of the node, since most constructors look at a
 * contract that is not there yet.
 * @param words of storage that the constructor fills
 * @param part a contract that the constructor creates; its code is among the bytes of the call
 */
export function gasOfCreation({ bytecode, deployedBytes }: Artifact, words: number, part?: Artifact): number {
  const bytes = Buffer.from(bytecode.slice(2), 'hex');
  const zeros = bytes.filter((byte) => byte === 0).length;
  const data = zeros * ZERO_BYTE_GAS + (bytes.length - zeros) * DATA_BYTE_GAS;
  const stored = deployedBytes + (part?.deployedBytes ?? 0);
  return BASE_GAS + data + stored * CODE_BYTE_GAS + words * WORD_GAS + CONSTRUCTOR_GAS;
}
