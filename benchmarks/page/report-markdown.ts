/** The report as Markdown: one table for each suite, and how to make and cite it. */
import type { Metric, Report, Result } from '../report.js';
import { fitsText } from '../scaling.js';
import { metricText } from './metric-text.js';

/** Columns of the tables that people read first; all other figures are in the JSON. */
export const COLUMNS: readonly (readonly [metric: string, title: string])[] = [
  ['proveMs', 'prove'],
  ['proveCpuMs', 'processor time'],
  ['verifyMs', 'verify'],
  ['setupMs', 'set-up'],
  ['proofBytes', 'proof'],
  ['peakRssBytes', 'memory'],
  ['provingKeyBytes', 'proving key'],
  ['verificationKeyBytes', 'verification key'],
  ['gas', 'gas'],
  ['overhead', 'over inference'],
  ['errorAgainstFloat', 'error against float'],
  ['agreementWithFloat', 'class as float'],
  ['labelAccuracy', 'right class'],
  ['neededMemoryBytes', 'memory it would need'],
];

export const REPRODUCE = 'To reproduce, on a clean clone of the commit, on a machine that does nothing else:';
export const COMMANDS = `npm ci
npm run -s ezkl:install
npm run -s bench -- --only peers,prover --threads 2 --batch 1,16 --resume rows.jsonl --html report.html --markdown report.md`;
export const MEASURED =
  'Medians; where a figure was measured more than once, its spread and n. Every answer was checked before its time counted.';

export const citation = ({ commit, machine }: Report): string =>
  `Assay, benchmark report, commit ${commit}, measured on ${machine}.`;

export const machineText = ({ machine, node, commit, load }: Report): string =>
  `Machine: ${machine}. Node ${node}. Commit ${commit}. Load when it began: ${load.toFixed(1)}.`;

export function reportMarkdown(report: Report): string {
  const fits = fitsText(report.results);
  return [
    '# Benchmark report',
    machineText(report),
    MEASURED,
    ...suitesOf(report).map(({ suite, results }) => suiteTable(suite, results)),
    ...(fits.length === 0 ? [] : [['## Scaling', '', ...fits.map((line) => `- ${line}`)].join('\n')]),
    `${REPRODUCE}\n\n\`\`\`sh\n${COMMANDS}\n\`\`\``,
    `Cite as: ${citation(report)}\n`,
  ].join('\n\n');
}

export const suitesOf = ({ results }: Report): { suite: string; results: Result[] }[] =>
  [...new Set(results.map(({ suite }) => suite))].map((suite) => ({
    suite,
    results: results.filter((result) => result.suite === suite),
  }));

/** Head and rows of a suite's table. */
export function suiteCells(results: readonly Result[]): { head: string[]; rows: string[][] } {
  const names = [...new Set(results.flatMap(({ metrics }) => Object.keys(metrics)))];
  const known = COLUMNS.filter(([name]) => names.includes(name));
  const columns = known.length > 0 ? known : names.map((name) => [name, name] as const);
  const cell = (metric: Metric | undefined): string => (metric ? metricText(metric) : '');
  return {
    head: ['model', 'parameters', 'system', 'batch', 'threads', ...columns.map(([, title]) => title)],
    rows: results.map(({ model, params, peer, batch, threads, metrics }) => [
      model ?? '',
      params?.toLocaleString('en') ?? '',
      peer ?? 'Assay',
      String(batch ?? ''),
      String(threads),
      ...columns.map(([name]) => cell(metrics[name])),
    ]),
  };
}

function suiteTable(suite: string, results: readonly Result[]): string {
  const { head, rows } = suiteCells(results);
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [`## ${suite}`, '', line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
