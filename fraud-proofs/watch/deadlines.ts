/** The clock of a claim, as IDisputeGame.sol has it. An action counts while clock <= deadline. */
import type { ClaimSeen } from './world.js';

/** Last time to demand a node of this level. */
export function demandDeadline(seen: ClaimSeen, level: number, parentAnswered: boolean): number {
  const { answerTime, responseTime } = seen.game.policy;
  const windowEnd = seen.claim.header.committedAt + seen.game.window;
  return parentAnswered ? windowEnd + level * (answerTime + responseTime) : windowEnd;
}

/** Last time to prove a fault. */
export const proofDeadline = (seen: ClaimSeen): number => seen.view.until;

/** A demand is late, and nobody has drawn the consequence through the game yet. */
export function isOverdue({ view, state }: ClaimSeen, clock: number): boolean {
  return state === 'dead' && !view.timedOut && !view.killed && view.nextAnswerBy !== null && clock > view.nextAnswerBy;
}

/** In what part of its time an open demand is. */
export function clockOf(
  answerBy: number,
  answerTime: number,
  clock: number,
): 'above-half' | 'below-half' | 'below-quarter' | 'overdue' {
  const left = answerBy - clock;
  if (left < 0) return 'overdue';
  if (left * 4 < answerTime) return 'below-quarter';
  return left * 2 < answerTime ? 'below-half' : 'above-half';
}
