/** The sampled lane end to end as a suite: `npm run -s bench -- --only sampling --batch 8`. A small run of the experiment. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AssayError } from '../../common/errors.js';
import { compiledModel } from '../models.js';
import type { Suite } from '../options.js';
import { metric } from '../report.js';
import { runSamplingExperiment } from './sampling-experiment.js';

/** Some batches' worth; the 10,000 of the experiment take a quarter of an hour. */
const REQUESTS = 200;
/** Enough that some are found in so few requests. */
const LIE_SHARE = 0.1;

export const samplingSuite: Suite = {
  name: 'sampling',
  models: ['iris'],
  run: async ({ models, batches, repeat }, onResult) => {
    for (const model of models) {
      const { parameters, macs } = compiledModel(model).report;
      for (const items of batches) {
        const requestMs: number[] = [];
        const paidMs: number[] = [];
        for (let seed = 1; seed <= repeat; seed++) {
          const report = await runSamplingExperiment({
            folder: mkdtempSync(join(tmpdir(), 'assay-sampling-')),
            model,
            requests: REQUESTS,
            items,
            lieShare: LIE_SHARE,
            drawRatePpm: 300_000,
            lockFactor: 25,
            workBps: 8_000,
            seed,
            batchSize: 64,
            window: REQUESTS,
          });
          const { money, lies, wrongOutputs } = report;
          if (!money.balanced || !money.asAgreed || wrongOutputs !== lies.told)
            throw new AssayError(
              'INTERNAL',
              `sampling suite: seed ${seed}: ${JSON.stringify({ money, lies, wrongOutputs })}`,
            );
          requestMs.push((1000 * report.outcomesS) / REQUESTS);
          paidMs.push((1000 * report.paidS) / REQUESTS);
        }
        onResult({
          suite: 'sampling',
          model,
          params: parameters,
          macs,
          batch: items,
          threads: 1,
          peer: null,
          metrics: { requestMs: metric(requestMs, 'ms'), paidRequestMs: metric(paidMs, 'ms') },
        });
      }
    }
  },
};
