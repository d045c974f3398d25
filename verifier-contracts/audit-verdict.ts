/** The verdict of an audit, signed by each auditor (EIP-712) and reported to the rollup by anybody. */
import { TypedDataEncoder, type Signer, type TypedDataField } from 'ethers';
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
}

const VERDICT_TYPES: Record<string, TypedDataField[]> = {
  AuditVerdict: [
    { name: 'batchHash', type: 'bytes32' },
    { name: 'seed', type: 'bytes32' },
    { name: 'kills', type: 'uint256' },
    { name: 'voided', type: 'uint256' },
    { name: 'resultsRoot', type: 'bytes32' },
  ],
};

function verdictValue(verdict: AuditVerdict): TypedValue {
  return {
    batchHash: checkHex('verdict', 'batchHash', verdict.batchHash, 32),
    seed: checkHex('verdict', 'seed', verdict.seed, 32),
    kills: checkUint('verdict', 'kills', verdict.kills, 256),
    voided: checkUint('verdict', 'voided', verdict.voided, 256),
    resultsRoot: checkHex('verdict', 'resultsRoot', verdict.resultsRoot, 32),
  };
}

/** EIP-712 struct hash: what the contract keeps as `verdictOf`. @throws AssayError RECEIPT_FIELD_INVALID */
export function verdictStructHash(verdict: AuditVerdict): Hex {
  return TypedDataEncoder.hashStruct('AuditVerdict', VERDICT_TYPES, verdictValue(verdict)) as Hex;
}

/** @throws AssayError RECEIPT_FIELD_INVALID */
export async function signVerdict(verdict: AuditVerdict, domain: ReceiptDomain, signer: Signer): Promise<Hex> {
  return (await signer.signTypedData(typedDomain(domain), VERDICT_TYPES, verdictValue(verdict))) as Hex;
}

/** Bitmap with the given bits set. */
export function bitmapOf(indexes: Iterable<number>): bigint {
  let bitmap = 0n;
  for (const index of indexes) bitmap |= 1n << BigInt(index);
  return bitmap;
}
