/**
 * Reads the optimistic lane from the chain alone: batches, their receipts, demands, answers with their content, kills.
 *
 *   1. Everything of one poll is read at one block, the newest; at the end the chain must still have that block.
 *   2. Events since the last poll are added; after a reorganisation those that went are dropped, and what was read of a
 *      claim above the last common block is read again (LogReader).
 *   3. Receipts come from the commit's calldata, contents from the answer's. Both are kept by the hash of their
 *      transaction, which a reorganisation does not change.
 *   4. A claim is done with when its order has ended and none of the own deposits and no bounty is left; it is looked at
 *      again only if a reorganisation takes that back.
 * Nothing is stored: `floor` says from which block a later process may begin, and that is no more than a saving.
 */
import type { Log, Provider } from 'ethers';
import { asAssayError, AssayError } from '../../common/errors.js';
import { boundIndexes } from '../../receipts/batch.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import type { EscrowClient } from '../../verifier-contracts/escrow-client.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { settlementErrors, type ChainContext } from '../../verifier-contracts/contract-client.js';
import {
  claimId,
  faultOfNumber,
  GameClient,
  gameInterface,
  nodeOfValue,
  readAnswer,
  type AnswerCalldata,
} from '../../verifier-contracts/game-client.js';
import { NOBODY } from '../../verifier-contracts/policy.js';
import { rollupInterface, type PostedBatch, type RollupClient } from '../../verifier-contracts/rollup-client.js';
import { LogReader, requireHead, type Head } from './log-reader.js';
import type { AnswerSeen, ClaimSeen, DemandSeen, GameOf, KillSeen, World } from './world.js';

export interface ScanParts {
  readonly context: ChainContext;
  readonly rollup: RollupClient;
  readonly escrow: EscrowClient;
  /** First block to look at: the deployment's, or a floor of an earlier scan. */
  readonly fromBlock: number;
  /** Has whoever scans a part in the deposit of this demand? A claim that has ended is done with when none of these is left. */
  readonly mine: (demand: DemandSeen, receipt: Receipt) => boolean;
}

/** What the events of one game say about one claim. */
interface GameEvents {
  readonly demands: DemandSeen[];
  kill: KillSeen | null;
  /** Until when a bounty is left open; null where none is. */
  bountyLeft: boolean;
}

const ENDED = new Set(['paid', 'slashed', 'refunded']);
/** Deeper than any reorganisation that is expected: two epochs of twelve-second slots. */
const SETTLED_BLOCKS = 64;

export class ChainScan {
  readonly #batchLogs: LogReader;
  readonly #gameLogs = new Map<Hex, LogReader>();
  readonly #games = new Map<Hex, GameOf | null>();
  readonly #batches = new Map<Hex, PostedBatch>();
  readonly #answers = new Map<Hex, AnswerCalldata>();
  /** Claims that are done with, and the block at which that was read. */
  readonly #done = new Map<Hex, number>();
  #floor: number;

  constructor(private readonly parts: ScanParts) {
    this.#floor = parts.fromBlock;
    const topics = rollupInterface.encodeFilterTopics('BatchCommitted', []) as (string | null)[];
    this.#batchLogs = new LogReader(this.#provider, parts.rollup.address, topics, parts.fromBlock);
  }

  /** Block from which a later scan finds everything that is not done with. */
  get floor(): number {
    return this.#floor;
  }

