/**
 * The JSON form of a receipt: what is handed to the requester and to anybody who wants to check it.
 *
 * Strict: exact fields, lower-case hex, whole numbers; 256-bit numbers are decimal strings. Only the canonical
 * spelling is accepted (no 1e3, no 1.0, no doubled key, no escapes where none is needed), so that two parsers can
 * never read two receipts out of one file. White space is free.
 */
import { z } from 'zod';
import { AssayError } from '../common/errors.js';
import type { BatchHeader } from './batch.js';
import { isHexBytes } from './eip712.js';
import { LANES, type Hex, type JobOrder, type Lane, type Receipt, type ReceiptDomain } from './types.js';

export const RECEIPT_FILE_VERSION = 2;

export const ZK_SCHEMES = ['mercury', 'hyperkzg'] as const;

/** 1 MiB: some hundred times the proofs of today. */
const MAX_PROOF_BYTES = 2 ** 20;

/** 64 MiB: far above any receipt with its tensors, far below what exhausts a browser. */
const MAX_FILE_CHARS = 64 * 1024 * 1024;

/** The deepest thing in a receipt file is a number in a tensor, at 3; deeper nesting overflows the stack of a parser. */
const MAX_DEPTH = 8;

/** The last second that a Date can hold. */
const MAX_SECONDS = 8_640_000_000_000;

/** Where the receipt stands in a posted batch. */
export interface BatchPosition {
  readonly header: BatchHeader;
  readonly index: number;
  /** Siblings from the leaf upwards. */
  readonly path: readonly Hex[];
}

/** What makes a receipt of the zk lane checkable by itself: the proof that its output is the model's on its input. */
export interface ZkEvidence {
  /** How the proof opens its commitments; what the proof's own header says. */
  readonly scheme: (typeof ZK_SCHEMES)[number];
  /** The bytes of the proof, made for this receipt's order and no other. */
  readonly proof: Hex;
  /**
   * The integers that the proof is about, where the outputs are only derived from them (an arg-max at the end of the
   * model): one list per output. Absent where they are the outputs.
   */
  readonly published?: readonly (readonly number[])[];
}

export interface ReceiptFile {
  readonly version: typeof RECEIPT_FILE_VERSION;
  readonly domain: ReceiptDomain;
  readonly receipt: Receipt;
  /** The executor's, over the receipt. */
  readonly signature: Hex;
  readonly order?: JobOrder;
  /** The requester's, over the order. */
  readonly orderSignature?: Hex;
  /** The executor's, over its acceptance of the order. */
  readonly acceptance?: Hex;
  /** The integers under `receipt.inputRoot`: one list per graph input, item after item, row-major. */
  readonly inputs?: readonly (readonly number[])[];
  /** The integers under `receipt.outputRoot`: one list per graph output. */
  readonly outputs?: readonly (readonly number[])[];
  /** Absent until the receipt is posted; one of the zk lane stands by its proof without. */
  readonly batch?: BatchPosition;
  /** Of a receipt of the zk lane alone; absent until it is proved. */
  readonly evidence?: ZkEvidence;
}

const hex = (bytes: number) =>
  z.custom<Hex>(
    (value) => typeof value === 'string' && value.length === 2 + 2 * bytes && /^0x[0-9a-f]*$/.test(value),
    `expected 0x and ${2 * bytes} lower-case hex digits`,
  );
const hexBytes = z.custom<Hex>(
  (value) => typeof value === 'string' && value.length > 2 && isHexBytes(value),
  'expected 0x and lower-case hex bytes',
);
const uint = (max: number) => z.int().min(0).max(max);
const uint32 = uint(2 ** 32 - 1);
const seconds = uint(MAX_SECONDS);
const uint256 = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,77})$/, 'expected a decimal string without leading zeros')
  .transform((text) => BigInt(text))
  .refine((value) => value < 1n << 256n, 'expected at most 256 bits');
const lane = z.enum(Object.keys(LANES) as [Lane, ...Lane[]]);
// Long lists are checked here and not by zod, which keeps a finding for each of a million wrong elements.
const tensors = z.custom<number[][]>(
  (value) => Array.isArray(value) && value.every((tensor) => Array.isArray(tensor) && tensor.every(isInt32)),
  'expected lists of whole numbers of 32 bits',
);
const isInt32 = (value: unknown): boolean => typeof value === 'number' && (value | 0) === value;

