/** Reports that are read back: what we write, what others spoilt, rows of other machines. */
import { expect, test } from 'vitest';
import { reportMarkdown } from './page/report-markdown.js';
import { reportPage } from './page/report-page.js';
import { metric, type Report, type Result } from './report.js';
import { parseReport, parseRows } from './report-schema.js';

const result: Result = {
  suite: 'peers',
  model: '<m>',
  params: 10,
  macs: 20,
  batch: 1,
  threads: 2,
  peer: null,
  metrics: { proveMs: metric([3, 1, 2], 'ms'), proofBytes: metric([5035], 'bytes') },
};
const report: Report = { machine: 'a machine', commit: 'abc', node: '20', load: 0.1, results: [result] };

test('a report is read back as it was written', () => {
  expect(parseReport(JSON.stringify(report), 'r.json')).toEqual(report);
});

test('a spoilt report names the field', () => {
  const spoilt = {
    ...report,
    results: [{ ...result, metrics: { proveMs: { ...result.metrics['proveMs'], unit: 's' } } }],
  };
  expect(() => parseReport(JSON.stringify(spoilt), 'r.json')).toThrow(/r\.json: results\.0\.metrics\.proveMs\.unit/);
  expect(() => parseReport('{', 'r.json')).toThrow(expect.objectContaining({ code: 'REPORT_INVALID' }));
});

test('rows of another machine or commit are not taken up', () => {
  const row = (machine: string, commit: string) => JSON.stringify({ machine, commit, result });
  const rows = [row('a machine', 'abc'), row('other', 'abc'), row('a machine', 'def'), ''].join('\n');
  expect(parseRows(rows, 'rows', report)).toEqual([result]);
});

test('page and tables show medians with spread and n, and escape names', () => {
  const page = reportPage(report);
  for (const text of [page, reportMarkdown(report)]) expect(text).toContain('2 ms (1 ms to 3 ms, n = 3)');
  expect(page).not.toContain('<m>');
  expect(page).toContain('&lt;m&gt;');
  // Nothing is fetched.
  expect(page).not.toMatch(/(src|href)=/);
});
