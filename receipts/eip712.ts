/**
 * EIP-712 form of orders, receipts and what else is signed (https://eips.ethereum.org/EIPS/eip-712).
 *
 * Symbols
 *   structHash   keccak(typeHash | encoded fields): the same in every deployment; a Merkle leaf holds it
 *   digest       keccak(0x1901 | domainSeparator | structHash): bound to one chain and one contract; this is signed
 *
 * Everything that is signed names the rollup as its contract, be it that another one of the deployment reads it.
 * TypedHash.sol computes both from the type strings below; vectors/eip712.json holds the two together.
 */
import { keccak256, TypedDataEncoder, type TypedDataDomain, type TypedDataField } from 'ethers';
import { AssayError } from '../common/errors.js';
import {
  LANES,
  type Hex,
  type JobOrder,
  type Lane,
  type NodeRegistration,
  type Opening,
  type Receipt,
  type ReceiptDomain,
} from './types.js';

const DOMAIN_NAME = 'Assay';
const DOMAIN_VERSION = '1';

export const ORDER_TYPES: Record<string, TypedDataField[]> = {
  JobOrder: [
    { name: 'requester', type: 'address' },
    { name: 'executor', type: 'address' },
    { name: 'modelDigest', type: 'bytes32' },
    { name: 'inputRoot', type: 'bytes32' },
    { name: 'items', type: 'uint32' },
    { name: 'lane', type: 'uint8' },
    { name: 'policyHash', type: 'bytes32' },
    { name: 'price', type: 'uint256' },
    { name: 'surcharge', type: 'uint256' },
    { name: 'outputBytes', type: 'uint32' },
    { name: 'deliverBy', type: 'uint64' },
    { name: 'validUntil', type: 'uint64' },
    { name: 'nonce', type: 'uint256' },
  ],
};

export const RECEIPT_TYPES: Record<string, TypedDataField[]> = {
  Receipt: [
    { name: 'orderHash', type: 'bytes32' },
    { name: 'modelDigest', type: 'bytes32' },
    { name: 'inputRoot', type: 'bytes32' },
    { name: 'outputRoot', type: 'bytes32' },
    { name: 'traceRoot', type: 'bytes32' },
    { name: 'opCount', type: 'uint32' },
    { name: 'items', type: 'uint32' },
    { name: 'amount', type: 'uint256' },
    { name: 'lane', type: 'uint8' },
    { name: 'policyHash', type: 'bytes32' },
    { name: 'executor', type: 'address' },
    { name: 'issuedAt', type: 'uint64' },
  ],
};

/** The executor's consent to an order: it holds input and model, and will deliver. */
export const ACCEPTANCE_TYPES: Record<string, TypedDataField[]> = {
  Acceptance: [{ name: 'orderHash', type: 'bytes32' }],
};

/** Either side's consent to give an open order up. */
export const CANCELLATION_TYPES: Record<string, TypedDataField[]> = {
  Cancellation: [{ name: 'orderHash', type: 'bytes32' }],
};

/** The signer's consent to act for an account. */
export const NODE_REGISTRATION_TYPES: Record<string, TypedDataField[]> = {
  NodeRegistration: [
    { name: 'account', type: 'address' },
    { name: 'signer', type: 'address' },
  ],
};

/** The executor's word in a dispute. */
export const OPENING_TYPES: Record<string, TypedDataField[]> = {
  Opening: [
    { name: 'orderHash', type: 'bytes32' },
    { name: 'batchHash', type: 'bytes32' },
    { name: 'index', type: 'uint32' },
    { name: 'nodeId', type: 'bytes32' },
    { name: 'contentHash', type: 'bytes32' },
  ],
};

const orderEncoder = TypedDataEncoder.from(ORDER_TYPES);
const receiptEncoder = TypedDataEncoder.from(RECEIPT_TYPES);

/** Field values as a signer's `signTypedData` and the contract's ABI take them: the lane is its number. */
export type TypedValue = Record<string, string | number | bigint>;

/** @throws AssayError RECEIPT_FIELD_INVALID */
export function typedDomain(domain: ReceiptDomain): TypedDataDomain {
  return {
    name: DOMAIN_NAME,
    version: DOMAIN_VERSION,
    chainId: checkUint('domain', 'chainId', domain.chainId, 256),
    verifyingContract: checkHex('domain', 'verifyingContract', domain.verifyingContract, 20),
  };
}

/** @throws AssayError RECEIPT_FIELD_INVALID */
export function orderValue(order: JobOrder): TypedValue {
  return typedValue('order', ORDER_TYPES['JobOrder']!, order);
}

/** @throws AssayError RECEIPT_FIELD_INVALID */
export function receiptValue(receipt: Receipt): TypedValue {
  return typedValue('receipt', RECEIPT_TYPES['Receipt']!, receipt);
}

/** @throws AssayError RECEIPT_FIELD_INVALID */
export function registrationValue(registration: NodeRegistration): TypedValue {
  return typedValue('registration', NODE_REGISTRATION_TYPES['NodeRegistration']!, registration);
}

/** @throws AssayError RECEIPT_FIELD_INVALID */
export function openingValue(opening: Opening): TypedValue {
  return typedValue('opening', OPENING_TYPES['Opening']!, opening);
}

