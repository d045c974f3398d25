/** Hashing of traces over inference, with every slot committed and with boundaries, by model, batch and threads. */
import { commitTable, committedTensors, encodeBundle, SEGMENT_LIMIT, slotsOf, type Bundle } from '../../graph/index.js';
import { inChild } from '../in-child.js';
import { batchOf, compiledModel } from '../models.js';
import type { BenchOptions, Suite } from '../options.js';
import { metric, type Metric, type Result } from '../report.js';
import { compiledResidualNetwork, RESIDUAL_NETWORK, residualNetworkBatch } from '../residual-network.js';
import type { CommitmentMeasured } from './commitment-measure.js';

/**
 * With boundaries a trace commits as few slots as it may. A segment costs its executor one run of the model when he is asked
 * for it, and each of its slots 32 bytes, however long it is. Of the elements of the residual network 8 leaves 16 percent,
 * 32 leaves 2, 64 leaves 0.9 and 512 leaves 0.4: input and output.
 */
const BOUNDARIES_EVERY = SEGMENT_LIMIT;
/** A ratio of two times of some milliseconds wants more measurements than a proof of seconds. */
const LEAST_REPEAT = 30;

export const commitmentSuite: Suite = {
  name: 'commitment',
  models: ['lenet5', 'mnist-dwcnn', RESIDUAL_NETWORK],
  run: async (options, onResult) => {
    for (const model of options.models) {
      const bundle = model === RESIDUAL_NETWORK ? compiledResidualNetwork() : compiledModel(model);
      for (const batch of options.batches) await measure(model, bundle, batch, options, onResult);
    }
  },
};

async function measure(
  model: string,
  compiled: Bundle,
  items: number,
  options: BenchOptions,
  onResult: (result: Result) => void,
): Promise<void> {
  const inputs = model === RESIDUAL_NETWORK ? residualNetworkBatch(compiled, items) : batchOf(model, compiled, items);
  const bundle = encodeBundle(compiled);
  const boundaries = commitTable(compiled.graph, BOUNDARIES_EVERY);
  const repeat = Math.max(LEAST_REPEAT, options.repeat);
  for (const threads of options.threads) {
    const measured = await inChild('commitment', { bundle, inputs, items, threads, repeat, boundaries });
    const { inferenceMs } = measured;
    const count = (value: number): Metric => metric([value], 'count');
    const overInference = (ms: readonly number[]): Metric =>
      metric(
        ms.map((value, i) => value / inferenceMs[i]!),
        'ratio',
      );
    const own = (prefix: string, { elements, runMs, hashingMs, jobMs }: CommitmentMeasured) => ({
      [`${prefix}Elements`]: count(elements),
      [`${prefix}RunMs`]: metric(runMs, 'ms'),
      [`${prefix}HashingMs`]: metric(hashingMs, 'ms'),
      [`${prefix}JobMs`]: metric(jobMs, 'ms'),
      [`${prefix}HashingShare`]: overInference(hashingMs),
      [`${prefix}JobShare`]: overInference(jobMs),
    });
    onResult({
      suite: 'commitment',
      model,
      params: compiled.report.parameters,
      macs: compiled.report.macs,
      batch: items,
      threads,
      peer: null,
      metrics: {
        inferenceMs: metric(inferenceMs, 'ms'),
        slots: count(slotsOf(compiled.graph).length),
        boundarySlots: count(committedTensors(compiled.graph, boundaries).length),
        ...own('full', measured.every),
        ...own('boundary', measured.boundaries),
      },
    });
  }
}
