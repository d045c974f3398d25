/**
 * What the chain does by itself: its clock goes on, its blocks grow old, and now and then some are taken back.
 *
 *  1. Heads: which blocks are safe, which are final. A job's `settlement.depth` is read from them.
 *  2. Clock: steps that wait for it are made due.
 *  3. Reorganisation: where the last block seen is no longer there, and at the start, since one may have been missed, every
 *     transaction above the final block is looked for again and sent again where it is gone (as in TransactionJournal), and
 *     what the tables say about orders above it is asked anew. An order whose end was taken back goes through its batch's
 *     last steps again.
 */
import type { Database, Queryable } from '../database/database.js';
import type { BlockHead, ChainPort, Clock } from '../ports.js';
import type { Hex } from '../../receipts/types.js';
import type { OrderState } from '../../verifier-contracts/escrow-client.js';
import { moveTo } from '../work/claim.js';
import type { Step } from '../work/steps.js';
import { wakeByChainClock } from '../work/sweep.js';
import type { TransactionJournal } from './transaction-journal.js';

export interface Heads {
  readonly safe: number;
  readonly finalized: number;
}

interface WatchParts {
  readonly database: Database;
  readonly chain: ChainPort;
  readonly journal: TransactionJournal;
  readonly clock: Clock;
}

/** Orders asked about at once. */
const PER_ROUND = 200;
const ENDED: readonly OrderState[] = ['paid', 'slashed', 'refunded'];

export class ChainWatch {
  /** Null until the chain has answered. */
  heads: Heads | null = null;
  private last: BlockHead | null = null;

  constructor(private readonly parts: WatchParts) {}

  /** @param posts whether this process holds the poster's lock @throws AssayError CHAIN_UNAVAILABLE; as the journal */
  async look(posts: boolean): Promise<void> {
    const { database, chain, clock } = this.parts;
    const [latest, safe, finalized] = await Promise.all([
      chain.blockAt('latest'),
      chain.blockAt('safe'),
      chain.blockAt('finalized'),
    ]);
    // A young chain may have no final block: then nothing is.
    this.heads = { safe: safe?.number ?? -1, finalized: finalized?.number ?? -1 };
    await wakeByChainClock(database, await chain.clock(), clock());
    if (!posts) return;
    const before = this.last;
    const stands = before !== null && (await chain.blockAt(before.number))?.hash === before.hash;
    if (!stands) await this.reorganised(this.heads.finalized);
    // Only now: what failed above is tried again.
    this.last = latest;
    await this.askAnew();
  }

  private async reorganised(finalized: number): Promise<void> {
    const { database, journal } = this.parts;
    await database.execute('UPDATE assay.orders SET chain_block = NULL WHERE chain_block > $1', [finalized]);
    await journal.recheckAbove(finalized);
  }

  private async askAnew(): Promise<void> {
    const { database, chain, clock } = this.parts;
    const head = await chain.blockNumber();
    const orders = await database.query<AskedOrder>(
      `SELECT o.order_hash AS "orderHash", w.step, r.batch_hash AS "batchHash", o.outcome FROM assay.orders o
         JOIN assay.work w ON w.subject = o.order_hash LEFT JOIN assay.receipts r USING (order_hash)
        WHERE o.chain_state <> 'none' AND o.chain_block IS NULL ORDER BY o.order_hash LIMIT $1`,
      [PER_ROUND],
    );
    if (orders.length === 0) return;
    const views = await Promise.all(orders.map(({ orderHash }) => chain.orderOf(orderHash)));
    await database.transaction(async (tx) => {
      for (const [i, order] of orders.entries()) {
        const { state } = views[i]!;
        // A step that has written in the meantime knows better.
        const written = await tx.execute(
          'UPDATE assay.orders SET chain_state = $2, chain_block = $3 WHERE order_hash = $1 AND chain_block IS NULL',
          [order.orderHash, state, head],
        );
        if (written === 1 && order.step === 'done' && !ENDED.includes(state)) await takeUpAgain(tx, order, clock());
      }
    });
  }
}

interface AskedOrder {
  readonly orderHash: Hex;
  readonly step: Step;
  readonly batchHash: Hex | null;
  readonly outcome: string | null;
}

/** The order had ended on chain and has not any more: by its batch, or, where it failed, by its time. */
async function takeUpAgain(tx: Queryable, { orderHash, batchHash, outcome }: AskedOrder, now: number): Promise<void> {
  if (batchHash === null || outcome === 'failed') return moveTo(tx, [orderHash], 'expire', now);
  await tx.execute(`UPDATE assay.work SET step = 'batched' WHERE subject = $1`, [orderHash]);
  const [batch] = await tx.query(`SELECT 1 FROM assay.work WHERE subject = $1 AND step = 'done'`, [batchHash]);
  if (batch !== undefined) await moveTo(tx, [batchHash], 'pay', now);
}
