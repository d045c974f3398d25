/** The verdict of an audit, signed by each auditor (EIP-712) and reported to the court by anybody. */
import { keccak256, TypedDataEncoder, type Signer, type TypedDataField } from 'ethers';
import { AssayError } from '../common/errors.js';
import { checkHex, checkUint, typedDomain, type TypedValue } from '../receipts/eip712.js';
import type { Hex, ReceiptDomain } from '../receipts/types.js';

export interface AuditVerdict {
  readonly batchHash: Hex;
  /** The seed that the contract fixed: a verdict for another draw does not fit. */
  readonly seed: Hex;
  /** Bit i set: leaf i is invalid. */
  readonly kills: bigint;
  /** Bit i set: leaf i was drawn, and the audit could not decide it; it shares no bit with `kills`. */
  readonly voided: bigint;
  /** Root over the checkers' results, as published off chain. */
  readonly resultsRoot: Hex;
  /** One byte a leaf, see `checkerBytes`: who had which leaf to check, by lot. */
  readonly checkers: Hex;
  /** Who is paid the gas of the report for each leaf that it kills, whoever sends it; zero: the sender. */
  readonly reporter: Hex;
}

const VERDICT_TYPES: Record<string, TypedDataField[]> = {
  AuditVerdict: [
    { name: 'batchHash', type: 'bytes32' },
    { name: 'seed', type: 'bytes32' },
    { name: 'kills', type: 'uint256' },
    { name: 'voided', type: 'uint256' },
    { name: 'resultsRoot', type: 'bytes32' },
    { name: 'checkersHash', type: 'bytes32' },
    { name: 'reporter', type: 'address' },
  ],
};

function verdictValue(verdict: AuditVerdict): TypedValue {
  return {
    batchHash: checkHex('verdict', 'batchHash', verdict.batchHash, 32),
    seed: checkHex('verdict', 'seed', verdict.seed, 32),
    kills: checkUint('verdict', 'kills', verdict.kills, 256),
    voided: checkUint('verdict', 'voided', verdict.voided, 256),
    resultsRoot: checkHex('verdict', 'resultsRoot', verdict.resultsRoot, 32),
    checkersHash: keccak256(verdict.checkers),
    reporter: checkHex('verdict', 'reporter', verdict.reporter, 20),
  };
}

/** EIP-712 struct hash: what the court keeps as `verdictOf`. @throws AssayError RECEIPT_FIELD_INVALID */
export function verdictStructHash(verdict: AuditVerdict): Hex {
  return TypedDataEncoder.hashStruct('AuditVerdict', VERDICT_TYPES, verdictValue(verdict)) as Hex;
}

/** @throws AssayError RECEIPT_FIELD_INVALID */
export async function signVerdict(verdict: AuditVerdict, domain: ReceiptDomain, signer: Signer): Promise<Hex> {
  return (await signer.signTypedData(typedDomain(domain), VERDICT_TYPES, verdictValue(verdict))) as Hex;
}

/**
 * The verdict's `checkers`: byte i is 0 where leaf i was not drawn, else 1 + the auditor's place in the court's list.
 * @param count of leaves in the batch
 * @param assigned leaf and auditor, each from 0; a leaf at most once
 * @throws AssayError BATCH_INVALID
 */
export function checkerBytes(count: number, assigned: Iterable<readonly [leaf: number, auditor: number]>): Hex {
  const bytes = Array<number>(count).fill(0);
  for (const [leaf, auditor] of assigned) {
    if (bytes[leaf] !== 0 || !Number.isInteger(auditor) || auditor < 0 || auditor > 31) {
      throw new AssayError('BATCH_INVALID', `checkers: leaf ${leaf} of ${count} cannot be auditor ${auditor}'s`);
    }
    bytes[leaf] = auditor + 1;
  }
  return `0x${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Bitmap with the given bits set. */
export function bitmapOf(indexes: Iterable<number>): bigint {
  let bitmap = 0n;
  for (const index of indexes) bitmap |= 1n << BigInt(index);
  return bitmap;
}
