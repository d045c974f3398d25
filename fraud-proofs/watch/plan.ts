/**
 * What a watcher does next, from what it sees: a pure function of the world, the own verdicts and the own address.
 *
 * Symbols: t0 the commit, W the window, A the answer time, D = A + R; all by the contracts' clock.
 *   1. An overdue demand: timeout. Its deadline is none, but its bounty is the demander's.
 *   2. A claim that is open and wrong: what must be revealed is demanded; a fault that can be shown is announced
 *      (precommit) and, when the announcement counts, proved. Where there is no time left to announce, it is proved at once:
 *      the kill matters more than the bounty.
 *   3. A claim that has ended: own bounty claimed, own deposits paid out.
 *   4. When: at once, except where another watcher may be doing the same. A move becomes possible at a time that the chain
 *      knows (the commit, an answer). Of the time from there to its deadline, at most A, the first quarter is divided into
 *      SLOTS slots; address and move pick one. So two honest watchers rarely send the same move, and whoever comes second
 *      finds it made; who finds that somebody else made the last demand stands back for another quarter, and who announced
 *      second proves a slot later. So a move is put off by at most half of its time, and not at all where a slot would be
 *      shorter than a few seconds or blocks.
 * Earliest deadline first.
 */
import { AbiCoder, keccak256 } from 'ethers';
import type { Hex, JobOrder } from '../../receipts/types.js';
import type { Call } from '../../verifier-contracts/contract-client.js';
import type { BoundOrder } from '../../verifier-contracts/escrow-client.js';
import { demandDeadline, isOverdue, proofDeadline } from './deadlines.js';
import type { NextStep } from './next-step.js';
import type { ClaimSeen, World } from './world.js';

export const MOVE_KINDS = [
  'demand',
  'precommit',
  'prove',
  'timeout',
  'claim-bounty',
  'close',
  'answer',
  'approve',
] as const;
export type MoveKind = (typeof MOVE_KINDS)[number];

export interface Move {
  readonly kind: MoveKind;
  /** Claim that it is about; null for `approve`. */
  readonly claim: Hex | null;
  /** What it does, in words. */
  readonly what: string;
  readonly call: Call;
  /** When it is to be sent, by the contracts' clock. */
  readonly at: number;
  /** Last time at which it counts; null where there is none. */
  readonly deadline: number | null;
  /** Taken from the free balance until the claim ends. */
  readonly deposit: bigint;
  /** What comes back or is earned if all goes as expected, in the smallest unit of the token. */
  readonly payout: bigint;
}

/** What planning one claim takes besides the world. */
export interface ClaimPlan {
  readonly seen: ClaimSeen;
  readonly step: NextStep;
  /** Null where the chain does not show it: nothing can be killed or settled then. */
  readonly order: JobOrder | null;
  /** Own announcement of the fault at hand; `countsFrom` null while it is not on chain. */
  readonly announcement: {
    readonly commitment: Hex;
    readonly salt: Hex;
    readonly countsFrom: number | null;
    /** Somebody else has announced something since the fault could be shown, and before this. */
    readonly second: boolean;
  } | null;
  /** What the demands of `step` would each take now. */
  readonly deposits: readonly bigint[];
  /** From when what `step` asks for was possible, by the clock. */
  readonly readyAt: number;
  /** A bounty that is left open for the own announcement, and until when; null where there is none. */
  readonly bounty: { readonly amount: bigint; readonly until: number } | null;
}

/** Slots of the first quarter of a move's time. */
const SLOTS = 8;
/** Shorter than that there is no sense in waiting for one another. */
const LEAST_SLOT = 2;
const BPS = 10_000n;

