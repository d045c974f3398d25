/**
 * What there is of a deployment, as a JSON file: written before the first transaction and after each, so that a
 * deployment that was cut short goes on where it stopped. Each contract is known by the hash of its code.
 */
import { existsSync } from 'node:fs';
import { keccak256, type Provider } from 'ethers';
import { z } from 'zod';
import { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import { readInputFile, writeOutputFile } from '../files.js';
import { toJson } from '../terminal.js';

const RECORD_VERSION = 1;

const bytes = (count: number) =>
  z.custom<Hex>(
    (value) => typeof value === 'string' && new RegExp(`^0x[0-9a-f]{${2 * count}}$`).test(value),
    `expected 0x and ${2 * count} lower-case hex digits`,
  );
const bigint = z
  .string()
  .regex(/^[0-9]{1,78}$/)
  .transform((text) => BigInt(text));

const schema = z.strictObject({
  version: z.literal(RECORD_VERSION),
  chainId: bigint,
  deployer: bytes(20),
  /** Hash of everything that the contracts are made from. */
  settings: bytes(32),
  /** Nonce of the first settlement contract; null before. */
  firstNonce: z.int().min(0).nullable(),
  contracts: z.array(
    z.strictObject({
      name: z.string().min(1),
      address: bytes(20),
      transactionHash: bytes(32),
      blockNumber: z.int().min(0),
      gasUsed: bigint,
      codeHash: bytes(32).nullable(),
    }),
  ),
  /** All that a stranger needs; null until everything stands. */
  rollup: bytes(20).nullable(),
  escrow: bytes(20).nullable(),
  token: bytes(20).nullable(),
  policyHash: bytes(32).nullable(),
});

export type RecordFile = z.output<typeof schema>;
export type RecordedContract = RecordFile['contracts'][number];

/** @returns null where there is no such file. @throws AssayError DEPLOYMENT_RECORD_INVALID */
export function readRecord(path: string): RecordFile | null {
  if (!existsSync(path)) return null;
  const invalid = (found: string): AssayError =>
    new AssayError('DEPLOYMENT_RECORD_INVALID', `${path}: ${found}`, { meta: { file: path } });
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(readInputFile(path)));
  } catch (cause) {
    throw invalid(`not JSON: ${(cause as Error).message}`);
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw invalid(`${issue.path.join('.') || 'file'}: ${issue.message.slice(0, 300)}`);
}

export const writeRecord = (path: string, record: Omit<RecordFile, 'version'>): void =>
  writeOutputFile(path, `${toJson({ version: RECORD_VERSION, ...record })}\n`);

/**
 * Does the record belong to this deployment, and does all of it still stand?
 * @throws AssayError DEPLOYMENT_RECORD_INVALID, CHAIN_UNAVAILABLE
 */
export async function checkRecord(
  path: string,
  record: RecordFile,
  here: Pick<RecordFile, 'chainId' | 'deployer' | 'settings'>,
  codeHashOf: (address: Hex) => Promise<Hex | null>,
): Promise<void> {
  const refused = (found: string): AssayError =>
    new AssayError('DEPLOYMENT_RECORD_INVALID', `${path}: ${found}`, { meta: { file: path } });
  if (record.chainId !== here.chainId) throw refused(`it is of chain ${record.chainId}, not of ${here.chainId}`);
  if (record.deployer !== here.deployer)
    throw refused(`it was begun by account ${record.deployer}, not by ${here.deployer}`);
  if (record.settings !== here.settings) throw refused('it was begun with other settings, sources or addresses');
  for (const { name, address, codeHash } of record.contracts) {
    const found = await codeHashOf(address);
    if (found === null) throw refused(`${name} is not at ${address} any more: another chain, or one that was reset`);
    if (codeHash !== null && found !== codeHash)
      throw refused(`the code of ${name} at ${address} is not what was deployed`);
  }
}

/** Null where there is no contract. */
export async function codeHash(provider: Provider, address: Hex): Promise<Hex | null> {
  const code = await provider.getCode(address);
  return code === '0x' ? null : (keccak256(code) as Hex);
}
