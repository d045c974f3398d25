/** Names of faults, nodes and contents, as the contracts compute them, and the contents that are only numbers in a row. */
import { hexToBytes } from '@noble/hashes/utils.js';
import { AbiCoder, keccak256, solidityPackedKeccak256 } from 'ethers';
import { FAULTS, NODE_KINDS, type Fault, type GameNode } from '../../verifier-contracts/dispute-types.js';
import type { Hex } from '../../receipts/types.js';

/** Bytes of a root that is known to be one. */
export const rootBytes = (root: Hex): Uint8Array => hexToBytes(root.slice(2));

const coder = AbiCoder.defaultAbiCoder();

/**
 * keccak(uint8 fault | uint32 value | uint32 slot | uint64 element): what is wrong, independent of how it is shown.
 * @param slot of the value (Step, Header, InputRange), of the port (InputBinding, OutputBinding), of the sums (Part); else 0.
 */
export function faultIdOf(fault: Fault, value: number, slot: number, element: number): Hex {
  const types = ['uint8', 'uint32', 'uint32', 'uint64'];
  return solidityPackedKeccak256(types, [FAULTS.indexOf(fault), value, slot, element]) as Hex;
}

/** keccak(abi.encode(node)). */
export function nodeIdOf(node: GameNode): Hex {
  return keccak256(
    coder.encode(
      ['uint8', 'uint32', 'uint8', 'uint64', 'uint32'],
      [NODE_KINDS.indexOf(node.kind), node.slot, node.height, node.first, node.count],
    ),
  ) as Hex;
}

/** Content of a segment. */
export const packRoots = (roots: readonly Hex[]): Hex => `0x${roots.map((root) => root.slice(2)).join('')}`;

/** Content of sums: int64 each, big-endian. */
export const packSums = (parts: readonly bigint[]): Hex =>
  `0x${parts.map((part) => BigInt.asUintN(64, part).toString(16).padStart(16, '0')).join('')}`;

/** What a claim stores of a statement. */
export const contentHash = (content: Hex): Hex => keccak256(content) as Hex;
