/** Gas of checking a proof on chain, by model: transactions that are mined on anvil. */
import { encodeBundle } from '../../graph/index.js';
import { inChild } from '../in-child.js';
import { batchOf, compiledModel, PROVER_MODELS } from '../models.js';
import type { Suite } from '../options.js';
import { metric } from '../report.js';
import { directGas } from './direct-gas.js';

export const contractsSuite: Suite = {
  name: 'contracts',
  models: PROVER_MODELS,
  anyModel: true,
  run: async ({ models, has }, onResult) => {
    for (const model of models) {
      const row = { suite: 'contracts', model, batch: 1, threads: 1, peer: null };
      if (has(row)) continue;
      const bundle = compiledModel(model);
      const inputs = batchOf(model, bundle, 1);
      const { outputs } = await inChild('inference', {
        bundle: encodeBundle(bundle),
        inputs,
        items: 1,
        threads: 1,
        repeat: 1,
      });
      const { deployGas, publishGas, verifyGas, evidenceBytes } = await directGas(bundle, inputs, outputs);
      onResult({
        ...row,
        params: bundle.report.parameters,
        macs: bundle.report.macs,
        metrics: {
          gas: metric([verifyGas], 'gas'),
          publishGas: metric([publishGas], 'gas'),
          deployGas: metric([deployGas], 'gas'),
          calldataBytes: metric([evidenceBytes], 'bytes'),
        },
      });
    }
  },
};
