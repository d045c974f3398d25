/** What a watcher saw and did, for people and as JSON. */
import type { Alert } from '../../fraud-proofs/watch/alerts.js';
import type { NextStep } from '../../fraud-proofs/watch/next-step.js';
import type { Sent } from '../../fraud-proofs/watch/sender.js';
import type { ClaimReport, MoveReport, PollReport } from '../../fraud-proofs/watch/watcher.js';
import { timeText, type ClockMode } from '../settlement/clock-text.js';
import { amountText, type TokenUnit } from '../settlement/token-unit.js';
import { table } from '../terminal.js';

export interface TextContext {
  readonly clock: ClockMode;
  readonly unit: TokenUnit;
}

export function stepText(step: NextStep): string {
  switch (step.kind) {
    case 'right':
      return 're-executed: as claimed';
    case 'prove': {
      const { operator, element, committed, recomputed } = step.place;
      const at = element === null ? operator : `${operator}, element ${element}`;
      return committed === null ? `wrong: ${at}` : `wrong: ${at}: committed ${committed}, recomputed ${recomputed}`;
    }
    case 'demand':
      return `to be revealed: ${step.why}`;
    case 'wait':
      return `demanded, not answered yet: ${step.why}`;
    case 'pending':
      return 'being re-executed';
    case 'unknown':
      return step.reason;
  }
}

export function sentText(sent: Sent): string {
  switch (sent.end) {
    case 'mined':
      return `mined in block ${sent.blockNumber}, ${sent.gasUsed} gas`;
    case 'wasted':
      return `mined and refused: somebody was first, ${sent.gasUsed} gas`;
    case 'done':
      return `not sent: made already (${sent.by})`;
    case 'refused':
      return `not sent: ${sent.reason}`;
    case 'waiting':
      return `not mined yet (${sent.hash})`;
  }
}

export const claimText = ({ seen, verdict, step }: ClaimReport): string =>
  `claim ${seen.id} (${seen.state}): ${verdict}; ${stepText(step)}`;

export function moveText({ kind, what, sent, held }: MoveReport): string {
  return `${kind}: ${what}: ${sent === null ? (held ?? 'would be sent') : sentText(sent)}`;
}

export const alertText = ({ kind, claim, text }: Alert): string =>
  `ALERT ${kind}${claim === null ? '' : ` of claim ${claim}`}: ${text}`;

/** Everything that `--dry-run` promises about a move. */
export function dryRunText(
  { kind, what, call, deposit, gas, deadline, payout, held }: MoveReport,
  { clock, unit }: TextContext,
): string {
  const lines: [string, string][] = [
    ['to', call.to],
    ['calldata', call.data],
    ['deposit', amountText(deposit, unit)],
    ['gas', gas === null ? 'unknown' : String(gas)],
    ['deadline', deadline === null ? 'none' : timeText(deadline, clock)],
    ['pay-out', amountText(payout, unit)],
  ];
  if (held !== null) lines.push(['now', held]);
  return [`${kind}: ${what}`, ...lines.map(([name, text]) => `  ${name.padEnd(9)} ${text}`)].join('\n');
}

export function claimsTable(claims: readonly ClaimReport[], { clock }: TextContext): string {
  if (claims.length === 0) return 'no open claims';
  return table(
    ['claim', 'state', 'verdict', 'forecast', 'open until', 'demands', 'waiting'],
    claims.map(({ seen, verdict, forecast, openUntil }) => [
      seen.id,
      seen.state,
      verdict,
      forecast,
      timeText(openUntil, clock),
      String(seen.view.demands),
      String(waiting(seen)),
    ]),
  );
}

const waiting = ({ demands }: ClaimReport['seen']): number => demands.filter(({ answer }) => answer === null).length;

/** One poll as JSON; without calldata, which `--dry-run` has. */
export function pollJson({ world, claims, moves, alerts }: PollReport, withCalldata: boolean): Record<string, unknown> {
  return {
    head: world.head,
    clock: world.clock,
    frozen: world.frozen,
    ended: world.ended,
    unreadable: world.unreadable,
    claims: claims.map(claimJson),
    moves: moves.map(({ call, ...move }) => (withCalldata ? { ...move, to: call.to, calldata: call.data } : move)),
    alerts,
  };
}

export function claimJson({ seen, step, verdict, forecast, openUntil }: ClaimReport): Record<string, unknown> {
  const { id, batchHash, claim, state, view, order, demands, kill } = seen;
  return {
    claim: id,
    batchHash,
    index: claim.index,
    orderHash: claim.receipt.orderHash,
    modelDigest: claim.receipt.modelDigest,
    executor: claim.receipt.executor,
    state,
    order: order.state,
    verdict,
    step: step.kind,
    detail: stepText(step),
    ...(step.kind === 'prove' ? { fault: step.proof.fault, faultId: step.proof.faultId, place: step.place } : {}),
    forecast,
    openUntil,
    lock: order.lock,
    demands: { made: view.demands, open: waiting(seen), nextAnswerBy: view.nextAnswerBy },
    deposits: demands.filter(({ closed }) => !closed).reduce((sum, { deposit }) => sum + deposit, 0n),
    kill,
  };
}
