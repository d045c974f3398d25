/** Field vectors and multi-scalar multiplications, by threads. */
import { inChild } from '../in-child.js';
import type { Suite } from '../options.js';
import { metric } from '../report.js';

export const fieldSuite: Suite = {
  name: 'field',
  models: [],
  run: async ({ threads, repeat }, onResult) => {
    for (const count of threads) {
      const { msmMs, elementNs } = await inChild('field', { threads: count, repeat });
      const metrics = (samples: Readonly<Record<string, readonly number[]>>, unit: 'ms' | 'ns') =>
        Object.entries(samples).map(([name, own]) => [name, metric(own, unit)] as const);
      onResult({
        suite: 'field',
        model: null,
        params: null,
        macs: null,
        batch: null,
        threads: count,
        peer: null,
        metrics: Object.fromEntries([...metrics(elementNs, 'ns'), ...metrics(msmMs, 'ms')]),
      });
    }
  },
};
