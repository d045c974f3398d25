/** What a benchmark reports; benchmarks/README.md describes the JSON. */
import { table } from '../cli/terminal.js';

export interface Metric {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** Measurements; 1 for what cannot vary. */
  readonly n: number;
  readonly unit: 'ms' | 'ns' | 'bytes' | 'count' | 'ratio' | 'gas' | 'value' | 'perSecond';
}

export interface Result {
  readonly suite: string;
  /** Null where no model is involved. */
  readonly model: string | null;
  readonly params: number | null;
  /** Multiply-accumulates of one item. */
  readonly macs: number | null;
  readonly batch: number | null;
  readonly threads: number;
  /** Null for Assay; the name of another system where a suite measures one. */
  readonly peer: string | null;
  readonly metrics: Readonly<Record<string, Metric>>;
}

/** What tells a row from all others of a report. */
export type RowKey = Pick<Result, 'suite' | 'model' | 'batch' | 'threads' | 'peer'>;

export interface Report {
  readonly machine: string;
  readonly commit: string;
  readonly node: string;
  /** Of the system when the run began: processes that want a core, over a minute. */
  readonly load: number;
  readonly results: readonly Result[];
}

/** @param samples at least one. */
export function metric(samples: readonly number[], unit: Metric['unit']): Metric {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)!, n: sorted.length, unit };
}

/** A table for each model: a line for each metric, a column for each configuration. */
export function reportText({ machine, commit, node, load, results }: Report): string {
  const titles = new Set(results.map(titleOf));
  const tables = [...titles].map((title) => {
    const own = results.filter((result) => titleOf(result) === title);
    const names = [...new Set(own.flatMap(({ metrics }) => Object.keys(metrics)))];
    const columns = own.map(
      ({ batch, threads, peer }) =>
        `${peer === null ? '' : `${peer}, `}${batch === null ? '' : `batch ${batch}, `}threads ${threads}`,
    );
    const rows = names.map((name) => [
      name,
      ...own.map(({ metrics }) => (metrics[name] ? numberText(metrics[name]) : '')),
    ]);
    return `${title}\n${table(['median', ...columns], rows)}`;
  });
  return [`${machine}, node ${node}, commit ${commit}, load ${load.toFixed(1)}`, ...tables].join('\n\n');
}

const titleOf = ({ suite, model, params, macs }: Result): string =>
  model === null ? suite : `${suite} ${model} (${params} parameters, ${macs} multiply-accumulates)`;

/** Medians now and in an earlier report, for every metric that both hold. */
export function comparisonText(now: Report, before: Report): string {
  const rows = now.results.flatMap((result) => {
    const other = before.results.find((candidate) => keyOf(candidate) === keyOf(result));
    return Object.entries(result.metrics).flatMap(([name, own]) => {
      const earlier = other?.metrics[name];
      if (!earlier) return [];
      const change = earlier.median === 0 ? '' : `${(100 * (own.median / earlier.median - 1)).toFixed(1)}%`;
      return [[result.suite, ...configuration(result), name, numberText(earlier), numberText(own), change]];
    });
  });
  return `against commit ${before.commit} (${before.machine})\n${table(
    ['suite', 'model', 'batch', 'threads', 'metric', 'before', 'now', 'change'],
    rows,
  )}`;
}

const configuration = ({ model, batch, threads, peer }: Result): string[] => [
  `${model ?? ''}${peer === null ? '' : ` (${peer})`}`,
  String(batch ?? ''),
  String(threads),
];
export const keyOf = ({ suite, model, batch, threads, peer }: RowKey): string =>
  [suite, model, batch, threads, peer].join(' ');

function numberText({ median, unit }: Metric): string {
  if (unit === 'bytes' && median >= 2 ** 20) return `${(median / 2 ** 20).toFixed(0)} MiB`;
  return Number.isInteger(median) ? String(median) : median.toPrecision(4);
}
