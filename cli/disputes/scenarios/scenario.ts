/** One play: who does what, what must come out, and what it cost. */
import type { Bundle } from '../../../graph/index.js';
import type { Tamper } from '../../../fraud-proofs/step/inject.js';
import type { OrderState } from '../../../verifier-contracts/escrow-client.js';
import type { Arena, ArenaClaim, ArenaTransaction } from './arena.js';
import { sumOf, type Balances } from './money.js';

export interface ScenarioContext {
  readonly arena: Arena;
  readonly bundle: Bundle;
  /** One array per graph input. */
  readonly inputs: readonly Int32Array[];
  readonly items: number;
  /** What cheats change. */
  readonly lie: Tamper;
  /** Is the watcher a process of its own, that knows RPC and bundle alone? */
  readonly separate: boolean;
}

export interface Check {
  readonly what: string;
  readonly ok: boolean;
}

export interface ScenarioReport {
  readonly name: string;
  readonly title: string;
  /** What happened, in a sentence. */
  readonly outcome: string;
  readonly checks: readonly Check[];
  /** From the opened order on. */
  readonly transactions: readonly ArenaTransaction[];
  /** Transactions of the dispute itself: demands, answers, announcement, proof, timeout. */
  readonly dispute: { readonly transactions: number; readonly gas: bigint };
  readonly before: Balances;
  readonly after: Balances;
  /** By the contracts' clock, from the commit to the end. */
  readonly took: number;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  play(context: ScenarioContext): Promise<ScenarioReport>;
}

export const honestWins = ({ checks }: ScenarioReport): boolean => checks.every(({ ok }) => ok);

const DISPUTE = new Set(['demand', 'answer', 'state', 'precommit', 'proveFault', 'timeout', 'claimBounty']);

/** Watches what a play does to chain and money. */
export class Recording {
  private constructor(
    private readonly arena: Arena,
    private readonly fromBlock: number,
    readonly before: Balances,
  ) {}

  static async start(arena: Arena): Promise<Recording> {
    return new Recording(arena, (await arena.provider.getBlockNumber()) + 1, await arena.balances());
  }

  async report(
    scenario: Pick<Scenario, 'name' | 'title'>,
    claim: ArenaClaim,
    outcome: string,
    checks: readonly Check[],
  ): Promise<ScenarioReport> {
    const { arena, fromBlock, before } = this;
    const [transactions, after, clock] = await Promise.all([
      arena.transactionsFrom(fromBlock),
      arena.balances(),
      arena.clock(),
    ]);
    const own = transactions.filter(({ what }) => DISPUTE.has(what));
    return {
      name: scenario.name,
      title: scenario.title,
      outcome,
      checks: [
        ...checks,
        { what: 'the sum of all balances is all tokens that exist', ok: sumOf(after) === after.supply },
      ],
      transactions,
      dispute: { transactions: own.length, gas: own.reduce((sum, { gasUsed }) => sum + gasUsed, 0n) },
      before,
      after,
      took: clock - claim.claim.header.committedAt,
    };
  }
}

export async function orderState({ client }: Arena, { claim }: ArenaClaim): Promise<OrderState> {
  return (await client.escrow.orderOf(claim.receipt.orderHash)).state;
}

/** What a party has gained (or lost, below 0) in tokens; gas is paid in coins. */
export const gainOf = ({ before, after }: Pick<ScenarioReport, 'before' | 'after'>, name: string): bigint =>
  (after.parties[name] ?? 0n) - (before.parties[name] ?? 0n);

/** What every winner of a dispute must find. */
export async function endOfDispute(
  arena: Arena,
  claim: ArenaClaim,
  before: Balances,
  watcher: string,
): Promise<Check[]> {
  const after = await arena.balances();
  const { policy } = arena.options;
  const lock = (await arena.client.escrow.orderOf(claim.claim.receipt.orderHash)).lock;
  const bounty = (lock * BigInt(policy.bountyOpenBps)) / 10_000n;
  const gained = gainOf({ before, after }, watcher);
  return [
    { what: 'the order is slashed', ok: (await orderState(arena, claim)) === 'slashed' },
    { what: 'the requester has its money back', ok: gainOf({ before, after }, 'requester') === 0n },
    { what: `the watcher has the bounty, and its deposits back`, ok: gained >= bounty },
    { what: 'the cheat has lost its lock', ok: gainOf({ before, after }, claim.executor.name) === -lock },
    { what: 'nothing is left in the game', ok: after.game === before.game },
  ];
}