  /** @throws AssayError CHAIN_UNAVAILABLE, CHAIN_MOVED (read again), CHAIN_MISMATCH */
  async read(): Promise<World> {
    const { escrow } = this.parts;
    const block = await this.#ask('newest block', () => this.#provider.getBlock('latest'));
    if (block === null || block.hash === null)
      throw new AssayError('CHAIN_UNAVAILABLE', 'the node has no newest block');
    const head: Head = { number: block.number, hash: block.hash as Hex };
    const { logs, rewoundTo } = await this.#batchLogs.read(head);
    if (rewoundTo !== null) this.#forgetAbove(rewoundTo);

    const unreadable: { batchHash: Hex; reason: string }[] = [];
    const posted: { batch: PostedBatch; game: GameOf; blockNumber: number }[] = [];
    for (const log of logs) {
      const found = await this.#batchOf(log, unreadable);
      if (found !== null) posted.push({ ...found, blockNumber: log.blockNumber });
    }
    const events = await this.#gameEvents(posted, head);
    const [clock, frozen] = await Promise.all([escrow.clock(head.number), escrow.frozen()]);
    const claims = (
      await Promise.all(
        posted.flatMap(({ batch, game, blockNumber }) =>
          boundIndexes(batch.header).map((index) => this.#claim(batch, index, game, events, head, blockNumber)),
        ),
      )
    ).filter((claim) => claim !== null);
    await requireHead(this.#provider, head);

    if (unreadable.length === 0) this.#raiseFloor(posted, claims, head);
    return {
      head,
      timestamp: block.timestamp,
      clock,
      frozen,
      claims,
      unreadable,
      ended: this.#done.size,
      precommits: events.precommits,
    };
  }

  get #provider(): Provider {
    return this.parts.context.provider;
  }

  /** Behind every claim that is not done with for so long that no reorganisation is expected to take it back. */
  #raiseFloor(
    posted: readonly { batch: PostedBatch; blockNumber: number }[],
    live: readonly ClaimSeen[],
    head: Head,
  ): void {
    const needed = new Set(live.map(({ batchHash }) => batchHash));
    const settled = head.number - SETTLED_BLOCKS;
    let floor = settled;
    for (const { batch, blockNumber } of posted) {
      const ends = boundIndexes(batch.header).map((index) => this.#done.get(claimId(batch.batchHash, index)) ?? 0);
      if (needed.has(batch.batchHash) || ends.some((end) => end > settled)) floor = Math.min(floor, blockNumber);
    }
    this.#floor = Math.max(this.#floor, floor);
  }

  #forgetAbove(block: number): void {
    for (const [id, readAt] of this.#done) if (readAt > block) this.#done.delete(id);
  }

  /** Null where the batch is not of the optimistic lane, or cannot be read. */
  async #batchOf(
    log: Log,
    unreadable: { batchHash: Hex; reason: string }[],
  ): Promise<{ batch: PostedBatch; game: GameOf } | null> {
    const event = rollupInterface.parseLog(log)!;
    const batchHash = event.args['batchHash'] as Hex;
    const value = event.args['header'] as { lane: bigint; policyHash: Hex };
    if (Number(value.lane) !== 2) return null;
    const game = await this.#gameOf(value.policyHash);
    if (game === null) return null;
    try {
      const key = log.transactionHash as Hex;
      const known = this.#batches.get(key);
      // Mined again elsewhere by a reorganisation, the same calldata has another header.
      const batch =
        known !== undefined && known.header.committedBlock === log.blockNumber
          ? known
          : await this.parts.rollup.readBatch(batchHash);
      this.#batches.set(key, batch);
      return { batch, game };
    } catch (error) {
      const failure = asAssayError(error);
      if (failure.code !== 'CHAIN_BATCH_UNKNOWN') throw failure;
      unreadable.push({ batchHash, reason: failure.message });
      return null;
    }
  }

