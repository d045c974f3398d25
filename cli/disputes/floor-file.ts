/**
 * The cursor of a watcher: the block from which everything that is not done with is found. Only a saving: without the file,
 * or on another chain, the search begins at the deployment's block.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeDurably } from '../../executor/durable-file.js';
import { hashOf } from '../../fraud-proofs/watch/log-reader.js';
import type { Hex } from '../../receipts/types.js';
import type { Deployment } from '../settlement/open-deployment.js';

const schema = z.strictObject({ block: z.int().min(0), hash: z.string() });

const fileOf = (state: string, { domain }: Deployment): string =>
  join(state, `${domain.chainId}-${domain.verifyingContract.slice(2, 10)}.cursor.json`);

/** 0 where there is none that this chain has. @throws AssayError CHAIN_UNAVAILABLE */
export async function readFloor(state: string, deployment: Deployment): Promise<number> {
  let text: string;
  try {
    text = await readFile(fileOf(state, deployment), 'utf8');
  } catch {
    return 0;
  }
  const parsed = schema.safeParse(parse(text));
  if (!parsed.success) return 0;
  const { block, hash } = parsed.data;
  return (await hashOf(deployment.provider, block)) === hash ? block : 0;
}

/** @throws AssayError STORE_FULL, CHAIN_UNAVAILABLE */
export async function writeFloor(state: string, deployment: Deployment, block: number): Promise<void> {
  const hash: Hex | null = await hashOf(deployment.provider, block);
  if (hash !== null) await writeDurably(fileOf(state, deployment), Buffer.from(JSON.stringify({ block, hash })));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
