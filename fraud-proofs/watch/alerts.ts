/** What a person should look at. Nothing here acts. */
import { FREE_DEMANDS } from '../answer/capacity.js';
import { clockOf, isOverdue } from './deadlines.js';
import { verdictOf, type NextStep } from './next-step.js';
import type { ClaimSeen, World } from './world.js';

export const ALERT_KINDS = [
  /** A claim has had no verdict for more than a tenth of its window. */
  'unknown-too-long',
  /** An open demand on a claim that is right has less than half, or a quarter, of its time left. */
  'demand-below-half',
  'demand-below-quarter',
  /** A claim that is wrong became final. */
  'wrong-claim-final',
  /** A claim that is right died. */
  'right-claim-dead',
  /** A batch whose receipts cannot be read back. */
  'batch-unreadable',
  /** The order of a claim that is wrong cannot be read back: nobody can kill it. */
  'order-unreadable',
  /** Free balance below what the next demands take, or below 64 base deposits. */
  'balance-low',
  /** The newest block is old, or its time is not the time of this machine. */
  'head-stale',
  /** The contracts are frozen: the clock stands still. */
  'frozen',
  /** Somebody demands more than one honest challenger would: the surcharge is rising. */
  'flooded',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

export interface Alert {
  readonly kind: AlertKind;
  readonly claim: ClaimSeen['id'] | null;
  readonly text: string;
}

/** Blocks come later than this only where something is wrong: fifteen minutes. */
const STALE_SECONDS = 900;

/** @param steps own opinion by claim; absent claims have none. @param nowS unix time of this machine */
export function alertsOf(world: World, steps: ReadonlyMap<string, NextStep>, nowS: number): Alert[] {
  const alerts: Alert[] = [];
  const add = (kind: AlertKind, claim: ClaimSeen['id'] | null, text: string): void => {
    alerts.push({ kind, claim, text });
  };
  const age = nowS - world.timestamp;
  if (Math.abs(age) > STALE_SECONDS)
    add('head-stale', null, `block ${world.head.number} is ${Math.abs(age)} s ${age > 0 ? 'old' : 'in the future'}`);
  if (world.frozen) add('frozen', null, 'nothing but withdrawals works; no time passes');
  for (const { batchHash, reason } of world.unreadable) add('batch-unreadable', null, `${batchHash}: ${reason}`);
  for (const seen of world.claims) {
    const step = steps.get(seen.id);
    if (step === undefined) continue;
    const verdict = verdictOf(step);
    const age = world.clock - seen.claim.header.committedAt;
    if (verdict === 'unknown' && seen.state === 'challengeable' && age * 10 > seen.game.window)
      add('unknown-too-long', seen.id, step.kind === 'unknown' ? step.reason : step.kind);
    if (verdict === 'invalid' && seen.state === 'final') add('wrong-claim-final', seen.id, 'it is wrong and stands');
    if (verdict === 'valid' && seen.state === 'dead') add('right-claim-dead', seen.id, 'it is right and is dead');
    if (seen.view.demands > FREE_DEMANDS)
      add('flooded', seen.id, `${seen.view.demands} demands below the roots were made`);
    if (verdict === 'invalid' || isOverdue(seen, world.clock)) continue;
    for (const { answer, answerBy, nodeId } of seen.demands) {
      if (answer !== null) continue;
      const clock = clockOf(answerBy, seen.game.policy.answerTime, world.clock);
      if (clock === 'below-half' || clock === 'below-quarter')
        add(`demand-${clock}`, seen.id, `node ${nodeId}, ${answerBy - world.clock} left`);
    }
  }
  return alerts;
}

export const FORECASTS = ['stands', 'dies', 'open', 'dead', 'final'] as const;
export type Forecast = (typeof FORECASTS)[number];

/** What will become of a claim if everybody goes on as they have, and until when it is open. */
export function forecastOf(
  seen: ClaimSeen,
  step: NextStep | undefined,
): { readonly forecast: Forecast; readonly at: number } {
  const { state, view } = seen;
  if (state === 'dead') return { forecast: 'dead', at: view.until };
  if (state !== 'challengeable') return { forecast: 'final', at: view.until };
  const verdict = step === undefined ? 'unknown' : verdictOf(step);
  const forecast = { valid: 'stands', invalid: 'dies', unknown: 'open' } as const;
  return { forecast: forecast[verdict], at: view.until };
}
