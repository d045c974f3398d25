/**
 * Signatures over orders, their acceptance and cancellation, registrations and receipts.
 *
 * An externally owned account signs with ECDSA over secp256k1: 65 bytes r | s | v, v 27 or 28, s in the lower
 * half of the group order (EIP-2), so that one signing has one signature. A contract account is asked by ERC-1271;
 * the settlement contracts do so for requesters alone, an executor there is a key.
 */
import { Interface, recoverAddress, type Provider, type Signer } from 'ethers';
import { AssayError } from '../common/errors.js';
import { ask } from './ask.js';
import {
  ACCEPTANCE_TYPES,
  CANCELLATION_TYPES,
  hashAcceptance,
  hashCancellation,
  hashNodeRegistration,
  hashOpening,
  hashOrder,
  hashReceipt,
  isHexBytes,
  NODE_REGISTRATION_TYPES,
  OPENING_TYPES,
  openingValue,
  ORDER_TYPES,
  orderValue,
  RECEIPT_TYPES,
  receiptValue,
  registrationValue,
  typedDomain,
} from './eip712.js';
import type { Hex, JobOrder, NodeRegistration, Opening, Receipt, ReceiptDomain, Verdict } from './types.js';

/** Half the order of secp256k1, rounded down. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

const erc1271 = new Interface(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)']);
/** `bytes4(keccak256("isValidSignature(bytes32,bytes)"))` in one word. */
const ERC1271_MAGIC = `0x1626ba7e${'0'.repeat(56)}`;

/** @throws AssayError RECEIPT_FIELD_INVALID */
export async function signOrder(order: JobOrder, domain: ReceiptDomain, signer: Signer): Promise<Hex> {
  return (await signer.signTypedData(typedDomain(domain), ORDER_TYPES, orderValue(order))) as Hex;
}

/** The executor's signature that lets an order be opened. @throws AssayError RECEIPT_FIELD_INVALID */
export async function signAcceptance(order: JobOrder, domain: ReceiptDomain, signer: Signer): Promise<Hex> {
  const value = { orderHash: hashOrder(order, domain) };
  return (await signer.signTypedData(typedDomain(domain), ACCEPTANCE_TYPES, value)) as Hex;
}

/** Either side's signature that an open order may be given up. @throws AssayError RECEIPT_FIELD_INVALID */
export async function signCancellation(order: JobOrder, domain: ReceiptDomain, signer: Signer): Promise<Hex> {
  const value = { orderHash: hashOrder(order, domain) };
  return (await signer.signTypedData(typedDomain(domain), CANCELLATION_TYPES, value)) as Hex;
}

/** The signature of a node's signer that it acts for an account. @throws AssayError RECEIPT_FIELD_INVALID */
export async function signNodeRegistration(
  registration: NodeRegistration,
  domain: ReceiptDomain,
  signer: Signer,
): Promise<Hex> {
  const value = registrationValue(registration);
  return (await signer.signTypedData(typedDomain(domain), NODE_REGISTRATION_TYPES, value)) as Hex;
}

/** @throws AssayError RECEIPT_FIELD_INVALID */
export async function signReceipt(receipt: Receipt, domain: ReceiptDomain, signer: Signer): Promise<Hex> {
  return (await signer.signTypedData(typedDomain(domain), RECEIPT_TYPES, receiptValue(receipt))) as Hex;
}

/** The executor's word in a dispute; whoever relays it. @throws AssayError RECEIPT_FIELD_INVALID */
export async function signOpening(opening: Opening, domain: ReceiptDomain, signer: Signer): Promise<Hex> {
  return (await signer.signTypedData(typedDomain(domain), OPENING_TYPES, openingValue(opening))) as Hex;
}

/**
 * The account whose key made this signature over the receipt; compare it with `receipt.executor`.
 * @throws AssayError SIGNATURE_MALFORMED (length, v, high s, no such point), RECEIPT_FIELD_INVALID
 */
export function recoverReceiptSigner(receipt: Receipt, signature: Hex, domain: ReceiptDomain): Hex {
  return recoverSigner(hashReceipt(receipt, domain), signature);
}

/** @throws AssayError SIGNATURE_MALFORMED */
export function recoverOrderSigner(order: JobOrder, signature: Hex, domain: ReceiptDomain): Hex {
  return recoverSigner(hashOrder(order, domain), signature);
}

/** Compare it with `order.executor`. @throws AssayError SIGNATURE_MALFORMED, RECEIPT_FIELD_INVALID */
export function recoverAcceptanceSigner(order: JobOrder, signature: Hex, domain: ReceiptDomain): Hex {
  return recoverSigner(hashAcceptance(hashOrder(order, domain), domain), signature);
}

/** Compare it with `order.requester` or `order.executor`. @throws AssayError SIGNATURE_MALFORMED, RECEIPT_FIELD_INVALID */
export function recoverCancellationSigner(order: JobOrder, signature: Hex, domain: ReceiptDomain): Hex {
  return recoverSigner(hashCancellation(hashOrder(order, domain), domain), signature);
}

