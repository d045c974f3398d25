/**
 * An order as a file: what the two sides have signed before there is a receipt. Of a receipt file that carries its order
 * the same is read.
 */
import { z } from 'zod';
import { AssayError } from '../../common/errors.js';
import {
  LANES,
  parseReceiptFile,
  type Hex,
  type JobOrder,
  type Lane,
  type ReceiptDomain,
} from '../../receipts/index.js';
import { readInputFile } from '../files.js';
import { toJson } from '../terminal.js';

export interface OrderFile {
  readonly domain: ReceiptDomain;
  readonly order: JobOrder;
  /** The requester's, over the order. */
  readonly orderSignature?: Hex;
  /** The executor's, over its acceptance of the order. */
  readonly acceptance?: Hex;
}

const ORDER_FILE_VERSION = 1;

const bytes = (count: number) =>
  z.custom<Hex>(
    (value) => typeof value === 'string' && value.length === 2 + 2 * count && /^0x[0-9a-f]*$/.test(value),
    `expected 0x and ${2 * count} lower-case hex digits`,
  );
const signature = z.custom<Hex>(
  (value) => typeof value === 'string' && /^0x([0-9a-f]{2})+$/.test(value),
  'expected 0x and lower-case hex bytes',
);
const uint32 = z
  .int()
  .min(0)
  .max(2 ** 32 - 1);
const time = z.int().min(0);
const uint256 = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,77})$/, 'expected a decimal string without leading zeros')
  .transform((text) => BigInt(text))
  .refine((value) => value < 1n << 256n, 'expected at most 256 bits');

const schema = z.strictObject({
  version: z.literal(ORDER_FILE_VERSION),
  domain: z.strictObject({ chainId: uint256, verifyingContract: bytes(20) }),
  order: z.strictObject({
    requester: bytes(20),
    executor: bytes(20),
    modelDigest: bytes(32),
    inputRoot: bytes(32),
    items: uint32,
    lane: z.enum(Object.keys(LANES) as [Lane, ...Lane[]]),
    policyHash: bytes(32),
    price: uint256,
    surcharge: uint256,
    outputBytes: uint32,
    deliverBy: time,
    validUntil: time,
    nonce: uint256,
  }),
  orderSignature: signature.exactOptional(),
  acceptance: signature.exactOptional(),
});

export const formatOrderFile = (file: OrderFile): string => `${toJson({ version: ORDER_FILE_VERSION, ...file })}\n`;

/**
 * The order of an order file or a receipt file.
 * @throws AssayError FILE_NOT_FOUND, ORDER_FILE_MALFORMED, RECEIPT_FILE_MALFORMED
 */
export function readOrderFile(path: string): OrderFile {
  const malformed = (found: string): AssayError =>
    new AssayError('ORDER_FILE_MALFORMED', `${path}: ${found}`, { meta: { file: path } });
  const text = new TextDecoder().decode(readInputFile(path));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw malformed(`not JSON: ${(cause as Error).message}`);
  }
  if (typeof json === 'object' && json !== null && 'receipt' in json) {
    const { domain, order, orderSignature, acceptance } = parseReceiptFile(text, path);
    if (order === undefined) throw malformed('the receipt does not carry its order');
    return {
      domain,
      order,
      ...(orderSignature === undefined ? {} : { orderSignature }),
      ...(acceptance === undefined ? {} : { acceptance }),
    };
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw malformed(`${issue.path.join('.') || 'file'}: ${issue.message.slice(0, 300)}`);
  }
  const { domain, order, orderSignature, acceptance } = parsed.data;
  return {
    domain,
    order,
    ...(orderSignature === undefined ? {} : { orderSignature }),
    ...(acceptance === undefined ? {} : { acceptance }),
  };
}
