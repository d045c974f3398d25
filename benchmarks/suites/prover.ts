/** The zk lane by model, batch and threads: prove, verify, sizes, peak memory, and inference alone beside them. */
import { encodeBundle } from '../../graph/index.js';
import { developmentSrs, openArithmetic, predictJob } from '../../prover/index.js';
import { inChild } from '../in-child.js';
import { batchOf, compiledModel, PROVER_MODELS } from '../models.js';
import type { BenchOptions, Suite } from '../options.js';
import { metric, type Metric, type Result } from '../report.js';

export const proverSuite: Suite = {
  name: 'prover',
  models: PROVER_MODELS,
  anyModel: true,
  run: async (options, onResult) => {
    for (const model of options.models)
      for (const batch of options.batches) await measure(model, batch, options, onResult);
  },
};

async function measure(
  model: string,
  items: number,
  options: BenchOptions,
  onResult: (result: Result) => void,
): Promise<void> {
  const compiled = compiledModel(model);
  const inputs = batchOf(model, compiled, items);
  await makeSrs(predictJob(compiled.graph, items).srsPoints);
  const bundle = encodeBundle(compiled);
  for (const threads of options.threads) {
    if (options.has({ suite: 'prover', model, batch: items, threads, peer: null })) continue;
    const task = { bundle, inputs, items, threads, repeat: options.repeat };
    const inference = await inChild('inference', { ...task, repeat: Math.max(20, options.repeat) });
    const proved = await inChild('prover', { ...task, expected: inference.outputs });
    const once = (value: number, unit: Metric['unit']): Metric => metric([value], unit);
    const proveMs = metric(proved.proveMs, 'ms');
    const inferenceMs = metric(inference.inferenceMs, 'ms');
    onResult({
      suite: 'prover',
      model,
      params: compiled.report.parameters,
      macs: compiled.report.macs,
      batch: items,
      threads,
      peer: null,
      metrics: {
        proveMs,
        provePerItemMs: metric(
          proved.proveMs.map((ms) => ms / items),
          'ms',
        ),
        proveCpuMs: metric(proved.proveCpuMs, 'ms'),
        verifyMs: metric(proved.verifyMs, 'ms'),
        proofBytes: once(proved.proofBytes, 'bytes'),
        proofFileBytes: once(proved.proofFileBytes, 'bytes'),
        rounds: once(proved.rounds, 'count'),
        peakRssBytes: once(proved.peakRssBytes, 'bytes'),
        predictedMemoryBytes: once(proved.predictedMemoryBytes, 'bytes'),
        inferenceMs,
        overhead: once(proveMs.median / inferenceMs.median, 'ratio'),
        predictedMs: once(proved.predictedMs, 'ms'),
        keyMs: once(proved.keyMs, 'ms'),
        keyBytes: once(proved.keyBytes, 'bytes'),
        firstProveMs: once(proved.firstProveMs, 'ms'),
        ...Object.fromEntries(Object.entries(proved.phases).map(([phase, ms]) => [phase, metric(ms, 'ms')])),
      },
    });
  }
}

/** Makes sure that the measured process finds the reference string on disk: making it is no part of proving. */
export async function makeSrs(points: number): Promise<void> {
  const arithmetic = await openArithmetic();
  developmentSrs(points, { arithmetic });
  await arithmetic.close();
}
