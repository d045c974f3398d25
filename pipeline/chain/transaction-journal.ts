/**
 * Transactions that happen once.
 *
 *  1. An intent names an effect wanted on chain; its key is unique.
 *  2. Nonce and signed bytes are stored in one SQL transaction with the intent, before anything is sent.
 *  3. After a crash the same bytes are sent again. A node that knows them already, or has mined them, changes nothing.
 *  4. A replacement (too cheap to be mined) is another transaction of the same intent with the same nonce, so at most
 *     one of them can ever be mined.
 */
import { Transaction } from 'ethers';
import { AssayError } from '../../common/errors.js';
import type { Call } from '../../verifier-contracts/rollup-client.js';
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
}

export interface Performed extends MinedTransaction {
  readonly hash: `0x${string}`;
}

interface TxRow {
  readonly hash: string;
  readonly raw: string;
  readonly signed_at: string;
  readonly sent_at: string | null;
}

/** A node accepts a replacement that pays at least a tenth more; an eighth leaves room for rounding. */
const dearer = (fee: bigint): bigint => fee + fee / 8n + 1n;
const LOOK_EVERY_MS = 40;

export class TransactionJournal {
  /** Ends when the last nonce has been stored. */
  private signing: Promise<unknown> = Promise.resolve();
  readonly address: string;

  constructor(private readonly parts: JournalParts) {
    this.address = parts.signer.address.toLowerCase();
  }

  /**
   * Has the effect happen: stores, sends, looks.
   * @param key of the effect; a second call with it goes on with the first one's transaction.
   * @returns the mined transaction, or null while it is not mined yet: call again.
   * @throws AssayError CHAIN_REVERTED when the call would revert now and nothing was signed for it before;
   * CHAIN_NONCE_LOST, CHAIN_UNAVAILABLE.
   */
  async perform(key: string, call: Call): Promise<Performed | null> {
    if (!(await this.isKnown(key))) await this.store(key, call);
    const until = Date.now() + this.parts.patienceMs;
    for (;;) {
      const mined = await this.look(key);
      if (mined !== null || Date.now() >= until) return mined;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /**
   * Sends, or looks for, every stored transaction that is not known to be mined: also those whose effect has come about
   * otherwise in the meantime, since a nonce that is never used would hold up all later ones.
   */
  async settleOpen(): Promise<void> {
    const open = await this.parts.database.query<{ key: string }>(
      'SELECT key FROM assay.intents WHERE signer = $1 AND mined_tx IS NULL ORDER BY nonce',
      [this.address],
    );
    for (const { key } of open) await this.look(key);
  }

  /** The transactions of an effect were taken out of the chain by a reorganisation: they are to be sent again. */
  async forgetMined(key: string): Promise<void> {
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
    const work = this.signing.then(() => this.storeNext(key, call));
    this.signing = work.catch(() => undefined);
    return work;
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

  /** Step 3: is it mined? If not, send (again). */
  private async look(key: string): Promise<Performed | null> {
    const { database, chain, clock, replaceAfterMs } = this.parts;
    const [intent] = await database.query<{ nonce: string }>('SELECT nonce FROM assay.intents WHERE key = $1', [key]);
    const txs = await database.query<TxRow>(
      'SELECT hash, raw, signed_at, sent_at FROM assay.txs WHERE intent = $1 ORDER BY signed_at DESC',
      [key],
    );
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
    const newest = txs[0]!;
    if (newest.sent_at === null) {
      await chain.sendRaw(newest.raw);
      failPoint('tx.after-broadcast');
      await database.execute('UPDATE assay.txs SET sent_at = $2 WHERE hash = $1', [newest.hash, clock()]);
    } else if (clock() - Number(newest.sent_at) > replaceAfterMs) {
      await this.replace(key, newest);
    }
    return null;
  }

  private async findMined(key: string, txs: readonly TxRow[]): Promise<Performed | null> {
    for (const { hash } of txs) {
      const mined = await this.parts.chain.minedAs(hash);
      if (mined === null) continue;
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

  /** Step 4. The old bytes are sent along: a node that has forgotten them may still mine either. */
  private async replace(key: string, stuck: TxRow): Promise<void> {
    const { database, chain, signer, clock } = this.parts;
    await chain.sendRaw(stuck.raw);
    const old = Transaction.from(stuck.raw);
    const now = await chain.price({ to: old.to as `0x${string}`, data: old.data as `0x${string}` }, this.address);
    const most = (a: bigint, b: bigint) => (a > b ? a : b);
    const raw = await signer.signTransaction({
      type: 2,
      chainId: chain.domain.chainId,
      nonce: old.nonce,
      to: old.to!,
      data: old.data,
      value: 0n,
      gasLimit: most(now.gasLimit, old.gasLimit),
      maxFeePerGas: most(now.maxFeePerGas, dearer(old.maxFeePerGas!)),
      maxPriorityFeePerGas: most(now.maxPriorityFeePerGas, dearer(old.maxPriorityFeePerGas!)),
    });
    await database.execute(
      'INSERT INTO assay.txs (hash, intent, raw, replaces, signed_at) VALUES ($1, $2, $3, $4, $5)',
      [Transaction.from(raw).hash, key, raw, stuck.hash, clock()],
    );
  }
}
