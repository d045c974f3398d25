/** A batch's header and the two hashes that name it; the contract keeps only `headerHash`, under `batchHash`. */
import { AbiCoder, id, keccak256 } from 'ethers';
import { checkHex, checkUint, laneNumber } from './eip712.js';
import type { Hex, Lane, ReceiptDomain } from './types.js';

export interface BatchHeader {
  readonly lane: Lane;
  /** Number of leaves, 1 to 256. */
  readonly count: number;
  /** Account that sent the commit. */
  readonly poster: Hex;
  /** Chosen by the poster, so that the same receipts can be posted again after a reorganisation under another name. */
  readonly salt: Hex;
  readonly batchRoot: Hex;
  /** The policy of every receipt that stands in the batch. */
  readonly policyHash: Hex;
  /** Bit i set: leaf i could not bind (signature, lane, policy, order) and has no standing. */
  readonly unbound: bigint;
  /** Time of the commit, by the contract's clock. */
  readonly committedAt: number;
  /** Block number of the commit. */
  readonly committedBlock: number;
}

/** What a batch's name covers. */
export type BatchIdentity = Omit<BatchHeader, 'unbound' | 'committedAt' | 'committedBlock'>;

const BATCH_TAG = id('assay/batch/2');

/**
 * Names a batch by what it is and where: chain, contract, poster, salt, policy and content. The block is not part of it:
 * a commit that a reorganisation moved to another block keeps its name, and draws anew.
 * @throws AssayError RECEIPT_FIELD_INVALID
 */
export function batchHash(header: BatchIdentity, domain: ReceiptDomain): Hex {
  return keccak256(
    AbiCoder.defaultAbiCoder().encode(
      ['bytes32', 'uint256', 'address', 'address', 'bytes32', 'uint256', 'uint256', 'bytes32', 'bytes32'],
      [
        BATCH_TAG,
        checkUint('domain', 'chainId', domain.chainId, 256),
        checkHex('domain', 'verifyingContract', domain.verifyingContract, 20),
        checkHex('header', 'poster', header.poster, 20),
        checkHex('header', 'salt', header.salt, 32),
        laneNumber('header', header.lane),
        checkUint('header', 'count', header.count, 32),
        checkHex('header', 'policyHash', header.policyHash, 32),
        checkHex('header', 'batchRoot', header.batchRoot, 32),
      ],
    ),
  ) as Hex;
}

/** What the contract stores under `batchHash`: the whole header. @throws AssayError RECEIPT_FIELD_INVALID */
export function headerHash(header: BatchHeader, domain: ReceiptDomain): Hex {
  return keccak256(
    AbiCoder.defaultAbiCoder().encode(
      ['bytes32', 'uint256', 'uint256', 'uint256'],
      [
        batchHash(header, domain),
        checkUint('header', 'unbound', header.unbound, 256),
        checkUint('header', 'committedAt', header.committedAt, 48),
        checkUint('header', 'committedBlock', header.committedBlock, 48),
      ],
    ),
  ) as Hex;
}

/**
 * The leaf that an order is bound to: this receipt at this place of this batch.
 * @throws AssayError RECEIPT_FIELD_INVALID
 */
export function boundLeaf(batch: Hex, index: number, structHash: Hex): Hex {
  return keccak256(
    AbiCoder.defaultAbiCoder().encode(
      ['bytes32', 'uint256', 'bytes32'],
      [
        checkHex('leaf', 'batchHash', batch, 32),
        checkUint('leaf', 'index', index, 256),
        checkHex('leaf', 'receiptHash', structHash, 32),
      ],
    ),
  ) as Hex;
}

/**
 * Seed of a batch's draw, as the contract fixes it: nobody knows it when the batch is committed, and it belongs to
 * this batch alone.
 * @param blockHash of the block `beaconDelay` after the commit
 * @throws AssayError RECEIPT_FIELD_INVALID
 */
export function drawSeed(blockHash: Hex, batch: Hex): Hex {
  return keccak256(
    AbiCoder.defaultAbiCoder().encode(
      ['bytes32', 'bytes32'],
      [checkHex('draw', 'blockHash', blockHash, 32), checkHex('draw', 'batchHash', batch, 32)],
    ),
  ) as Hex;
}

/** Indexes of the leaves that stand, in order. */
export function boundIndexes(header: Pick<BatchHeader, 'count' | 'unbound'>): number[] {
  return Array.from({ length: header.count }, (_, i) => i).filter((i) => ((header.unbound >> BigInt(i)) & 1n) === 0n);
}
