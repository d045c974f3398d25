/** Figures as people read them. */
import type { Metric } from '../report.js';

/** With spread and n where it was measured more than once. */
export function metricText({ median, min, max, n, unit }: Metric): string {
  const middle = valueText(median, unit);
  return n > 1 && min !== max ? `${middle} (${valueText(min, unit)} to ${valueText(max, unit)}, n = ${n})` : middle;
}

export function valueText(value: number, unit: Metric['unit']): string {
  switch (unit) {
    case 'ms':
      return value >= 1000 ? `${plain(value / 1000)} s` : `${plain(value)} ms`;
    case 'ns':
      return `${plain(value)} ns`;
    case 'bytes':
      if (value >= 1e9) return `${plain(value / 1e9)} GB`;
      if (value >= 1e6) return `${plain(value / 1e6)} MB`;
      return value >= 1e4 ? `${plain(value / 1e3)} kB` : `${value} B`;
    case 'gas':
      return Math.round(value).toLocaleString('en');
    case 'count':
      return value.toLocaleString('en');
    case 'perSecond':
      return `${plain(value)} a second`;
    case 'ratio':
    case 'value':
      return plain(value);
  }
}

const plain = (value: number): string =>
  Number(value.toPrecision(3)).toLocaleString('en', { maximumSignificantDigits: 3 });
