/** The report as one page that needs nothing else: charts, tables, laws, the JSON itself, how to cite and reproduce. */
import { fitsText } from '../scaling.js';
import type { Report, Result } from '../report.js';
import { escapeHtml, scatter, shares, type Series } from './chart.js';
import { valueText } from './metric-text.js';
import { citation, COMMANDS, machineText, MEASURED, REPRODUCE, suiteCells, suitesOf } from './report-markdown.js';

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1320px; padding: 0 1rem; color: #1a1a1a; background: #fff }
h1 { margin-bottom: 0 } h2 { margin-top: 2.5rem }
.charts { display: flex; flex-wrap: wrap; gap: 1.5rem }
svg { background: #fff; border: 1px solid #ddd; border-radius: 6px; max-width: 100%; height: auto; font: 13px system-ui, sans-serif }
.title { font-size: 16px; font-weight: 600 } .axis { fill: #444 } .grid { stroke: #e4e4e4 }
.table { overflow-x: auto } table { border-collapse: collapse; font-size: 14px }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .7rem; text-align: left; vertical-align: top } th { background: #f5f5f5 }
pre { background: #f5f5f5; padding: 1rem; overflow-x: auto }`;

const PHASES = [
  ['witnessMs', 'evaluation and witness'],
  ['commitMs', 'commitments'],
  ['helpersMs', 'helper columns'],
  ['lookupMs', 'lookup argument'],
  ['arithmeticMs', 'arithmetic sumcheck'],
  ['openingSumcheckMs', 'opening sumcheck'],
  ['openingMs', 'opening'],
] as const;

const count = (value: number): string =>
  value >= 1e6 ? `${value / 1e6} M` : value >= 1e3 ? `${value / 1e3} k` : String(value);

export function reportPage(report: Report): string {
  const { results } = report;
  const fits = fitsText(results);
  const charts = chartsOf(results).filter((chart) => chart !== '');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Assay: benchmark report</title><style>${STYLE}</style></head><body>
<h1>Assay: what proving costs</h1>
<p>${escapeHtml(machineText(report))}<br>${escapeHtml(MEASURED)}</p>
<div class="charts">${charts.join('\n')}</div>
${suitesOf(report)
  .map(({ suite, results: own }) => `<h2>${escapeHtml(suite)}</h2>${tableOf(own)}`)
  .join('\n')}
${fits.length === 0 ? '' : `<h2>Scaling and forecasts</h2><ul>${fits.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`}
<h2>Reproduce and cite</h2><p>${escapeHtml(REPRODUCE)}</p><pre>${escapeHtml(COMMANDS)}</pre><p>${escapeHtml(citation(report))}</p>
<details><summary>The report as JSON</summary><pre id="report">${escapeHtml(JSON.stringify(report, null, 1))}</pre></details>
</body></html>
`;
}

function tableOf(results: readonly Result[]): string {
  const { head, rows } = suiteCells(results);
  const line = (tag: string, cells: readonly string[]): string =>
    `<tr>${cells.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`;
  return `<div class="table"><table><thead>${line('th', head)}</thead><tbody>${rows.map((row) => line('td', row)).join('')}</tbody></table></div>`;
}

function chartsOf(results: readonly Result[]): string[] {
  const proofs = results.filter(({ suite }) => suite === 'peers' || suite === 'prover');
  const peers = results.filter(({ suite }) => suite === 'peers');
  const ladder = (peers.length > 0 ? peers : proofs.filter(({ batch }) => batch === 1)).filter(
    ({ params, threads }, _, all) => params !== null && threads === Math.max(...all.map((row) => row.threads)),
  );
  const overParameters = (
    metric: string,
    unit: 'ms' | 'bytes' | 'gas' | 'ratio',
    title: string,
    yTitle: string,
  ): string =>
    scatter(
      seriesBy(ladder, ({ peer }) => peer ?? 'Assay', 'params', metric),
      {
        title,
        xTitle: 'parameters',
        yTitle,
        x: count,
        y: (value) => valueText(value, unit),
      },
    );
  const own = proofs.filter(({ suite, peer }) => suite === 'prover' && peer === null);
  const most = Math.max(...own.map(({ threads }) => threads));
  return [
    overParameters('proveMs', 'ms', 'Time of one proof', 'prove'),
    overParameters('verifyMs', 'ms', 'Time of one check', 'verify'),
    overParameters('peakRssBytes', 'bytes', 'Memory of the proving process', 'peak'),
    overParameters('proofBytes', 'bytes', 'Size of a proof', 'bytes'),
    overParameters('gas', 'gas', 'Gas of a check on chain', 'gas'),
    overParameters('overhead', 'ratio', 'Time of a proof over inference alone', 'times'),
    scatter(
      seriesBy(
        own.filter(({ batch }) => batch === 1),
        ({ model }) => model!,
        'threads',
        'proveMs',
      ),
      {
        title: 'Time of a proof by threads, batch 1',
        xTitle: 'threads',
        yTitle: 'prove',
        x: count,
        y: (value) => valueText(value, 'ms'),
      },
    ),
    scatter(
      seriesBy(
        own.filter(({ threads }) => threads === most),
        ({ model }) => model!,
        'batch',
        'provePerItemMs',
      ),
      {
        title: `Time of a proof per item by batch, ${most} threads`,
        xTitle: 'items of a batch',
        yTitle: 'prove, per item',
        x: count,
        y: (value) => valueText(value, 'ms'),
      },
    ),
    shares(
      own
        .filter(({ threads, batch }) => threads === most && batch === 1)
        .map(({ model, metrics }) => ({
          name: model!,
          parts: PHASES.filter(([name]) => metrics[name]).map(([name, title]) => ({
            name: title,
            value: metrics[name]!.median,
          })),
        })),
      'Where the time of a proof goes, batch 1',
      (value) => valueText(value, 'ms'),
    ),
  ];
}

function seriesBy(
  results: readonly Result[],
  nameOf: (result: Result) => string,
  x: 'params' | 'threads' | 'batch',
  metric: string,
): Series[] {
  return [...new Set(results.map(nameOf))].map((name) => ({
    name,
    points: results.flatMap((result) =>
      nameOf(result) === name && result[x] !== null && result.metrics[metric]
        ? [[result[x], result.metrics[metric].median] as const]
        : [],
    ),
  }));
}
