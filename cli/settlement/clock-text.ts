/** A time or a span of the contract's clock, as people read it. */
export interface ClockMode {
  /** Seconds since 1970, less all frozen time; else block numbers. */
  readonly timestamp: boolean;
}

export const clockModeOf = (mode: string): ClockMode => ({ timestamp: mode.startsWith('mode=timestamp') });

export const timeText = (time: number, { timestamp }: ClockMode): string =>
  timestamp ? new Date(time * 1000).toISOString().replace('.000Z', 'Z') : `block ${time}`;

/** As in `3 h`: the largest unit that divides it evenly, above one. */
export function spanText(span: number, { timestamp }: ClockMode): string {
  if (!timestamp) return `${span} block${span === 1 ? '' : 's'}`;
  for (const [unit, seconds] of [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
  ] as const)
    if (span >= seconds && span % seconds === 0) return `${span / seconds} ${unit}`;
  return `${span} s`;
}
