/**
 * The journal of what an executor's key has signed: one receipt per order, for ever.
 *
 * Why: two different receipts for one order are equivocation, which costs the executor its stake. A crash between
 * signing and answering, a retried job or a second worker must not lead there. So
 *   1. the line (order hash, receipt hash, signature) is on the disk before the signature leaves;
 *   2. the same order with the same receipt gets the first signature again;
 *   3. the same order with another receipt is refused;
 *   4. one process at a time holds the journal;
 *   5. a key that has been used is never used without its journal.
 *
 * File: one JSON object per line. The first names the key's address. A last line without its newline is what a crash
 * in the middle of a write leaves; its signature has not left, so it is cut off. Any other bad line is corruption.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, open, readFile, unlink, writeFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';
import { diskError, writeDurably } from './durable-file.js';

export interface SignedEntry {
  readonly orderHash: Hex;
  readonly receiptHash: Hex;
  readonly signature: Hex;
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
  close(): Promise<void>;
}

const VERSION = 1;
const HASH = /^0x[0-9a-f]{64}$/;

export class FileJournal implements Journal {
  readonly #entries: Map<Hex, SignedEntry>;
  readonly #file: FileHandle;
  readonly #lockPath: string;
  /** Signing is one at a time: the check and the write must not be interleaved with another order's. */
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** Set where a failed write could not be undone: what the file holds is known again only after reopening. */
  #broken: unknown = null;

  private constructor(
    readonly path: string,
    readonly address: Hex,
    file: FileHandle,
    lockPath: string,
    entries: Map<Hex, SignedEntry>,
  ) {
    this.#file = file;
    this.#lockPath = lockPath;
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
    const lockPath = `${path}.lock`;
    await takeLock(lockPath, path);
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
      return new FileJournal(path, address.toLowerCase() as Hex, file, lockPath, entries);
    } catch (error) {
      await file?.close();
      await unlink(lockPath);
      throw error;
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  find(orderHash: Hex): SignedEntry | null {
    return this.#entries.get(orderHash) ?? null;
  }

  signOnce(orderHash: Hex, receiptHash: Hex, sign: () => Promise<Hex>): Promise<Hex> {
    const signed = this.#turn.then(() => this.#sign(orderHash, receiptHash, sign));
    this.#turn = signed.catch(() => undefined);
    return signed;
  }

  async close(): Promise<void> {
    await this.#turn;
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
    await unlink(this.#lockPath);
  }

  async #sign(orderHash: Hex, receiptHash: Hex, sign: () => Promise<Hex>): Promise<Hex> {
    if (this.#closed) throw new AssayError('EXECUTOR_CLOSED', `journal ${this.path} is closed`);
    const first = this.#entries.get(orderHash);
    if (first !== undefined) {
      if (first.receiptHash === receiptHash) return first.signature;
      throw new AssayError(
        'EQUIVOCATION_REFUSED',
        `order ${orderHash}: receipt ${first.receiptHash} is signed already, refused to sign ${receiptHash}`,
        { meta: { orderHash, signed: first.receiptHash, refused: receiptHash } },
      );
    }
    if (this.#broken !== null) {
      throw new AssayError('STORE_FULL', `journal ${this.path} could not be written and must be opened again`, {
        mend: 'Free disk space and start the executor again.',
        cause: this.#broken,
      });
    }
    const entry: SignedEntry = { orderHash, receiptHash, signature: await sign() };
    await this.#checkLock();
    const { size } = await this.#file.stat();
    try {
      await this.#file.write(`${JSON.stringify(entry)}\n`, size);
      await this.#file.sync();
    } catch (error) {
      await this.#undo(size, error);
      throw diskError(error, this.path);
    }
    this.#entries.set(orderHash, entry);
    return entry.signature;
  }

  /** Somebody who removed the lock file by hand may have let a second executor in. */
  async #checkLock(): Promise<void> {
    const holder = await readHolder(this.#lockPath);
    if (holder?.pid === process.pid && holder.started === (await startTime(process.pid))) return;
    throw new AssayError('JOURNAL_LOCKED', `journal ${this.path}: the lock ${this.#lockPath} is no longer ours`, {
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

function parseJournal(text: string, path: string, address: Hex): Map<Hex, SignedEntry> {
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
  const entries = new Map<Hex, SignedEntry>();
  for (let index = 1; index < lines.length; index++) {
    const { orderHash, receiptHash, signature } = parse(index);
    if (
      !isHash(orderHash) ||
      !isHash(receiptHash) ||
      typeof signature !== 'string' ||
      !/^0x[0-9a-f]+$/.test(signature)
    ) {
      throw corrupt(index + 1, 'expected orderHash, receiptHash and signature in hex');
    }
    if (entries.has(orderHash)) throw corrupt(index + 1, `order ${orderHash} stands twice`);
    entries.set(orderHash, { orderHash, receiptHash, signature: signature as Hex });
  }
  return entries;
}

function isHash(value: unknown): value is Hex {
  return typeof value === 'string' && HASH.test(value);
}

/**
 * The lock file names its holder: process id and, on Linux, the process's start time, since a restarted container
 * may give a new process the old id. The lock of a process that is gone is taken over.
 */
async function takeLock(lockPath: string, journal: string): Promise<void> {
  const mine = `${lockPath}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`;
  const locked = (pid: number): AssayError =>
    new AssayError('JOURNAL_LOCKED', `journal ${journal} is held by process ${pid}`, { meta: { journal, pid } });
  try {
    // Written first and linked then, so that a lock is never seen without its holder.
    await writeFile(mine, JSON.stringify({ pid: process.pid, started: await startTime(process.pid) }), { flush: true });
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        await link(mine, lockPath);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const holder = await readHolder(lockPath);
      if (holder === null) continue;
      if ((await startTime(holder.pid)) === holder.started || attempt > 0) throw locked(holder.pid);
      await unlink(lockPath);
    }
    throw locked(-1);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      const message = `the folder of journal ${journal} does not exist`;
      throw new AssayError('JOURNAL_MISSING', message, { meta: { journal }, cause: error });
    }
    throw diskError(error, lockPath);
  } finally {
    await unlink(mine).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
}

async function readHolder(lockPath: string): Promise<{ pid: number; started: string } | null> {
  try {
    const holder = JSON.parse(await readFile(lockPath, 'utf8')) as { pid: number; started: string };
    return holder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    // A crash may have left it empty: nobody holds that.
    if (error instanceof SyntaxError) return { pid: -1, started: '' };
    throw error;
  }
}

/** Something that tells this process from a later one of the same id; null where no such process runs. */
async function startTime(pid: number): Promise<string | null> {
  if (pid <= 0) return null;
  if (process.platform === 'linux') {
    try {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
      // Field 22, counted behind the command name, which is in parentheses and may hold spaces.
      return `${boot.trim()} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
    } catch (error) {
      if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
      throw error;
    }
  }
  try {
    process.kill(pid, 0);
    return 'running';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'running' : null;
  }
}
