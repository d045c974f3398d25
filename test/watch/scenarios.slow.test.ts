/** Everything that `assay drill` plays, on a small model; the watcher of the first is a process of its own. */
import { expect, it } from 'vitest';
import { runDrill } from '../../cli/disputes/run-drill.js';
import { honestWins } from '../../cli/disputes/scenarios/index.js';
import { images, smallClassifier } from '../../executor/testing/digits.js';

it('plays every kind of dispute, and the honest side wins each', async () => {
  const { scenarios } = await runDrill({
    bundle: smallClassifier(1),
    inputs: images(1, 1),
    items: 1,
    lie: null,
    only: null,
    separate: true,
    onScenario: () => () => undefined,
  });
  expect(scenarios.map(({ name }) => name)).toEqual([
    'serves',
    'answers',
    'withholds',
    'boundaries',
    'accuser',
    'shill',
    'sums',
  ]);
  for (const report of scenarios)
    expect(
      report.checks.filter(({ ok }) => !ok),
      report.name,
    ).toEqual([]);
  expect(scenarios.every(honestWins)).toBe(true);
});