/** Compare it with `registration.signer`. @throws AssayError SIGNATURE_MALFORMED, RECEIPT_FIELD_INVALID */
export function recoverRegistrationSigner(registration: NodeRegistration, signature: Hex, domain: ReceiptDomain): Hex {
  return recoverSigner(hashNodeRegistration(registration, domain), signature);
}

/** Compare it with `receipt.executor`. @throws AssayError SIGNATURE_MALFORMED, RECEIPT_FIELD_INVALID */
export function recoverOpeningSigner(opening: Opening, signature: Hex, domain: ReceiptDomain): Hex {
  return recoverSigner(hashOpening(opening, domain), signature);
}

/**
 * The account whose key made this signature over a 32-byte digest.
 * @throws AssayError SIGNATURE_MALFORMED
 */
function recoverSigner(digest: Hex, signature: Hex): Hex {
  if (!/^0x[0-9a-f]{130}$/.test(signature)) {
    throw malformed(`expected 65 bytes in lower-case hex, found ${String(signature).length} characters`);
  }
  const v = Number.parseInt(signature.slice(130), 16);
  if (v !== 27 && v !== 28) throw malformed(`expected v 27 or 28, found ${v}`);
  if (BigInt(`0x${signature.slice(66, 130)}`) > HALF_ORDER) {
    throw malformed('expected s in the lower half of the group order, found its mirror image in the upper half');
  }
  try {
    return recoverAddress(digest, signature).toLowerCase() as Hex;
  } catch (cause) {
    throw malformed('r and s name no point of the curve', cause);
  }
}

function malformed(found: string, cause?: unknown): AssayError {
  return new AssayError('SIGNATURE_MALFORMED', `signature: ${found}`, cause === undefined ? {} : { cause });
}

/**
 * Is this the executor's signature? By its key first; where that does not fit and the executor is a contract, by
 * asking the contract (ERC-1271, exact magic value). Without a provider a signature that no key explains is
 * undetermined, since the executor might be a contract; so it is when the provider does not answer.
 * @param timeoutMs per question to the provider
 * @throws AssayError RECEIPT_FIELD_INVALID
 */
export function verifyReceiptSignature(
  receipt: Receipt,
  signature: Hex,
  domain: ReceiptDomain,
  provider?: Provider,
  timeoutMs = 15_000,
): Promise<Verdict> {
  return verifySignature(hashReceipt(receipt, domain), signature, receipt.executor, provider, timeoutMs);
}

/** The same for the requester's signature over an order. @throws AssayError RECEIPT_FIELD_INVALID */
export function verifyOrderSignature(
  order: JobOrder,
  signature: Hex,
  domain: ReceiptDomain,
  provider?: Provider,
  timeoutMs = 15_000,
): Promise<Verdict> {
  return verifySignature(hashOrder(order, domain), signature, order.requester, provider, timeoutMs);
}

/** Did the order's executor accept it? By key alone: the contract takes no other signature of an executor. */
export function verifyAcceptance(order: JobOrder, signature: Hex, domain: ReceiptDomain): Verdict {
  const why = explainByKey(hashAcceptance(hashOrder(order, domain), domain), signature, order.executor);
  return why === null ? { verdict: 'valid' } : { verdict: 'invalid', reason: why };
}

async function verifySignature(
  digest: Hex,
  signature: Hex,
  account: Hex,
  provider: Provider | undefined,
  timeoutMs: number,
): Promise<Verdict> {
  const byKey = explainByKey(digest, signature, account);
  if (byKey === null) return { verdict: 'valid' };
  if (provider === undefined) {
    return {
      verdict: 'undetermined',
      reason: `${byKey}; whether ${account} is a contract that accepts it needs a provider`,
    };
  }
  const code = await ask(() => provider.getCode(account), timeoutMs);
  if (code.kind !== 'answered')
    return { verdict: 'undetermined', reason: `${byKey}; code of ${account}: ${code.reason}` };
  if (code.value === '0x') return { verdict: 'invalid', reason: byKey };
  if (!isHexBytes(signature)) return { verdict: 'invalid', reason: 'the signature is not hex' };
  const data = erc1271.encodeFunctionData('isValidSignature', [digest, signature]);
  const answer = await ask(() => provider.call({ to: account, data }), timeoutMs);
  if (answer.kind === 'silent')
    return { verdict: 'undetermined', reason: `ERC-1271 call to ${account}: ${answer.reason}` };
  if (answer.kind === 'answered' && answer.value === ERC1271_MAGIC) return { verdict: 'valid' };
  return { verdict: 'invalid', reason: `contract ${account} does not accept the signature (ERC-1271)` };
}

/** Null where the account's own key made the signature, else why not. */
function explainByKey(digest: Hex, signature: Hex, account: Hex): string | null {
  try {
    const signer = recoverSigner(digest, signature);
    return signer === account ? null : `signed by ${signer}, expected ${account}`;
  } catch (error) {
    if (error instanceof AssayError && error.code === 'SIGNATURE_MALFORMED') return error.message;
    throw error;
  }
}
