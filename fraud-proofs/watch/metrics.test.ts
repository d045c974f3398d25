import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { Metrics, serveMetrics } from './metrics.js';

it('writes counters and gauges as Prometheus reads them', () => {
  const metrics = new Metrics();
  metrics.set('assay_watch_up', {}, 1);
  metrics.add('assay_watch_claims', { verdict: 'valid', state: 'final' }, 1);
  metrics.add('assay_watch_claims', { verdict: 'valid', state: 'final' }, 2);
  metrics.add('assay_watch_claims', { verdict: 'a "quoted"\nname', state: 'dead' }, 1);
  expect(metrics.text()).toBe(
    [
      '# HELP assay_watch_up 1 while the watcher runs.',
      '# TYPE assay_watch_up gauge',
      'assay_watch_up 1',
      '# HELP assay_watch_claims Claims by own verdict and state on chain.',
      '# TYPE assay_watch_claims gauge',
      'assay_watch_claims{verdict="valid",state="final"} 3',
      'assay_watch_claims{verdict="a \\"quoted\\"\\nname",state="dead"} 1',
      '',
    ].join('\n'),
  );
  metrics.clear('assay_watch_claims');
  expect(metrics.text()).not.toContain('verdict=');
});

it('serves them, and nothing else; a port that is taken is refused', async () => {
  const metrics = new Metrics();
  metrics.set('assay_watch_up', {}, 1);
  const server = await serveMetrics(metrics, 0);
  const { port } = server.address() as AddressInfo;
  try {
    expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toBe(metrics.text());
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    await expect(serveMetrics(metrics, port)).rejects.toMatchObject({ code: 'PORT_UNAVAILABLE' });
  } finally {
    server.close();
  }
});