  async #gameOf(policyHash: Hex): Promise<GameOf | null> {
    const known = this.#games.get(policyHash);
    if (known !== undefined) return known;
    const policy = await this.parts.escrow.policyOf(policyHash);
    if (policy.game === NOBODY) return null;
    const client = await GameClient.at(this.parts.context, policy.game);
    const game = { client, policy, window: client.terms.window };
    this.#games.set(policyHash, game);
    return game;
  }

  async #gameEvents(
    posted: readonly { game: GameOf; batch: PostedBatch }[],
    head: Head,
  ): Promise<{ byClaim: Map<Hex, GameEvents>; precommits: World['precommits'] }> {
    const byClaim = new Map<Hex, GameEvents>();
    const precommits: { commitment: Hex; time: number }[] = [];
    for (const address of new Set(posted.map(({ game }) => game.client.address))) {
      let reader = this.#gameLogs.get(address);
      if (reader === undefined) {
        reader = new LogReader(this.#provider, address, [], this.parts.fromBlock);
        this.#gameLogs.set(address, reader);
      }
      const { logs, rewoundTo } = await reader.read(head);
      if (rewoundTo !== null) this.#forgetAbove(rewoundTo);
      for (const log of logs) await this.#addEvent(log, byClaim, precommits);
    }
    return { byClaim, precommits };
  }

  async #addEvent(
    log: Log,
    byClaim: Map<Hex, GameEvents>,
    precommits: { commitment: Hex; time: number }[],
  ): Promise<void> {
    const event = gameInterface.parseLog(log);
    if (event === null) return;
    const { args } = event;
    if (event.name === 'Precommitted') {
      precommits.push({ commitment: args['commitment'] as Hex, time: Number(args['time']) });
      return;
    }
    const id = args['claim'] as Hex;
    const own = byClaim.get(id) ?? { demands: [], kill: null, bountyLeft: false };
    byClaim.set(id, own);
    const at = own.demands.findIndex(({ nodeId }) => nodeId === args['nodeId']);
    const transactionHash = log.transactionHash as Hex;
    switch (event.name) {
      case 'Demanded':
        own.demands.push({
          nodeId: args['nodeId'] as Hex,
          node: nodeOfValue(args['node'] as Record<string, unknown>),
          demander: (args['demander'] as string).toLowerCase() as Hex,
          answerBy: Number(args['answerBy']),
          deposit: args['deposit'] as bigint,
          answer: null,
          closed: false,
        });
        return;
      case 'Answered': {
        const { content, signature } = await this.#answerOf(transactionHash);
        const answer: AnswerSeen = {
          sender: (args['sender'] as string).toLowerCase() as Hex,
          contentHash: args['contentHash'] as Hex,
          content,
          signature,
          blockNumber: log.blockNumber,
        };
        own.demands[at] = { ...own.demands[at]!, answer };
        return;
      }
      case 'FaultProved':
        own.kill = {
          how: 'proof',
          fault: faultOfNumber(args['fault'] as bigint),
          transactionHash,
          blockNumber: log.blockNumber,
        };
        return;
      case 'TimedOut':
        own.kill = { how: 'timeout', fault: null, transactionHash, blockNumber: log.blockNumber };
        return;
      case 'BountyLeft':
        own.bountyLeft = true;
        return;
      case 'BountyPaid':
      case 'BountyBurnt':
        own.bountyLeft = false;
        return;
      case 'DepositClosed':
        own.demands[at] = { ...own.demands[at]!, closed: true };
        return;
    }
  }

  async #answerOf(transactionHash: Hex): Promise<AnswerCalldata> {
    const known = this.#answers.get(transactionHash);
    if (known !== undefined) return known;
    const transaction = await this.#ask('answer', () => this.#provider.getTransaction(transactionHash));
    if (transaction === null) throw new AssayError('CHAIN_MOVED', `transaction ${transactionHash} is gone`);
    // The contract takes answers from the transaction's own sender alone.
    const said = readAnswer(transaction.data as Hex);
    if (said === null) throw new AssayError('CHAIN_MISMATCH', `transaction ${transactionHash} holds no answer`);
    this.#answers.set(transactionHash, said);
    return said;
  }

  /** Null where nothing can become of the claim any more. */
  async #claim(
    batch: PostedBatch,
    index: number,
    game: GameOf,
    events: { byClaim: Map<Hex, GameEvents> },
    head: Head,
    committedIn: number,
  ): Promise<ClaimSeen | null> {
    const { batchHash, header } = batch;
    const id = claimId(batchHash, index);
    if (this.#done.has(id)) return null;
    const { receipt } = batch.receipts[index]!;
    // A claim that the contract does not judge any more has no view.
    const [order, view, state] = await Promise.all([
      this.parts.escrow.orderOf(receipt.orderHash, head.number),
      game.client.claimOf(batchHash, header, index, head.number),
      this.parts.rollup.leafStateOf(header, index, head.number),
    ]);
    const seen = events.byClaim.get(id);
    const demands = seen?.demands ?? [];
    if (
      ENDED.has(order.state) &&
      demands.every((demand) => demand.closed || !this.parts.mine(demand, receipt)) &&
      seen?.bountyLeft !== true
    ) {
      this.#done.set(id, Math.max(head.number, committedIn));
      return null;
    }
    return {
      id,
      batchHash,
      claim: { receipt, header, index },
      game,
      order,
      view,
      state,
      demands,
      kill: seen?.kill ?? null,
    };
  }

  async #ask<T>(what: string, question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      throw chainError(error, settlementErrors, what);
    }
  }
}
