/** A `Keep` in a folder that one process holds at a time: one file per value, durable before `putOnce` returns. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keccak256, toUtf8Bytes } from 'ethers';
import { writeDurably } from '../../executor/durable-file.js';
import { takeLock, type Lock } from '../../executor/lock-file.js';
import type { Keep } from '../../fraud-proofs/watch/keep.js';

export class FileKeep implements Keep {
  private constructor(
    readonly folder: string,
    private readonly lock: Lock,
  ) {}

  /** @throws AssayError JOURNAL_LOCKED while another process has it */
  static async open(folder: string): Promise<FileKeep> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new FileKeep(folder, await takeLock(join(folder, 'lock'), `folder ${folder}`));
  }

  async get(key: string): Promise<string | null> {
    try {
      const { key: own, value } = JSON.parse(await readFile(this.#path(key), 'utf8')) as Record<string, string>;
      return own === key ? value! : null;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  async putOnce(key: string, value: string): Promise<string> {
    const first = await this.get(key);
    if (first !== null) return first;
    await writeDurably(this.#path(key), Buffer.from(JSON.stringify({ key, value })), 0o600);
    return value;
  }

  close(): Promise<void> {
    return this.lock.release();
  }

  /** Keys hold what no file name may. */
  #path(key: string): string {
    return join(this.folder, `${keccak256(toUtf8Bytes(key)).slice(2)}.json`);
  }
}
