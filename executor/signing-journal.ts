/**
 * The journal of what an executor's key has signed: one acceptance and one receipt per order, for ever.
 *
 * Why: two different receipts for one order are equivocation, which costs the executor its stake. A crash between
 * signing and answering, a retried job or a second worker must not lead there. So
 *   1. the line (order hash, receipt hash, signature) is on the disk before the signature leaves;
 *   2. the same order with the same receipt gets the first signature again;
 *   3. the same order with another receipt is refused;
 *   4. one process at a time holds the journal;
 *   5. a key that has been used is never used without its journal.
 *
 * An acceptance commits to nothing but its order, so a second one does no harm; it is kept as the record of what the key
 * has taken on, and comes out the same.
 *
 * File: one JSON object per line. The first names the key's address. A last line without its newline is what a crash
 * in the middle of a write leaves; its signature has not left, so it is cut off. Any other bad line is corruption.
 */
import { constants } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';
import { diskError, writeDurably } from './durable-file.js';
import { takeLock } from './lock-file.js';
import type { Lock } from './lock-file.js';

export interface SignedEntry {
  readonly orderHash: Hex;
  readonly receiptHash: Hex;
  readonly signature: Hex;
}

/** What was signed when an order was taken on; in the file, the entry without a receipt hash. */
export interface AcceptedEntry {
  readonly orderHash: Hex;
  readonly acceptance: Hex;
}

/** What an executor needs of its journal, whatever keeps it. */
export interface Journal {
  /** Address of the key whose signatures are kept, lower-case. */
  readonly address: Hex;
  find(orderHash: Hex): SignedEntry | null;
  /**
   * Signs a receipt hash for an order unless the order has been signed for; durable when it returns.
   * @throws AssayError EQUIVOCATION_REFUSED, STORE_FULL.
   */
  signOnce(orderHash: Hex, receiptHash: Hex, sign: () => Promise<Hex>): Promise<Hex>;
  /**
   * Signs the acceptance of an order, once; the same order gets the first signature again. Durable when it returns.
   * @throws AssayError STORE_FULL.
   */
  acceptOnce(orderHash: Hex, sign: () => Promise<Hex>): Promise<Hex>;
  close(): Promise<void>;
}

const VERSION = 1;
const HASH = /^0x[0-9a-f]{64}$/;

/** What a journal's file holds, by order. */
interface Entries {
  readonly receipts: Map<Hex, SignedEntry>;
  readonly acceptances: Map<Hex, AcceptedEntry>;
}

export class FileJournal implements Journal {
  readonly #entries: Entries;
  readonly #file: FileHandle;
  readonly #lock: Lock;
  /** Signing is one at a time: the check and the write must not be interleaved with another order's. */
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** Set where a failed write could not be undone: what the file holds is known again only after reopening. */
  #broken: unknown = null;

  private constructor(
    readonly path: string,
    readonly address: Hex,
    file: FileHandle,
    lock: Lock,
    entries: Entries,
  ) {
    this.#file = file;
    this.#lock = lock;
    this.#entries = entries;
  }

  /**
   * For a key that may never have signed: an absent journal is started, a present one opened.
   * @throws AssayError JOURNAL_LOCKED, JOURNAL_CORRUPT.
   */
  static async create(path: string, address: Hex): Promise<FileJournal> {
    const header = JSON.stringify({ journal: 'assay receipts', version: VERSION, address: address.toLowerCase() });
    try {
      await (await open(path, constants.O_RDONLY)).close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await writeDurably(path, Buffer.from(`${header}\n`), 0o600);
    }
    return FileJournal.open(path, address);
  }

  /**
   * @throws AssayError JOURNAL_MISSING, JOURNAL_LOCKED, JOURNAL_CORRUPT (also where it belongs to another key).
   */
  static async open(path: string, address: Hex): Promise<FileJournal> {
    const lock = await lockJournal(path);
    let file: FileHandle | null = null;
    try {
      const text = await readJournal(path, address);
      const whole = text.lastIndexOf('\n') + 1;
      const entries = parseJournal(text.slice(0, whole), path, address);
      file = await open(path, 'r+');
      if (whole < text.length) {
        await file.truncate(Buffer.byteLength(text.slice(0, whole)));
        await file.sync();
      }
      return new FileJournal(path, address.toLowerCase() as Hex, file, lock, entries);
    } catch (error) {
      await file?.close();
      await lock.release();
      throw error;
    }
  }

  /** Receipts signed. */
  get size(): number {
    return this.#entries.receipts.size;
  }

  find(orderHash: Hex): SignedEntry | null {
    return this.#entries.receipts.get(orderHash) ?? null;
  }

  signOnce(orderHash: Hex, receiptHash: Hex, sign: () => Promise<Hex>): Promise<Hex> {
    return this.#inTurn(() => this.#sign(orderHash, receiptHash, sign));
  }

