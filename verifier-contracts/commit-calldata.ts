/**
 * The calldata of a commit, as the contract has read it.
 *
 * Whoever sends a commit chooses its bytes. Solidity takes more of them than an ordinary decoder does: no padding behind
 * the last bytes, tails in any order or shared, an offset inside an array that points backwards. A batch that the contract
 * knows must be readable by everybody, so that offsets are followed here as Solidity follows them (ABI coder v2,
 * calldata): those of the arguments are unsigned and lie in the calldata; those of the elements of `bytes[]` are signed,
 * relative to the array's first word; what lies outside of the calldata reads as zero.
 *
 * Every length is checked before anything is copied: at most MAX_BATCH receipts of 12 words, as many signatures of at most
 * 65 bytes, and one evidence, which is no longer than the calldata.
 */
import { AssayError } from '../common/errors.js';
import { RECEIPT_TYPES } from '../receipts/eip712.js';
import { MAX_BATCH } from '../receipts/merkle.js';
import type { Hex } from '../receipts/types.js';

/** What stands in a commit; not yet checked against anything. */
export interface CommitCalldata {
  /** Fields of each receipt by name: hex of 20 or 32 bytes, or a number. */
  readonly receipts: readonly Readonly<Record<string, Hex | bigint>>[];
  readonly signatures: readonly Hex[];
  readonly evidence?: Hex;
}

/** In which word of the arguments the offset of each list stands. */
export interface CommitLayout {
  readonly receipts: number;
  readonly signatures: number;
  readonly evidence?: number;
}

const WORD = 32;
const SELECTOR = 4;
/** Of either function. */
const ARGUMENTS = 5;
const LONGEST_SIGNATURE = 65;
const FIELDS = RECEIPT_TYPES['Receipt']!;

/**
 * @param data the whole calldata
 * @throws AssayError CHAIN_BATCH_UNKNOWN where the contract would not have read it, or it holds what no receipt or
 * signature can be
 */
export function readCommit(data: Hex, layout: CommitLayout): CommitCalldata {
  const bytes = Buffer.from(data.slice(2), 'hex');
  if (bytes.length < SELECTOR + ARGUMENTS * WORD) throw unreadable('arguments: cut off');
  const receiptsAt = argument(bytes, layout.receipts, 'receipts');
  const signaturesAt = argument(bytes, layout.signatures, 'signatures');
  const receipts = Array.from({ length: lengthAt(bytes, receiptsAt, FIELDS.length, 'receipts') }, (_, i) =>
    receiptAt(bytes, receiptsAt + WORD + i * FIELDS.length * WORD, i),
  );
  const signatures = Array.from({ length: lengthAt(bytes, signaturesAt, 1, 'signatures') }, (_, i) =>
    signatureAt(bytes, signaturesAt + WORD, i),
  );
  if (signatures.length !== receipts.length) {
    throw unreadable(`${receipts.length} receipts, but ${signatures.length} signatures`);
  }
  if (layout.evidence === undefined) return { receipts, signatures };
  const evidenceAt = argument(bytes, layout.evidence, 'evidence');
  return { receipts, signatures, evidence: slice(bytes, evidenceAt, bytes.length, 'evidence') };
}

/** Where the list begins whose offset is this argument. */
function argument(bytes: Buffer, index: number, what: string): number {
  const offset = wordAt(bytes, SELECTOR + index * WORD);
  if (offset > BigInt(bytes.length - SELECTOR - WORD)) throw unreadable(`${what}: they begin behind the end`);
  return SELECTOR + Number(offset);
}

function lengthAt(bytes: Buffer, at: number, words: number, what: string): number {
  const length = wordAt(bytes, at);
  if (length > BigInt(MAX_BATCH)) throw unreadable(`${what}: expected at most ${MAX_BATCH}, found ${length}`);
  if (at + WORD + Number(length) * words * WORD > bytes.length) throw unreadable(`${what}: cut off`);
  return Number(length);
}

function receiptAt(bytes: Buffer, at: number, index: number): Record<string, Hex | bigint> {
  const entries = FIELDS.map(({ name, type }, i): [string, Hex | bigint] => {
    const value = wordAt(bytes, at + i * WORD);
    const bits = type === 'bytes32' ? 256 : type === 'address' ? 160 : Number(type.slice('uint'.length));
    if (value >> BigInt(bits) !== 0n) throw unreadable(`receipt ${index}: ${name} is no ${type}`);
    return [name, type.startsWith('uint') ? value : `0x${value.toString(16).padStart(bits / 4, '0')}`];
  });
  return Object.fromEntries(entries);
}

/** @param heads the first word of the array, which its offsets are relative to */
function signatureAt(bytes: Buffer, heads: number, index: number): Hex {
  const what = `signature ${index}`;
  const offset = BigInt.asIntN(256, wordAt(bytes, heads + index * WORD));
  const at = BigInt(heads) + offset;
  if (at > BigInt(bytes.length - WORD)) throw unreadable(`${what}: it begins behind the end`);
  // Far in front of the calldata, as behind it, there is nothing: no length, no bytes.
  return at <= BigInt(-WORD) ? '0x' : slice(bytes, Number(at), LONGEST_SIGNATURE, what);
}

/** Length and bytes. */
function slice(bytes: Buffer, at: number, longest: number, what: string): Hex {
  const length = wordAt(bytes, at);
  if (length > BigInt(longest)) throw unreadable(`${what}: expected at most ${longest} bytes, found ${length}`);
  const start = at + WORD;
  const end = start + Number(length);
  if (end > bytes.length) throw unreadable(`${what}: cut off`);
  return `0x${bytes.subarray(start, end).toString('hex')}`;
}

/** As CALLDATALOAD: zeros behind the end. An address in front of the calldata is a huge one, so that it lies behind it. */
function wordAt(bytes: Buffer, at: number): bigint {
  if (at < 0 || at >= bytes.length) return 0n;
  const hex = bytes.subarray(at, at + WORD).toString('hex');
  return BigInt(`0x${hex.padEnd(2 * WORD, '0')}`);
}

const unreadable = (reason: string): AssayError =>
  new AssayError('CHAIN_BATCH_UNKNOWN', `the calldata cannot be read: ${reason}`);
