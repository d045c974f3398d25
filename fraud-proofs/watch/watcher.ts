/**
 * The watcher: looks at every claim of the optimistic lane that is open, says what it thinks of it, and, where it was told
 * to, does what follows. One poll:
 *
 *   1. Read the chain at one block (chain-scan.ts).
 *   2. Ask for an opinion of each claim (judge.ts), the one that closes first before the others.
 *   3. Plan (plan.ts), and send what is due, earliest deadline first. A precommit's salt is kept before it is sent.
 * Nothing but those salts is stored, and without them only a bounty is lost. A watcher that is killed anywhere and started
 * again finds by 1 what has been done.
 */
import { randomBytes } from 'node:crypto';
import { AssayError, asAssayError } from '../../common/errors.js';
import type { Hex, JobOrder } from '../../receipts/types.js';
import type { AnsweringService } from '../answer/answering-service.js';
import type { EscrowClient } from '../../verifier-contracts/escrow-client.js';
import { faultCommitment } from '../../verifier-contracts/game-client.js';
import { alertsOf, forecastOf, type Alert, type Forecast } from './alerts.js';
import type { ChainScan } from './chain-scan.js';
import { clockOf } from './deadlines.js';
import type { Judge } from './judge.js';
import type { Keep } from './keep.js';
import type { Metrics } from './metrics.js';
import { verdictOf, type ClaimVerdict, type NextStep } from './next-step.js';
import { byDeadline, planChallenge, type ClaimPlan, type Move } from './plan.js';
import { simulate, type Sender, type Sent } from './sender.js';
import type { ClaimSeen, World } from './world.js';

export interface WatcherParts {
  readonly scan: ChainScan;
  readonly escrow: EscrowClient;
  readonly judge: Judge;
  readonly keep: Keep;
  /** Finds an order's terms by its hash; null where the chain does not show them. */
  readonly orderOf: (orderHash: Hex) => Promise<JobOrder | null>;
  readonly metrics: Metrics;
  /** In whose name moves are planned; null: none are. */
  readonly own: Hex | null;
  /** Null: moves are told, and not sent. */
  readonly sender: Sender | null;
  /** Sends nothing, but says what a move would cost. */
  readonly dryRun: boolean;
  /** Answers for claims that are right, in the second half of the time; null: nobody is defended. */
  readonly defender: AnsweringService | null;
}

export interface MoveReport extends Move {
  readonly sent: Sent | null;
  /** What the call would cost now; null where it was not asked, or would be refused. */
  readonly gas: bigint | null;
  /** Why it was not sent: too early, no money, would be refused. */
  readonly held: string | null;
}

export interface ClaimReport {
  readonly seen: ClaimSeen;
  readonly step: NextStep;
  readonly verdict: ClaimVerdict;
  readonly forecast: Forecast;
  /** Until when it is open, by the contracts' clock. */
  readonly openUntil: number;
}

export interface PollReport {
  readonly world: World;
  readonly claims: readonly ClaimReport[];
  readonly moves: readonly MoveReport[];
  readonly alerts: readonly Alert[];
}

/** Base deposits below which a watcher can be priced out (errata E6). */
const BASE_DEPOSITS = 64n;

export class Watcher {
  readonly #orders = new Map<Hex, JobOrder>();
  /** By block; a reorganisation moves a time by no more than a few blocks. */
  readonly #clocks = new Map<number, number>();

  constructor(private readonly parts: WatcherParts) {}

  /** @throws AssayError CHAIN_UNAVAILABLE, CHAIN_MOVED: the next poll tries again */
  async poll(): Promise<PollReport> {
    const { scan, judge, metrics } = this.parts;
    const startedAt = performance.now();
    let world: World;
    try {
      world = await scan.read();
    } catch (error) {
      metrics.add(
        'assay_watch_polls_total',
        { end: asAssayError(error).code === 'CHAIN_MOVED' ? 'moved' : 'failed' },
        1,
      );
      throw error;
    }
    const byEnd = [...world.claims].sort((a, b) => a.view.until - b.view.until);
    const steps = new Map<Hex, NextStep>();
    judge.keepOnly(new Set(world.claims.map(({ id }) => id)));
    for (const seen of byEnd) steps.set(seen.id, await judge.stepOf(seen));
    const alerts = alertsOf(world, steps, Date.now() / 1000);
    const moves = await this.#moves(byEnd, steps, world, alerts);
    const defended = (await this.parts.defender?.answer(world))?.moves ?? [];
    moves.push(...defended.map((move) => ({ ...move, gas: gasOf(move.sent), held: null })));
    const claims = byEnd.map((seen) => {
      const step = steps.get(seen.id)!;
      const { forecast, at } = forecastOf(seen, step);
      return { seen, step, verdict: verdictOf(step), forecast, openUntil: at };
    });
    const report = { world, claims, moves, alerts };
    this.#measure(report, performance.now() - startedAt);
    return report;
  }

