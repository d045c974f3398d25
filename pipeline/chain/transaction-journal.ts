/**
 * Transactions that happen once.
 *
 *  1. An intent names an effect wanted on chain; its key is unique.
 *  2. Nonce and signed bytes are stored in one SQL transaction with the intent, before anything is sent.
 *  3. After a crash the same bytes are sent again. A node that knows them already, or has mined them, changes nothing.
 *  4. A replacement (too cheap to be mined, or to be taken by the node) is another transaction of the same intent with
 *     the same nonce, so at most one of them can ever be mined. It pays more for the same gas: what the call would do
 *     by now is not asked, since a nonce must be used, come what may, before any later one can be.
 *  5. Where the call would revert for good, the replacement is a filler, a transfer of nothing to oneself: it uses the
 *     nonce for the least gas. Mined, it counts as a call that reverted.
 *  6. What a reorganisation has taken out of the chain is sent again as in 3.
 */
import { Transaction } from 'ethers';
import { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import type { Call } from '../../verifier-contracts/contract-client.js';
import type { Database } from '../database/database.js';
import { failPoint } from '../fail-points.js';
import type { ChainPort, Clock, MinedTransaction, TransactionSigner } from '../ports.js';

export interface JournalParts {
  readonly database: Database;
  readonly chain: ChainPort;
  readonly signer: TransactionSigner;
  readonly clock: Clock;
  /** A transaction unmined for this long is replaced by a dearer one. */
  readonly replaceAfterMs: number;
  /** How long `perform` looks for the block before it answers "not yet". */
  readonly patienceMs: number;
  /** Does this process hold the lock of the posting account? Asked before every signature and every sending. */
  readonly mayPost: () => boolean;
}

export interface Performed extends MinedTransaction {
  readonly hash: `0x${string}`;
}

interface TxRow {
  readonly hash: string;
  readonly raw: string;
  readonly replaces: string | null;
  readonly sent_at: string | null;
}

/** A node accepts a replacement that pays at least a tenth more; an eighth leaves room for rounding. */
const dearer = (fee: bigint): bigint => fee + fee / 8n + 1n;
const LOOK_EVERY_MS = 40;
/** What a transfer costs. */
const FILLER_GAS = 21_000n;

export class TransactionJournal {
  /** Ends when the last signed bytes have been stored. */
  private signing: Promise<unknown> = Promise.resolve();
  readonly address: string;

  constructor(private readonly parts: JournalParts) {
    this.address = parts.signer.address.toLowerCase();
  }

  /**
   * Has the effect happen: stores, sends, looks.
   * @param key of the effect; a second call with it goes on with the first one's transaction.
   * @returns the mined transaction, or null while it is not mined yet: call again. A filler that was mined in place of
   * the call is `reverted`: another try is another key.
   * @throws AssayError CHAIN_REVERTED when the call would revert now and nothing was signed for it before;
   * CHAIN_FEE_TOO_LOW, CHAIN_NONCE_LOST, CHAIN_UNAVAILABLE, POSTER_ELSEWHERE.
   */
  async perform(key: string, call: Call): Promise<Performed | null> {
    await this.prepare(key, call);
    const until = Date.now() + this.parts.patienceMs;
    for (;;) {
      const mined = await this.look(key);
      if (mined !== null || Date.now() >= until) return mined;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /** Signs and stores, unless that is done; nothing is sent. @throws AssayError as `perform` */
  async prepare(key: string, call: Call): Promise<void> {
    if (!(await this.isKnown(key))) await this.store(key, call);
  }

  /**
   * Looks again for an effect that was had before; where a reorganisation has taken it out, it is sent again.
   * @returns null where it is not mined (again) yet, or was never asked for.
   */
  async recheck(key: string): Promise<Performed | null> {
    return (await this.isKnown(key)) ? this.look(key) : null;
  }

  /**
   * After a reorganisation: `recheck` of all that was mined above a block.
   * @throws AssayError as `perform`: what the first that failed threw, after all have been tried.
   */
  async recheckAbove(block: number): Promise<void> {
    const mined = await this.parts.database.query<{ key: string }>(
      `SELECT i.key FROM assay.intents i JOIN assay.txs t ON t.hash = i.mined_tx
        WHERE i.signer = $1 AND t.block_number > $2 ORDER BY i.nonce`,
      [this.address, block],
    );
    await this.lookAtAll(mined);
  }

  /**
   * Sends, or looks for, every stored transaction that is not known to be mined: also those whose effect has come about
   * otherwise in the meantime, since a nonce that is never used would hold up all later ones. For the same reason what
   * a reorganisation has taken out of the chain below an open one, whichever batch it was for, is sent again too.
   * @throws AssayError as `perform`: what the first that failed threw, after all have been tried.
   */
  async settleOpen(): Promise<void> {
    const open = await this.parts.database.query<{ key: string }>(
      'SELECT key FROM assay.intents WHERE signer = $1 AND mined_tx IS NULL ORDER BY nonce',
      [this.address],
    );
    if (open.length === 0) return;
    const unused = await this.parts.chain.nonceOf(this.address);
    const takenOut = await this.parts.database.query<{ key: string }>(
      'SELECT key FROM assay.intents WHERE signer = $1 AND mined_tx IS NOT NULL AND nonce >= $2 ORDER BY nonce',
      [this.address, unused],
    );
    for (const { key } of takenOut) await this.forgetMined(key);
    await this.lookAtAll([...takenOut, ...open]);
  }

  private async lookAtAll(intents: readonly { readonly key: string }[]): Promise<void> {
    const failures: unknown[] = [];
    for (const { key } of intents) {
      try {
        await this.look(key);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** The transactions of an effect were taken out of the chain by a reorganisation: they are to be sent again. */
  private async forgetMined(key: string): Promise<void> {
    await this.parts.database.transaction(async (tx) => {
      await tx.execute('UPDATE assay.intents SET mined_tx = NULL WHERE key = $1', [key]);
      await tx.execute(
        'UPDATE assay.txs SET block_number = NULL, block_hash = NULL, reverted = NULL, sent_at = NULL WHERE intent = $1',
        [key],
      );
    });
  }

  private async isKnown(key: string): Promise<boolean> {
    return (await this.parts.database.query('SELECT 1 FROM assay.intents WHERE key = $1', [key])).length > 0;
  }

  /** Steps 1 and 2. One at a time: the next nonce is the one after the last stored. */
  private store(key: string, call: Call): Promise<void> {
    return this.alone(() => this.storeNext(key, call));
  }

  /** One signature at a time. */
  private alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.signing.then(() => {
      this.checkMayPost();
      return work();
    });
    this.signing = done.catch(() => undefined);
    return done;
  }

  private checkMayPost(): void {
    if (this.parts.mayPost()) return;
    throw new AssayError('POSTER_ELSEWHERE', `This process does not hold the lock of the account ${this.address}.`);
  }

  private async storeNext(key: string, call: Call): Promise<void> {
    const { database, chain, signer, clock } = this.parts;
    if (await this.isKnown(key)) return;
    const price = await chain.price(call, this.address);
    const onChain = await chain.nonceOf(this.address);
    failPoint('tx.before-store');
    await database.transaction(async (tx) => {
      const [row] = await tx.query<{ next: string | null }>(
        'SELECT MAX(nonce) + 1 AS next FROM assay.intents WHERE signer = $1',
        [this.address],
      );
      const nonce = Math.max(onChain, Number(row?.next ?? 0));
      const raw = await signer.signTransaction({
        type: 2,
        chainId: chain.domain.chainId,
        nonce,
        to: call.to,
        data: call.data,
        value: 0n,
        ...price,
      });
      await tx.execute(
        'INSERT INTO assay.intents (key, signer, nonce, to_address, data, created_at) VALUES ($1, $2, $3, $4, $5, $6)',
        [key, this.address, nonce, call.to, call.data, clock()],
      );
      await tx.execute('INSERT INTO assay.txs (hash, intent, raw, signed_at) VALUES ($1, $2, $3, $4)', [
        Transaction.from(raw).hash,
        key,
        raw,
        clock(),
      ]);
    });
    failPoint('tx.after-store');
  }

  /** Step 3: is it (still) mined? If not, send (again). */
  private async look(key: string): Promise<Performed | null> {
    const { database, chain, clock, replaceAfterMs } = this.parts;
    this.checkMayPost();
    const [intent] = await database.query<{ nonce: string; mined_tx: string | null }>(
      'SELECT nonce, mined_tx FROM assay.intents WHERE key = $1',
      [key],
    );
    const txs = await this.transactionsOf(key);
    const mined = await this.findMined(key, txs);
    if (mined !== null) return mined;
    if ((await chain.nonceOf(this.address)) > Number(intent!.nonce)) {
      // Mined between the two questions, or the nonce is gone.
      const late = await this.findMined(key, txs);
      if (late !== null) return late;
      throw new AssayError(
        'CHAIN_NONCE_LOST',
        `Nonce ${intent!.nonce} of ${this.address} was used by an unknown transaction; ${key} expected ${txs[0]!.hash}.`,
        {
          meta: { key, signer: this.address, nonce: Number(intent!.nonce), expected: txs.map(({ hash }) => hash) },
        },
      );
    }
    const takenOut = intent!.mined_tx !== null;
    if (takenOut) await this.forgetMined(key);
    const newest = txs[0]!;
    if (takenOut || newest.sent_at === null) {
      try {
        await this.send(newest);
      } catch (error) {
        // Signed for a cheaper day than this: sent again as it is, it would be refused again.
        if (!feeTooLow(error)) throw error;
        await this.replace(key, newest);
      }
    } else if (clock() - Number(newest.sent_at) > replaceAfterMs) {
      await this.replace(key, newest);
    }
    return null;
  }

  /** The newest first: the one that no other replaces. */
  private async transactionsOf(key: string): Promise<TxRow[]> {
    const rows = await this.parts.database.query<TxRow>(
      'SELECT hash, raw, replaces, sent_at FROM assay.txs WHERE intent = $1',
      [key],
    );
    const ordered: TxRow[] = [];
    for (let last: string | null = null; ordered.length < rows.length;) {
      const next: TxRow = rows.find(({ replaces }) => replaces === last)!;
      ordered.unshift(next);
      last = next.hash;
    }
    return ordered;
  }

  private async send({ raw, hash }: Pick<TxRow, 'raw' | 'hash'>): Promise<void> {
    this.checkMayPost();
    await this.parts.chain.sendRaw(raw);
    failPoint('tx.after-broadcast');
    await this.parts.database.execute('UPDATE assay.txs SET sent_at = $2 WHERE hash = $1', [hash, this.parts.clock()]);
  }

  private async findMined(key: string, txs: readonly TxRow[]): Promise<Performed | null> {
    for (const { hash, raw } of txs) {
      const found = await this.parts.chain.minedAs(hash);
      if (found === null) continue;
      const mined = { ...found, reverted: found.reverted || this.isFiller(Transaction.from(raw)) };
      failPoint('tx.after-mined');
      await this.parts.database.transaction(async (tx) => {
        await tx.execute('UPDATE assay.txs SET block_number = $2, block_hash = $3, reverted = $4 WHERE hash = $1', [
          hash,
          mined.blockNumber,
          mined.blockHash,
          mined.reverted,
        ]);
        await tx.execute('UPDATE assay.intents SET mined_tx = $2 WHERE key = $1', [key, hash]);
      });
      return { ...mined, hash: hash as `0x${string}` };
    }
    return null;
  }

  private isFiller({ to, data }: Transaction): boolean {
    return to?.toLowerCase() === this.address && data === '0x';
  }

  /** Steps 4 and 5. @param stuck the newest transaction of the intent */
  private async replace(key: string, stuck: TxRow): Promise<void> {
    const { database, chain, signer, clock } = this.parts;
    const signed = await this.alone(async () => {
      // Two looked at once, and the other was here before.
      if ((await this.transactionsOf(key))[0]!.hash !== stuck.hash) return null;
      const old = Transaction.from(stuck.raw);
      const call: Call = { to: old.to as Hex, data: old.data as Hex };
      const fill = this.isFiller(old) || (await chain.revertsForGood(call, this.address));
      // The old bytes are sent along: a node that has forgotten them may still mine either.
      if (!fill) await this.sendUnlessTooCheap(stuck.raw);
      const now = await chain.fees();
      const most = (a: bigint, b: bigint) => (a > b ? a : b);
      const raw = await signer.signTransaction({
        type: 2,
        chainId: chain.domain.chainId,
        nonce: old.nonce,
        ...(fill ? { to: this.address, data: '0x', gasLimit: FILLER_GAS } : { ...call, gasLimit: old.gasLimit }),
        value: 0n,
        maxFeePerGas: most(now.maxFeePerGas, dearer(old.maxFeePerGas!)),
        maxPriorityFeePerGas: most(now.maxPriorityFeePerGas, dearer(old.maxPriorityFeePerGas!)),
      });
      const replacement = Transaction.from(raw).hash!;
      await database.execute(
        'INSERT INTO assay.txs (hash, intent, raw, replaces, signed_at) VALUES ($1, $2, $3, $4, $5)',
        [replacement, key, raw, stuck.hash, clock()],
      );
      return { hash: replacement, raw };
    });
    if (signed !== null) await this.send(signed);
  }

  private async sendUnlessTooCheap(raw: string): Promise<void> {
    try {
      await this.parts.chain.sendRaw(raw);
    } catch (error) {
      if (!feeTooLow(error)) throw error;
    }
  }
}

const feeTooLow = (error: unknown): boolean => error instanceof AssayError && error.code === 'CHAIN_FEE_TOO_LOW';
