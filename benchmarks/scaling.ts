/**
 * How costs grow with a model, and how far forecasts are off.
 *
 * Law. log y = log c + e log x, by least squares over the models of one suite, system, batch and number of threads; e is
 * the exponent, r2 the share of the variance of log y that it explains.
 */
import { valueText } from './page/metric-text.js';
import type { Metric, Result } from './report.js';

export interface PowerLaw {
  readonly exponent: number;
  /** y at x = 1. */
  readonly factor: number;
  readonly r2: number;
  /** Points it was fitted to. */
  readonly n: number;
}

/** Fewer points say nothing about a law. */
const LEAST_POINTS = 4;

/** @returns null where there are fewer than four points, or x does not vary. */
export function fitPowerLaw(points: readonly (readonly [x: number, y: number])[]): PowerLaw | null {
  const logs = points.filter(([x, y]) => x > 0 && y > 0).map(([x, y]) => [Math.log(x), Math.log(y)] as const);
  const n = logs.length;
  if (n < LEAST_POINTS) return null;
  const mean = (values: readonly number[]): number => values.reduce((sum, v) => sum + v, 0) / n;
  const [mx, my] = [mean(logs.map(([x]) => x)), mean(logs.map(([, y]) => y))];
  const sum = (of: (x: number, y: number) => number): number =>
    logs.reduce((all, [x, y]) => all + of(x - mx, y - my), 0);
  const [xx, xy, yy] = [sum((x) => x * x), sum((x, y) => x * y), sum((_, y) => y * y)];
  if (xx === 0) return null;
  const exponent = xy / xx;
  return { exponent, factor: Math.exp(my - exponent * mx), r2: yy === 0 ? 1 : (xy * xy) / (xx * yy), n };
}

const FITTED = [
  ['proveCpuMs', 'params', 'processor time', 'parameters'],
  ['proveCpuMs', 'macs', 'processor time', 'multiply-accumulates'],
  ['peakRssBytes', 'params', 'memory', 'parameters'],
  ['peakRssBytes', 'macs', 'memory', 'multiply-accumulates'],
] as const;

/** The laws of a report, and predicted against measured, a line each. */
export function fitsText(results: readonly Result[]): string[] {
  const groups = new Map<string, Result[]>();
  for (const result of results) {
    const { suite, peer, batch, threads } = result;
    const key = `${suite}, ${peer ?? 'Assay'}, batch ${batch ?? '-'}, ${threads} threads`;
    groups.set(key, [...(groups.get(key) ?? []), result]);
  }
  const laws = [...groups].flatMap(([group, own]) =>
    FITTED.flatMap(([metric, size, what, over]) => {
      const points = own.flatMap((result) =>
        result.metrics[metric] && result[size] !== null ? [[result[size], result.metrics[metric].median] as const] : [],
      );
      const law = fitPowerLaw(points);
      return law === null
        ? []
        : [
            `${group}: ${what} grows with ${over}^${law.exponent.toFixed(2)} (r2 ${law.r2.toFixed(2)}, ${law.n} models)`,
          ];
    }),
  );
  return [...laws, ...results.flatMap(forecastText)];
}

/** Forecasts are for one thread; held against its processor time, which other work on the machine does not lengthen. */
function forecastText({ model, batch, threads, peer, metrics }: Result): string[] {
  const { predictedMs, proveCpuMs, predictedMemoryBytes, peakRssBytes } = metrics;
  if (peer !== null || threads !== 1 || !predictedMs || !proveCpuMs || !predictedMemoryBytes || !peakRssBytes)
    return [];
  const off = (predicted: Metric, measured: Metric): string =>
    `${valueText(predicted.median, predicted.unit)} predicted, ${valueText(measured.median, measured.unit)} measured ` +
    `(${(100 * (predicted.median / measured.median - 1)).toFixed(0)} %)`;
  const time = off(predictedMs, proveCpuMs);
  return [`forecast of ${model}, batch ${batch}: ${time}; memory ${off(predictedMemoryBytes, peakRssBytes)}`];
}
