/** A small run of the experiment, with everything in it that the large one counts. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runSamplingExperiment, simulatedSeeds, type ExperimentOptions } from './sampling-experiment.js';

const options: ExperimentOptions = {
  folder: mkdtempSync(join(tmpdir(), 'assay-experiment-test-')),
  model: 'iris',
  requests: 120,
  items: 8,
  lieShare: 0.5,
  drawRatePpm: 300_000,
  lockFactor: 25,
  workBps: 8_000,
  seed: 5,
  batchSize: 16,
  window: 40,
};

it('counts lies, draws and money; the cheat goes on under new keys', { timeout: 600_000 }, async () => {
  const report = await runSamplingExperiment(options);
  const { lies, groups, audited, money, cheat, outcomes } = report;
  expect(report).toMatchObject({ requests: 120, items: 8, wrongOutputs: 15 });
  expect(money).toMatchObject({ balanced: true, asAgreed: true });
  expect(audited.honest).toBe(audited.honestExpected);
  expect(lies.told).toBe(15);
  expect(groups.found).toBeGreaterThanOrEqual(groups.expected.low);
  expect(groups.found).toBeLessThanOrEqual(groups.expected.high);
  // A batch in which one lie was found has all of its lies found.
  expect(Math.abs(lies.found - lies.expected)).toBeLessThan(4 * lies.sd);
  expect(outcomes).toEqual({ 'accepted, paid': 120 - lies.found, 'rejected, slashed': lies.found });
  expect(report.keysLost).toBeGreaterThan(0);
  expect(cheat.poorer).toBe(true);
  // Each lie has saved the work; each that was found costs its price, less the protocol's share, and its lock; and each order
  // that a suspended key left undelivered costs the fee for that, one price.
  expect(cheat.gain).toBeCloseTo(15 * 0.8 - lies.found * (0.99 + 25) - report.undelivered, 6);
});

it('the simulator plays the same season', () => {
  const { seeds, poorer, caught, expected } = simulatedSeeds(options, 300_000, 100);
  expect({ seeds, poorer }).toEqual({ seeds: 100, poorer: caught });
  expect(caught).toBeGreaterThanOrEqual(expected.low);
});