/** @throws AssayError RECEIPT_FIELD_INVALID */
export function domainSeparator(domain: ReceiptDomain): Hex {
  return TypedDataEncoder.hashDomain(typedDomain(domain)) as Hex;
}

/** Digest of the order: the identity of the request, and what the requester signs. @throws RECEIPT_FIELD_INVALID */
export function hashOrder(order: JobOrder, domain: ReceiptDomain): Hex {
  return digest(domain, orderEncoder.hash(orderValue(order)));
}

/** Struct hash of the receipt, without the domain: what a Merkle leaf holds. @throws RECEIPT_FIELD_INVALID */
export function receiptStructHash(receipt: Receipt): Hex {
  return receiptEncoder.hash(receiptValue(receipt)) as Hex;
}

/** Digest of the receipt: what the executor signs. @throws AssayError RECEIPT_FIELD_INVALID */
export function hashReceipt(receipt: Receipt, domain: ReceiptDomain): Hex {
  return digest(domain, receiptStructHash(receipt));
}

/** Digest that the executor signs to accept an order. @throws AssayError RECEIPT_FIELD_INVALID */
export function hashAcceptance(orderHash: Hex, domain: ReceiptDomain): Hex {
  return digest(domain, consent('Acceptance', ACCEPTANCE_TYPES, orderHash));
}

/** Digest that both sides sign to give an open order up. @throws AssayError RECEIPT_FIELD_INVALID */
export function hashCancellation(orderHash: Hex, domain: ReceiptDomain): Hex {
  return digest(domain, consent('Cancellation', CANCELLATION_TYPES, orderHash));
}

/** Digest that a node's signer signs. @throws AssayError RECEIPT_FIELD_INVALID */
export function hashNodeRegistration(registration: NodeRegistration, domain: ReceiptDomain): Hex {
  const value = registrationValue(registration);
  return digest(domain, TypedDataEncoder.hashStruct('NodeRegistration', NODE_REGISTRATION_TYPES, value));
}

/** Digest that the executor signs in a dispute. @throws AssayError RECEIPT_FIELD_INVALID */
export function hashOpening(opening: Opening, domain: ReceiptDomain): Hex {
  return digest(domain, TypedDataEncoder.hashStruct('Opening', OPENING_TYPES, openingValue(opening)));
}

function consent(name: string, types: Record<string, TypedDataField[]>, orderHash: Hex): string {
  return TypedDataEncoder.hashStruct(name, types, { orderHash: checkHex(name, 'orderHash', orderHash, 32) });
}

function digest(domain: ReceiptDomain, structHash: string): Hex {
  return keccak256(`0x1901${domainSeparator(domain).slice(2)}${structHash.slice(2)}`) as Hex;
}

function typedValue(
  what: string,
  fields: readonly TypedDataField[],
  source: JobOrder | Receipt | NodeRegistration | Opening,
): TypedValue {
  const value: TypedValue = {};
  for (const { name, type } of fields) {
    const given: unknown = (source as unknown as Record<string, unknown>)[name];
    if (name === 'lane') value[name] = laneNumber(what, given);
    else if (type === 'address') value[name] = checkHex(what, name, given, 20);
    else if (type === 'bytes32') value[name] = checkHex(what, name, given, 32);
    else value[name] = checkUint(what, name, given, Number(type.slice('uint'.length)));
  }
  return value;
}

/** The number of a lane by its name. @throws AssayError RECEIPT_FIELD_INVALID */
export function laneNumber(what: string, lane: unknown): number {
  if (typeof lane !== 'string' || !Object.hasOwn(LANES, lane)) {
    throw invalidField(what, 'lane', `one of ${Object.keys(LANES).join(', ')}`, lane);
  }
  return LANES[lane as Lane];
}

/** Lower-case only: one value has one spelling, so that equal receipts are equal strings. */
export function checkHex(what: string, name: string, value: unknown, bytes: number): Hex {
  if (typeof value !== 'string' || value.length !== 2 + 2 * bytes || !/^0x[0-9a-f]*$/.test(value)) {
    throw invalidField(what, name, `0x and ${2 * bytes} lower-case hex digits`, value);
  }
  return value as Hex;
}

/** 0x and lower-case hex digits, two for each byte. No group in the pattern: one would overflow on megabytes. */
export function isHexBytes(value: string): boolean {
  return value.length % 2 === 0 && /^0x[0-9a-f]*$/.test(value);
}

/** Accepts a bigint, or a number that a double holds exactly. */
export function checkUint(what: string, name: string, value: unknown, bits: number): bigint {
  const whole = typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value));
  if (!whole || BigInt(value as number | bigint) < 0n || BigInt(value as number | bigint) >= 1n << BigInt(bits)) {
    throw invalidField(what, name, `a whole number of at most ${bits} bits`, value);
  }
  return BigInt(value as number | bigint);
}

function invalidField(what: string, name: string, expected: string, found: unknown): AssayError {
  const shown = typeof found === 'string' ? `"${found.slice(0, 80)}"` : String(found);
  return new AssayError('RECEIPT_FIELD_INVALID', `${what}.${name}: expected ${expected}, found ${shown}`, {
    meta: { what, field: name, expected, found: shown },
  });
}
