/** The optimistic lane at a glance, for somebody who looks on: no key, no opinion that was not computed here. */
import { FORECASTS, type Forecast } from '../../fraud-proofs/watch/alerts.js';
import { clockOf } from '../../fraud-proofs/watch/deadlines.js';
import type { PollReport } from '../../fraud-proofs/watch/watcher.js';
import { amountText } from '../settlement/token-unit.js';
import { table } from '../terminal.js';
import { alertText, claimsTable, pollJson, type TextContext } from './watch-text.js';

export interface MonitorReport {
  readonly forecasts: Readonly<Record<Forecast, number>>;
  /** Demands that wait, by share of their time. */
  readonly waiting: Readonly<Record<string, number>>;
  /** In the smallest unit of the token. */
  readonly bonds: {
    /** Stakes of executors on open claims. */
    readonly locks: bigint;
    /** Deposits that the games hold. */
    readonly deposits: bigint;
  };
  readonly poll: Record<string, unknown>;
}

export function monitorOf(report: PollReport): MonitorReport {
  const forecasts = Object.fromEntries(FORECASTS.map((name) => [name, 0])) as Record<Forecast, number>;
  const waiting: Record<string, number> = {};
  let [locks, deposits] = [0n, 0n];
  for (const { seen, forecast } of report.claims) {
    forecasts[forecast]++;
    if (seen.order.state === 'bound') locks += seen.order.lock;
    for (const { answer, answerBy, deposit, closed } of seen.demands) {
      if (!closed) deposits += deposit;
      if (answer !== null) continue;
      const clock = clockOf(answerBy, seen.game.policy.answerTime, report.world.clock);
      waiting[clock] = (waiting[clock] ?? 0) + 1;
    }
  }
  return { forecasts, waiting, bonds: { locks, deposits }, poll: pollJson(report, false) };
}

export function monitorText(
  { forecasts, waiting, bonds }: MonitorReport,
  report: PollReport,
  context: TextContext,
): string {
  const counts = (of: Readonly<Record<string, number>>): string =>
    Object.entries(of)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ') || 'none';
  const rows = [
    ['claims', counts(forecasts)],
    ['demands that wait', counts(waiting)],
    ['locks of open claims', amountText(bonds.locks, context.unit)],
    ['deposits in games', amountText(bonds.deposits, context.unit)],
    ['ended since the start', String(report.world.ended)],
  ];
  return [
    claimsTable(report.claims, context),
    '',
    table(['what', 'how much'], rows),
    ...report.alerts.map(alertText),
  ].join('\n');
}
