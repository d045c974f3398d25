/**
 * The right to post with an account: one process has it. Nonces are handed out from the tables, and two processes that
 * did so at once would sign different transactions for one nonce.
 */
import type { AdvisoryLock, Database } from '../database/database.js';

export class PosterLock {
  private lock: AdvisoryLock | null = null;

  /** @param onLost called when the lock was lost without `release`. */
  constructor(
    private readonly database: Pick<Database, 'tryLock'>,
    private readonly name: string,
    private readonly onLost: () => void,
  ) {}

  get held(): boolean {
    return this.lock !== null;
  }

  /** @returns whether it is held now. @throws AssayError DATABASE_UNAVAILABLE */
  async take(): Promise<boolean> {
    if (this.lock !== null) return true;
    const lock = await this.database.tryLock(this.name);
    if (lock === null || lock.lost.aborted) return false;
    this.lock = lock;
    lock.lost.addEventListener(
      'abort',
      () => {
        this.lock = null;
        this.onLost();
      },
      { once: true },
    );
    return true;
  }

  async release(): Promise<void> {
    const { lock } = this;
    this.lock = null;
    await lock?.release();
  }
}
