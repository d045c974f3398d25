/**
 * The executor's key and the journal of what it has signed, which belong together for ever.
 *
 * A data folder holds `executor.key` (32 bytes in hex, readable by the owner only) and one journal per key,
 * `signed-<address>.jsonl`. The journal is there before the key is first used; a key without its journal is refused,
 * since nobody knows what it has signed.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import type { Signer } from 'ethers';
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';
import { writeDurably } from './durable-file.js';
import { FileJournal } from './signing-journal.js';
import type { Journal } from './signing-journal.js';

export interface Identity {
  readonly signer: Signer;
  /** Lower-case. */
  readonly address: Hex;
  readonly journal: Journal;
}

/**
 * Loads the key of a data folder with its journal; makes both where the folder has no key yet.
 * @throws AssayError JOURNAL_MISSING, JOURNAL_LOCKED, JOURNAL_CORRUPT; KEY_INVALID where the key file is damaged.
 */
export async function openIdentity(folder: string): Promise<Identity> {
  const path = join(folder, 'executor.key');
  const stored = await readKey(path);
  if (stored !== null) return openSigner(folder, stored, { firstUse: false });
  const signer = new Wallet(Wallet.createRandom().privateKey);
  const identity = await openSigner(folder, signer, { firstUse: true });
  await writeDurably(path, Buffer.from(`${signer.privateKey}\n`), 0o600);
  return identity;
}

/**
 * The same for a key that is kept elsewhere (environment, hardware, key service).
 * @param options.firstUse true allows a journal to be started; say so only for a key that has never signed.
 * @throws AssayError JOURNAL_MISSING, JOURNAL_LOCKED, JOURNAL_CORRUPT.
 */
export async function openSigner(
  folder: string,
  signer: Signer,
  options: { readonly firstUse: boolean },
): Promise<Identity> {
  const address = (await signer.getAddress()).toLowerCase() as Hex;
  const path = join(folder, `signed-${address}.jsonl`);
  const journal = options.firstUse ? await FileJournal.create(path, address) : await FileJournal.open(path, address);
  return { signer, address, journal };
}

async function readKey(path: string): Promise<Wallet | null> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const key = text.trim();
  // The key itself never goes into a message.
  if (!/^0x[0-9a-f]{64}$/.test(key)) {
    throw new AssayError('KEY_INVALID', `${path}: expected 0x and 64 hex digits, found ${key.length} characters`, {
      meta: { path },
    });
  }
  return new Wallet(key);
}
