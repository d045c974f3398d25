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
import { LANES, type Hex, type JobOrder, type Lane, type Receipt, type ReceiptDomain } from './types.js';

export const RECEIPT_FILE_VERSION = 1;

/** 64 MiB: far above any receipt with its tensors, far below what exhausts a browser. */
const MAX_FILE_CHARS = 64 * 1024 * 1024;

/** Where the receipt stands in a posted batch. */
export interface BatchPosition {
  readonly header: BatchHeader;
  readonly index: number;
  /** Siblings from the leaf upwards. */
  readonly path: readonly Hex[];
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
  /** The integers under `receipt.inputRoot`: one list per graph input, item after item, row-major. */
  readonly inputs?: readonly (readonly number[])[];
  /** The integers under `receipt.outputRoot`: one list per graph output. */
  readonly outputs?: readonly (readonly number[])[];
  /** Absent until the receipt is posted. */
  readonly batch?: BatchPosition;
}

const hex = (bytes: number) =>
  z.custom<Hex>(
    (value) => typeof value === 'string' && value.length === 2 + 2 * bytes && /^0x[0-9a-f]*$/.test(value),
    `expected 0x and ${2 * bytes} lower-case hex digits`,
  );
const signatureBytes = z.custom<Hex>(
  (value) => typeof value === 'string' && /^0x([0-9a-f]{2})+$/.test(value),
  'expected 0x and lower-case hex bytes',
);
const uint = (max: number) => z.int().min(0).max(max);
const uint32 = uint(2 ** 32 - 1);
const seconds = uint(Number.MAX_SAFE_INTEGER);
const uint256 = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,77})$/, 'expected a decimal string without leading zeros')
  .transform((text) => BigInt(text))
  .refine((value) => value < 1n << 256n, 'expected at most 256 bits');
const lane = z.enum(Object.keys(LANES) as [Lane, ...Lane[]]);
const tensors = z.array(
  z.array(
    z
      .int()
      .min(-(2 ** 31))
      .max(2 ** 31 - 1),
  ),
);

const schema = z.strictObject({
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
  signature: signatureBytes,
  order: z
    .strictObject({
      requester: hex(20),
      modelDigest: hex(32),
      inputRoot: hex(32),
      items: uint32,
      lane,
      policyHash: hex(32),
      price: uint256,
      deliverBy: seconds,
      nonce: uint256,
    })
    .exactOptional(),
  orderSignature: signatureBytes.exactOptional(),
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
        unbound: uint256,
        committedAt: uint(2 ** 48 - 1),
      }),
      index: z.int().min(0).max(255),
      path: z.array(hex(32)).max(8),
    })
    .exactOptional(),
});

/**
 * @param fileName for the message
 * @throws AssayError RECEIPT_FILE_MALFORMED
 */
export function parseReceiptFile(text: string, fileName = 'receipt'): ReceiptFile {
  if (text.length > MAX_FILE_CHARS) {
    throw malformed(fileName, `expected at most ${MAX_FILE_CHARS} characters, found ${text.length}`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw malformed(fileName, `not JSON: ${(cause as Error).message}`, cause);
  }
  if (JSON.stringify(json) !== withoutSpace(text)) {
    throw malformed(fileName, 'a number, string or key is not in canonical spelling, or a key stands twice');
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw malformed(fileName, `${issue.path.join('.') || 'file'}: ${issue.message}`);
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

/** JSON text without the white space between its tokens. */
function withoutSpace(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, (_match, string: string | undefined) => string ?? '');
}

function malformed(fileName: string, found: string, cause?: unknown): AssayError {
  return new AssayError('RECEIPT_FILE_MALFORMED', `${fileName}: ${found}`, {
    meta: { file: fileName },
    ...(cause === undefined ? {} : { cause }),
  });
}