  async #moves(
    claims: readonly ClaimSeen[],
    steps: ReadonlyMap<Hex, NextStep>,
    world: World,
    alerts: Alert[],
  ): Promise<MoveReport[]> {
    const { own } = this.parts;
    if (own === null) return [];
    const planned: Move[] = [];
    for (const seen of claims) {
      const plan = await this.#planOf(seen, steps.get(seen.id)!, world, own);
      if (plan.order === null && (verdictOf(plan.step) === 'invalid' || seen.state === 'dead'))
        alerts.push({ kind: 'order-unreadable', claim: seen.id, text: 'the terms of its order cannot be read back' });
      planned.push(...planChallenge(plan, world, own));
    }
    planned.sort(byDeadline);
    return this.#send(planned, world, own, alerts, claims);
  }

  async #planOf(seen: ClaimSeen, step: NextStep, world: World, own: Hex): Promise<ClaimPlan> {
    const { client, policy } = seen.game;
    const readyAt = await this.#readyAt(seen);
    const needsOrder = step.kind === 'prove' || seen.state === 'dead';
    const order = needsOrder ? await this.#orderOf(seen.claim.receipt.orderHash) : null;
    const deposits =
      step.kind === 'demand'
        ? await Promise.all(step.demands.map(({ node }) => client.depositOf(seen.claim, node)))
        : [];
    let announcement: ClaimPlan['announcement'] = null;
    let bounty: ClaimPlan['bounty'] = null;
    if (step.kind === 'prove') {
      const { faultId } = step.proof;
      const salt = await this.#saltOf(seen.id, faultId);
      const commitment = faultCommitment(seen.id, faultId, own, salt);
      const made = await client.precommittedAt(commitment, world.head.number);
      announcement = {
        commitment,
        salt,
        countsFrom: made === null ? null : made + policy.precommitDelay,
        second: isSecond(world.precommits, commitment, readyAt),
      };
      const left =
        seen.kill === null ? null : await client.bountyOf(seen.batchHash, seen.claim.index, world.head.number);
      if (left !== null && made !== null && world.clock <= left.claimableUntil)
        bounty = { amount: left.amount, until: left.claimableUntil };
    }
    return { seen, step, order, announcement, deposits, readyAt, bounty };
  }

  /** The chain's word for when the newest thing happened that a move may rest on. */
  async #readyAt({ claim, demands, game }: ClaimSeen): Promise<number> {
    const times = demands.map(({ answer, answerBy }) =>
      answer === null ? 0 : this.#clockAt(answer.blockNumber, answerBy - game.policy.answerTime),
    );
    return Math.max(claim.header.committedAt, ...(await Promise.all(times)));
  }

  /** The contracts' time in a block; @param earliest where the node does not keep the state of it any more */
  async #clockAt(block: number, earliest: number): Promise<number> {
    const known = this.#clocks.get(block);
    if (known !== undefined) return known;
    try {
      const clock = await this.parts.escrow.clock(block);
      this.#clocks.set(block, clock);
      return clock;
    } catch {
      return earliest;
    }
  }

  /** Kept before anything is sent that rests on it. */
  async #saltOf(claim: Hex, faultId: Hex): Promise<Hex> {
    const { keep, sender } = this.parts;
    const key = `precommit/${claim}/${faultId}`;
    const known = await keep.get(key);
    if (known !== null) return known as Hex;
    const fresh: Hex = `0x${randomBytes(32).toString('hex')}`;
    return sender === null ? fresh : ((await keep.putOnce(key, fresh)) as Hex);
  }

  async #orderOf(orderHash: Hex): Promise<JobOrder | null> {
    const known = this.#orders.get(orderHash);
    if (known !== undefined) return known;
    const order = await this.parts.orderOf(orderHash);
    if (order !== null) this.#orders.set(orderHash, order);
    return order;
  }

  async #send(
    planned: readonly Move[],
    world: World,
    own: Hex,
    alerts: Alert[],
    claims: readonly ClaimSeen[],
  ): Promise<MoveReport[]> {
    const { escrow, sender, dryRun, metrics } = this.parts;
    const [free] = await Promise.all([escrow.freeOf(own, world.head.number)]);
    metrics.set('assay_watch_free_balance_units', {}, Number(free));
    this.#warnOfBalance(free, claims, alerts);
    let left = free;
    const reports: MoveReport[] = [];
    const due: Move[] = [];
    for (const move of planned) {
      const held = world.frozen
        ? 'the contracts are frozen'
        : move.at > world.clock
          ? `until ${move.at}, so that two watchers do not send the same`
          : move.deposit > left
            ? `the free balance of ${left} does not cover the deposit of ${move.deposit}`
            : null;
      if (held !== null) {
        if (move.deposit > left) alerts.push({ kind: 'balance-low', claim: move.claim, text: held });
        reports.push({ ...move, sent: null, gas: null, held });
        continue;
      }
      left -= move.deposit;
      due.push(move);
    }
    if (due.length === 0) return reports;
    const allowing = await this.#allow(due, own, world);
    if (sender === null || dryRun) {
      for (const move of [...allowing, ...due]) {
        const simulated = await simulate(this.parts.escrow.provider, own, move.call);
        const held = 'gas' in simulated ? null : simulated.end === 'done' ? `done: ${simulated.by}` : simulated.reason;
        reports.push({ ...move, sent: null, gas: 'gas' in simulated ? simulated.gas : null, held });
      }
      return reports;
    }
    // A demand takes its deposit by the allowance: that comes first.
    for (const group of [allowing, due]) {
      const ends = await sender.send(group.map(({ call }) => call));
      group.forEach((move, i) => reports.push({ ...move, sent: ends[i]!, gas: gasOf(ends[i]!), held: null }));
    }
    return reports;
  }

  /** Calls that let each game take the deposits of the moves. */
  async #allow(due: readonly Move[], own: Hex, world: World): Promise<Move[]> {
    const { escrow } = this.parts;
    const wanted = new Map<Hex, bigint>();
    for (const { call, deposit } of due) if (deposit > 0n) wanted.set(call.to, (wanted.get(call.to) ?? 0n) + deposit);
    const moves: Move[] = [];
    for (const [game, amount] of wanted) {
      if ((await escrow.allowedOf(own, game, world.head.number)) >= amount) continue;
      moves.push({
        kind: 'approve',
        claim: null,
        what: 'let the game take deposits from the own free balance',
        call: escrow.allowCall(game, 2n ** 256n - 1n),
        at: world.clock,
        deadline: null,
        deposit: 0n,
        payout: 0n,
      });
    }
    return moves;
  }

  #warnOfBalance(free: bigint, claims: readonly ClaimSeen[], alerts: Alert[]): void {
    const policy = claims[0]?.game.policy;
    if (policy === undefined) return;
    const base = baseDeposit(policy);
    if (free < BASE_DEPOSITS * base)
      alerts.push({
        kind: 'balance-low',
        claim: null,
        text: `free balance ${free}: below ${BASE_DEPOSITS} base deposits of ${base}, a watcher can be priced out`,
      });
  }

  #measure({ world, claims, moves, alerts }: PollReport, elapsedMs: number): void {
    const { metrics, own } = this.parts;
    metrics.set('assay_watch_up', {}, 1);
    metrics.add('assay_watch_polls_total', { end: 'read' }, 1);
    metrics.set('assay_watch_poll_seconds', {}, elapsedMs / 1000);
    metrics.set('assay_watch_head_block', {}, world.head.number);
    metrics.set('assay_watch_head_age_seconds', {}, Date.now() / 1000 - world.timestamp);
    for (const name of ['assay_watch_claims', 'assay_watch_demands_open', 'assay_watch_alerts'] as const)
      metrics.clear(name);
    let waiting = 0;
    let held = 0n;
    for (const { seen, verdict } of claims) {
      metrics.add('assay_watch_claims', { verdict, state: seen.state }, 1);
      if (verdict === 'unknown') waiting = Math.max(waiting, world.clock - seen.claim.header.committedAt);
      for (const { answer, answerBy, demander, closed, deposit } of seen.demands) {
        if (demander === own && !closed) held += deposit;
        if (answer !== null || seen.state === 'final') continue;
        metrics.add(
          'assay_watch_demands_open',
          { clock: clockOf(answerBy, seen.game.policy.answerTime, world.clock) },
          1,
        );
      }
    }
    metrics.set('assay_watch_unknown_oldest_seconds', {}, waiting);
    metrics.set('assay_watch_deposits_held_units', {}, Number(held));
    for (const { kind } of alerts) metrics.add('assay_watch_alerts', { kind }, 1);
    for (const { kind, sent } of moves) {
      if (sent === null) continue;
      metrics.add('assay_watch_transactions_total', { move: kind, end: sent.end }, 1);
      if ('gasUsed' in sent) metrics.add('assay_watch_gas_used_total', { move: kind }, Number(sent.gasUsed));
    }
  }
}

/** A full demand: 512 hashes, a fifth above the table cost. */
export function baseDeposit(policy: ClaimSeen['game']['policy']): bigint {
  const bytes = 4 + 512 * 36;
  return (BigInt(policy.gasAnswer + policy.gasAnswerByte * bytes) * policy.unitPrice * 6n) / 5n;
}

/** Was something of others announced before, since the fault could be shown? */
function isSecond(precommits: World['precommits'], own: Hex, since: number): boolean {
  const before = precommits.slice(
    0,
    Math.max(
      0,
      precommits.findIndex(({ commitment }) => commitment === own),
    ),
  );
  return before.some(({ time }) => time >= since);
}

const gasOf = (sent: Sent): bigint | null => ('gasUsed' in sent ? sent.gasUsed : null);

/** @throws AssayError CLAIM_UNKNOWN */
export function claimNamed(claims: readonly ClaimReport[], name: string): ClaimReport {
  const found = claims.find(({ seen }) => seen.id === name || `${seen.batchHash}:${seen.claim.index}` === name);
  if (found !== undefined) return found;
  throw new AssayError('CLAIM_UNKNOWN', `no open claim ${name.slice(0, 100)}; there are ${claims.length}`);
}