const fields = z.strictObject({
  version: z.literal(RECEIPT_FILE_VERSION),
  domain: z.strictObject({ chainId: uint256, verifyingContract: hex(20) }),
  receipt: z.strictObject({
    orderHash: hex(32),
    modelDigest: hex(32),
    inputRoot: hex(32),
    outputRoot: hex(32),
    traceRoot: hex(32),
    opCount: uint32,
    items: uint32,
    amount: uint256,
    lane,
    policyHash: hex(32),
    executor: hex(20),
    issuedAt: seconds,
  }),
  signature: hexBytes,
  order: z
    .strictObject({
      requester: hex(20),
      executor: hex(20),
      modelDigest: hex(32),
      inputRoot: hex(32),
      items: uint32,
      lane,
      policyHash: hex(32),
      price: uint256,
      surcharge: uint256,
      outputBytes: uint32,
      deliverBy: seconds,
      validUntil: seconds,
      nonce: uint256,
    })
    .exactOptional(),
  orderSignature: hexBytes.exactOptional(),
  acceptance: hexBytes.exactOptional(),
  inputs: tensors.exactOptional(),
  outputs: tensors.exactOptional(),
  batch: z
    .strictObject({
      header: z.strictObject({
        lane,
        count: z.int().min(1).max(256),
        poster: hex(20),
        salt: hex(32),
        batchRoot: hex(32),
        policyHash: hex(32),
        unbound: uint256,
        committedAt: uint(2 ** 48 - 1),
        committedBlock: uint(2 ** 48 - 1),
      }),
      index: z.int().min(0).max(255),
      path: z.array(hex(32)).max(8),
    })
    .exactOptional(),
  evidence: z
    .strictObject({
      scheme: z.enum(ZK_SCHEMES),
      proof: hexBytes.refine((text) => text.length <= 2 + 2 * MAX_PROOF_BYTES, {
        message: `expected a proof of at most ${MAX_PROOF_BYTES} bytes`,
      }),
      published: tensors.exactOptional(),
    })
    .exactOptional(),
});
const schema = fields
  .refine(({ order, orderSignature }) => orderSignature === undefined || order !== undefined, {
    path: ['orderSignature'],
    message: 'a signature over an order that the file does not carry',
  })
  .refine(({ order, acceptance }) => acceptance === undefined || order !== undefined, {
    path: ['acceptance'],
    message: 'the acceptance of an order that the file does not carry',
  })
  .refine(({ receipt, evidence }) => evidence === undefined || receipt.lane === 'zk', {
    path: ['evidence'],
    message: 'a proof beside a receipt of another lane than zk',
  });

/**
 * @param fileName for the message
 * @throws AssayError RECEIPT_FILE_MALFORMED
 */
export function parseReceiptFile(text: string, fileName = 'receipt'): ReceiptFile {
  if (text.length > MAX_FILE_CHARS) {
    throw malformed(fileName, `expected at most ${MAX_FILE_CHARS} characters, found ${text.length}`);
  }
  if (isDeeperThan(text, MAX_DEPTH)) throw malformed(fileName, `expected at most ${MAX_DEPTH} nested levels`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw malformed(fileName, `not JSON: ${(cause as Error).message}`, cause);
  }
  if (!isSpelledAs(text, JSON.stringify(json))) {
    throw malformed(fileName, 'a number, string or key is not in canonical spelling, or a key stands twice');
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    // The names of surplus fields are the file's, and may be of any length.
    throw malformed(fileName, `${issue.path.join('.') || 'file'}: ${issue.message.slice(0, 300)}`);
  }
  return parsed.data;
}

/** The canonical text of a receipt file, ending in a newline. @throws AssayError RECEIPT_FILE_MALFORMED */
export function formatReceiptFile(file: ReceiptFile): string {
  const text = `${JSON.stringify(file, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value), 2)}\n`;
  // What is written can be read again: a wrong field fails here, at its maker, not at the reader's.
  parseReceiptFile(text);
  return text;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const SPACES = [0x20, 0x09, 0x0d, 0x0a];

/** Is this text, apart from white space between its tokens, the given one? One pass without a copy. @param text JSON */
function isSpelledAs(text: string, compact: string): boolean {
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (SPACES.includes(code)) continue;
    const end = code === QUOTE ? endOfString(text, i) : i + 1;
    if (end - i > compact.length - at) return false;
    for (; i < end; i++, at++) if (text.charCodeAt(i) !== compact.charCodeAt(at)) return false;
    i--;
  }
  return at === compact.length;
}

/** Counts brackets outside of strings, in text that need not be JSON. */
function isDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char === '"') i = endOfString(text, i) - 1;
    else if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') depth--;
    if (depth > limit) return true;
  }
  return false;
}

/** Index after the quote that closes the string that begins at `start`, or beyond the text where none does. */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text.charCodeAt(i) !== QUOTE) i += text.charCodeAt(i) === BACKSLASH ? 2 : 1;
  return i + 1;
}

function malformed(fileName: string, found: string, cause?: unknown): AssayError {
  return new AssayError('RECEIPT_FILE_MALFORMED', `${fileName}: ${found}`, {
    meta: { file: fileName },
    ...(cause === undefined ? {} : { cause }),
  });
}
