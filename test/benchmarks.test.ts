/** The benchmarks run, check their answers and print one JSON object; figures are not asserted. */
import { expect, test, vi } from 'vitest';
import { bench } from '../benchmarks/run.js';
import { comparisonText, reportText, type Report } from '../benchmarks/report.js';

test('the prover suite on iris', async () => {
  let out = '';
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => (out += String(chunk)) !== ''),
    vi.spyOn(process.stderr, 'write').mockReturnValue(true),
  ];
  try {
    await bench(['node', 'bench', ...'--only prover --model iris --batch 1 --threads 1 --repeat 1 --json'.split(' ')]);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  const report = JSON.parse(out) as Report;
  const positive = { median: expect.any(Number) as number, n: expect.any(Number) as number };
  expect(report).toMatchObject({
    machine: expect.any(String) as string,
    commit: expect.any(String) as string,
    node: process.versions.node,
    results: [
      {
        suite: 'prover',
        model: 'iris',
        batch: 1,
        threads: 1,
        peer: null,
        metrics: {
          proveMs: { ...positive, n: 1, unit: 'ms' },
          verifyMs: { ...positive, unit: 'ms' },
          inferenceMs: { ...positive, unit: 'ms' },
          proofBytes: { ...positive, n: 1, unit: 'bytes' },
          rounds: { ...positive, unit: 'count' },
          peakRssBytes: { ...positive, unit: 'bytes' },
        },
      },
    ],
  });
  for (const { min, median, max } of Object.values(report.results[0]!.metrics)) {
    expect(min).toBeGreaterThanOrEqual(0);
    expect(median).toBeGreaterThanOrEqual(min);
    expect(max).toBeGreaterThanOrEqual(median);
  }
  expect(reportText(report)).toMatch(/prover iris .*\n.*threads 1/);
  expect(comparisonText(report, report)).toMatch(/proveMs .* 0\.0%/);
});
