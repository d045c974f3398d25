/** Nodes, paths, claims and faults as the ABI of DisputeGame.sol takes and gives them, and the names that it gives them. */
import { AbiCoder, keccak256, type Result } from 'ethers';
import { AssayError } from '../common/errors.js';
import { checkHex, receiptValue } from '../receipts/eip712.js';
import type { Hex } from '../receipts/types.js';
import { headerValue } from '../receipts/verify-receipt.js';
import { FAULTS, NODE_KINDS, type Claim, type Fault, type GameNode, type NodePath } from './dispute-types.js';

const coder = AbiCoder.defaultAbiCoder();

export type AbiValue = Record<string, unknown>;

export function nodeValue(node: GameNode): AbiValue {
  return { ...node, kind: NODE_KINDS.indexOf(node.kind) };
}

export function nodeOfValue(value: Readonly<AbiValue>): GameNode {
  return {
    kind: NODE_KINDS[Number(value['kind'])]!,
    slot: Number(value['slot']),
    height: Number(value['height']),
    first: Number(value['first']),
    count: Number(value['count']),
  };
}

export function pathValue(path: NodePath): AbiValue {
  return { ...path, segment: nodeValue(path.segment) };
}

export function pathOfValue(value: Result): NodePath {
  // By its own method: `values` of an array of results is another one.
  const hashes = (name: string): Hex[] => [...(value.getValue(name) as Result)] as Hex[];
  return {
    slotCount: Number(value['slotCount']),
    position: Number(value['position']),
    tracePath: hashes('tracePath'),
    segment: nodeOfValue(value['segment'] as unknown as AbiValue),
    segmentRoots: hashes('segmentRoots'),
    tensorRoot: value['tensorRoot'] as Hex,
    tensorHeader: value['tensorHeader'] as Hex,
    values: hashes('values'),
    chunkPath: hashes('chunkPath'),
  };
}

/** @throws AssayError RECEIPT_FIELD_INVALID */
export function claimValue({ receipt, header, index }: Claim): AbiValue {
  return { receipt: receiptValue(receipt), header: headerValue(header), index };
}

export function faultNumber(fault: Fault): number {
  return FAULTS.indexOf(fault);
}

/** @throws AssayError CHAIN_MISMATCH where the contract knows faults that this release does not */
export function faultOfNumber(value: bigint | number): Fault {
  const fault = FAULTS[Number(value)];
  if (fault === undefined) throw new AssayError('CHAIN_MISMATCH', `there is no fault number ${value}`);
  return fault;
}

/** keccak(batchHash | uint256 index): names a leaf of a batch in its game. */
export function claimId(batchHash: Hex, index: number): Hex {
  return keccak256(coder.encode(['bytes32', 'uint256'], [batchHash, index])) as Hex;
}

/** keccak(abi.encode(node)): names a node within its claim. */
export function nodeId({ kind, slot, height, first, count }: GameNode): Hex {
  const types = ['uint8', 'uint32', 'uint8', 'uint64', 'uint32'];
  return keccak256(coder.encode(types, [NODE_KINDS.indexOf(kind), slot, height, first, count])) as Hex;
}

/**
 * What is announced before a fault is proved, so that a copied proof earns nothing.
 * @param claim see `claimId`
 * @param salt 32 secret bytes
 * @throws AssayError RECEIPT_FIELD_INVALID
 */
export function faultCommitment(claim: Hex, faultId: Hex, beneficiary: Hex, salt: Hex): Hex {
  return keccak256(
    coder.encode(
      ['bytes32', 'bytes32', 'address', 'bytes32'],
      [
        claim,
        checkHex('precommit', 'faultId', faultId, 32),
        checkHex('precommit', 'beneficiary', beneficiary, 20),
        checkHex('precommit', 'salt', salt, 32),
      ],
    ),
  ) as Hex;
}