/** Moves of a challenger for one claim, in any order. */
export function planChallenge(plan: ClaimPlan, world: World, own: Hex): Move[] {
  const { seen, step, order } = plan;
  const { game, claim, id, state } = seen;
  const { client, policy } = game;
  const now = world.clock;
  const base = { claim: id, deposit: 0n, payout: 0n };
  const settlement: BoundOrder | null = order === null ? null : { order, ...claim };
  const bounty = (seen.order.lock * BigInt(policy.bountyOpenBps)) / BPS;
  const gasRefund = BigInt(policy.gasKill) * policy.unitPrice;
  const mine = seen.demands.filter(({ demander, closed }) => demander === own && !closed);
  const held = mine.reduce((sum, { deposit }) => sum + deposit, 0n);
  const moves: Move[] = [];

  const ended = state === 'dead' ? seen.order.state === 'slashed' : state === 'final';
  if (plan.bounty !== null && plan.announcement !== null && settlement !== null && step.kind === 'prove') {
    moves.push({
      ...base,
      kind: 'claim-bounty',
      what: 'claim the bounty that a kill without a precommit left open',
      call: client.claimBountyCall(settlement, step.proof, { beneficiary: own, salt: plan.announcement.salt }),
      at: now,
      deadline: plan.bounty.until,
      payout: plan.bounty.amount,
    });
  }
  if (settlement !== null && isOverdue(seen, now)) {
    const first = seen.demands
      .filter((demand) => demand.answer === null)
      .reduce((least, demand) => (demand.answerBy < least.answerBy ? demand : least));
    const earned = first.demander === own ? bounty + gasRefund : gasRefund;
    moves.push({
      ...base,
      kind: 'timeout',
      what: 'end the claim: a demand was not answered in time',
      call: client.timeoutCall(settlement),
      // The bounty is the demander's, whoever calls: he goes first.
      at: first.demander === own ? now : slotOf(own, `timeout ${id}`, first.answerBy, policy.answerTime).at,
      deadline: null,
      payout: earned,
    });
  }
  if (ended && mine.length > 0) {
    const killed = state === 'dead';
    moves.push({
      ...base,
      kind: 'close',
      what: `pay out ${mine.length} own deposit${mine.length === 1 ? '' : 's'}`,
      call: client.closeDemandsCall(
        claim,
        mine.map(({ nodeId }) => nodeId),
      ),
      at: now,
      deadline: null,
      payout: killed ? held : 0n,
    });
  }
  if (state !== 'challengeable' || isOverdue(seen, now)) return moves;

  if (step.kind === 'demand') {
    step.demands.forEach((demand, i) => {
      const deadline = demandDeadline(seen, demand.level, demand.parentAnswered);
      const deposit = plan.deposits[i]!;
      moves.push({
        ...base,
        kind: 'demand',
        what: step.why,
        call: client.demandCall(claim, demand.node, demand.path, demand.evidence),
        at: turnAt(plan, own, `demand ${seen.demands.length}`, deadline),
        deadline,
        deposit,
        payout: step.wrong ? deposit : 0n,
      });
    });
  }
  if (step.kind === 'prove') moves.push(...proofMoves(plan, settlement, now, own, { bounty, gasRefund, held }));
  return moves;
}

function proofMoves(
  plan: ClaimPlan,
  settlement: BoundOrder | null,
  now: number,
  own: Hex,
  money: { bounty: bigint; gasRefund: bigint; held: bigint },
): Move[] {
  const { seen, step, announcement } = plan;
  if (step.kind !== 'prove' || announcement === null) return [];
  const { client, policy } = seen.game;
  const deadline = proofDeadline(seen);
  const base = { claim: seen.id, deposit: 0n };
  const timeToAnnounce = deadline - now > policy.precommitDelay + LEAST_SLOT;
  if (announcement.countsFrom === null && timeToAnnounce)
    return [
      {
        ...base,
        kind: 'precommit',
        what: 'announce a fault, without naming it',
        call: client.precommitCall(announcement.commitment),
        at: turnAt(plan, own, 'prove', deadline),
        deadline: deadline - policy.precommitDelay,
        payout: 0n,
      },
    ];
  if (settlement === null) return [];
  const counts = announcement.countsFrom !== null && now >= announcement.countsFrom;
  if (!counts && timeToAnnounce) return [];
  return [
    {
      ...base,
      kind: 'prove',
      what: `prove the fault (${step.proof.fault}) at ${step.place.operator}`,
      call: client.proveFaultCall(settlement, step.proof, { beneficiary: own, salt: announcement.salt }),
      at: counts && announcement.second ? announcement.countsFrom! + slotLength(policy.answerTime) : now,
      deadline,
      payout: money.held + (counts ? money.bounty + money.gasRefund : 0n),
    },
  ];
}

/** When a demand or an announcement is to be sent. Who sees that somebody else made the last demand lets him go on first. */
function turnAt({ seen, readyAt }: ClaimPlan, own: Hex, move: string, deadline: number): number {
  const span = Math.min(deadline - readyAt, seen.game.policy.answerTime);
  const { at, length } = slotOf(own, `${move} ${seen.id}`, readyAt, span);
  const last = seen.demands.at(-1);
  return last === undefined || last.demander === own ? at : at + SLOTS * length;
}

/**
 * The slot of an address for a move that others may make too.
 * @param from from when on it is possible. @param span from there to its deadline.
 */
export function slotOf(
  own: Hex,
  move: string,
  from: number,
  span: number,
): { readonly at: number; readonly length: number } {
  const length = slotLength(span);
  const hash = keccak256(AbiCoder.defaultAbiCoder().encode(['address', 'string'], [own, move]));
  return { at: from + Number(BigInt(hash) % BigInt(SLOTS)) * length, length };
}

/** 0 where there is no sense in waiting for one another. */
function slotLength(span: number): number {
  const length = Math.floor(Math.floor(span / 4) / SLOTS);
  return length < LEAST_SLOT ? 0 : length;
}

/** Earliest deadline first; what has none comes last. */
export const byDeadline = (a: Move, b: Move): number =>
  (a.deadline ?? Number.MAX_SAFE_INTEGER) - (b.deadline ?? Number.MAX_SAFE_INTEGER);