  acceptOnce(orderHash: Hex, sign: () => Promise<Hex>): Promise<Hex> {
    return this.#inTurn(async () => {
      this.#checkOpen();
      const first = this.#entries.acceptances.get(orderHash);
      if (first !== undefined) return first.acceptance;
      this.#checkWhole();
      const entry: AcceptedEntry = { orderHash, acceptance: await sign() };
      await this.#append(entry);
      this.#entries.acceptances.set(orderHash, entry);
      return entry.acceptance;
    });
  }

  #inTurn(work: () => Promise<Hex>): Promise<Hex> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async close(): Promise<void> {
    await this.#turn;
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
    await this.#lock.release();
  }

  async #sign(orderHash: Hex, receiptHash: Hex, sign: () => Promise<Hex>): Promise<Hex> {
    this.#checkOpen();
    const first = this.#entries.receipts.get(orderHash);
    if (first !== undefined) {
      if (first.receiptHash === receiptHash) return first.signature;
      throw new AssayError(
        'EQUIVOCATION_REFUSED',
        `order ${orderHash}: receipt ${first.receiptHash} is signed already, refused to sign ${receiptHash}`,
        { meta: { orderHash, signed: first.receiptHash, refused: receiptHash } },
      );
    }
    this.#checkWhole();
    const entry: SignedEntry = { orderHash, receiptHash, signature: await sign() };
    await this.#append(entry);
    this.#entries.receipts.set(orderHash, entry);
    return entry.signature;
  }

  #checkOpen(): void {
    if (this.#closed) throw new AssayError('EXECUTOR_CLOSED', `journal ${this.path} is closed`);
  }

  #checkWhole(): void {
    if (this.#broken === null) return;
    throw new AssayError('STORE_FULL', `journal ${this.path} could not be written and must be opened again`, {
      mend: 'Free disk space and start the executor again.',
      cause: this.#broken,
    });
  }

  /** The line is on the disk, or not in the file. */
  async #append(entry: SignedEntry | AcceptedEntry): Promise<void> {
    await this.#checkLock();
    const { size } = await this.#file.stat();
    const line = Buffer.from(`${JSON.stringify(entry)}\n`);
    try {
      // A disk that fills up, or a quota, may take a part of the line without an error.
      const { bytesWritten } = await this.#file.write(line, 0, line.length, size);
      if (bytesWritten !== line.length) {
        throw new AssayError(
          'STORE_FULL',
          `journal ${this.path}: ${bytesWritten} of ${line.length} bytes were written`,
          { meta: { path: this.path, written: bytesWritten, expected: line.length } },
        );
      }
      await this.#file.sync();
    } catch (error) {
      await this.#undo(size, error);
      throw diskError(error, this.path);
    }
  }

  async #checkLock(): Promise<void> {
    if (await this.#lock.isHeld()) return;
    throw new AssayError('JOURNAL_LOCKED', `journal ${this.path}: the lock ${this.#lock.path} is no longer ours`, {
      meta: { journal: this.path },
    });
  }

  async #undo(size: number, cause: unknown): Promise<void> {
    try {
      await this.#file.truncate(size);
      await this.#file.sync();
    } catch {
      this.#broken = cause;
    }
  }
}

/** @throws AssayError JOURNAL_LOCKED; JOURNAL_MISSING where there is no such folder. */
async function lockJournal(path: string): Promise<Lock> {
  try {
    return await takeLock(`${path}.lock`, `journal ${path}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const message = `the folder of journal ${path} does not exist`;
    throw new AssayError('JOURNAL_MISSING', message, { meta: { journal: path }, cause: error });
  }
}

async function readJournal(path: string, address: Hex): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new AssayError('JOURNAL_MISSING', `key ${address} has no journal at ${path}`, {
      meta: { path, address },
      cause: error,
    });
  }
}

function parseJournal(text: string, path: string, address: Hex): Entries {
  const lines = text.split('\n').slice(0, -1);
  const corrupt = (line: number, what: string): AssayError =>
    new AssayError('JOURNAL_CORRUPT', `${path}, line ${line}: ${what}`, { meta: { path, line } });
  const parse = (index: number): Record<string, unknown> => {
    try {
      const value: unknown = JSON.parse(lines[index]!);
      if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
    throw corrupt(index + 1, 'expected a JSON object');
  };
  if (lines.length === 0) throw corrupt(1, 'the file has no header');
  const header = parse(0);
  if (header['version'] !== VERSION)
    throw corrupt(1, `expected version ${VERSION}, found ${String(header['version'])}`);
  if (header['address'] !== address.toLowerCase()) {
    throw corrupt(1, `it belongs to key ${String(header['address'])}, expected ${address.toLowerCase()}`);
  }
  const entries: Entries = { receipts: new Map(), acceptances: new Map() };
  for (let index = 1; index < lines.length; index++) {
    const { orderHash, receiptHash, signature, acceptance } = parse(index);
    const put = <E extends SignedEntry | AcceptedEntry>(into: Map<Hex, E>, entry: E): void => {
      if (into.has(entry.orderHash)) throw corrupt(index + 1, `order ${entry.orderHash} stands twice`);
      into.set(entry.orderHash, entry);
    };
    if (isHash(orderHash) && isHash(receiptHash) && isSignature(signature))
      put(entries.receipts, { orderHash, receiptHash, signature });
    else if (isHash(orderHash) && isSignature(acceptance)) put(entries.acceptances, { orderHash, acceptance });
    else throw corrupt(index + 1, 'expected orderHash, receiptHash and signature in hex, or orderHash and acceptance');
  }
  return entries;
}

function isSignature(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-f]+$/.test(value);
}

function isHash(value: unknown): value is Hex {
  return typeof value === 'string' && HASH.test(value);
}
