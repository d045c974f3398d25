/**
 * Prometheus metrics from one typed list. Units stand in the names: seconds, wei, transactions.
 * Format: https://prometheus.io/docs/instrumenting/exposition_formats/
 */
import { createServer, type Server } from 'node:http';
import { AssayError } from '../../common/errors.js';

/** Every metric there is: its kind, its labels, what it says. */
const METRICS = {
  assay_watch_up: { kind: 'gauge', labels: [], help: '1 while the watcher runs.' },
  assay_watch_polls_total: { kind: 'counter', labels: ['end'], help: 'Polls by end: read, failed, moved.' },
  assay_watch_poll_seconds: { kind: 'gauge', labels: [], help: 'How long the last poll took.' },
  assay_watch_head_block: { kind: 'gauge', labels: [], help: 'Newest block that was read.' },
  assay_watch_head_age_seconds: { kind: 'gauge', labels: [], help: 'Age of that block by its timestamp.' },
  assay_watch_claims: {
    kind: 'gauge',
    labels: ['verdict', 'state'],
    help: 'Claims by own verdict and state on chain.',
  },
  assay_watch_unknown_oldest_seconds: {
    kind: 'gauge',
    labels: [],
    help: 'How long the oldest claim without a verdict has been waiting, by the clock of the contracts.',
  },
  assay_watch_demands_open: {
    kind: 'gauge',
    labels: ['clock'],
    help: 'Open demands by share of their time: above-half, below-half, below-quarter, overdue.',
  },
  assay_watch_transactions_total: {
    kind: 'counter',
    labels: ['move', 'end'],
    help: 'Moves by end: mined, done, wasted, refused, waiting.',
  },
  assay_watch_gas_used_total: { kind: 'counter', labels: ['move'], help: 'Gas of mined moves.' },
  assay_watch_deposits_held_units: {
    kind: 'gauge',
    labels: [],
    help: 'Own deposits that the game holds, in the smallest unit of the token.',
  },
  assay_watch_free_balance_units: {
    kind: 'gauge',
    labels: [],
    help: 'Own free balance in Escrow, in the smallest unit of the token.',
  },
  assay_watch_alerts: { kind: 'gauge', labels: ['kind'], help: 'Alerts that stand now.' },
} as const satisfies Record<string, { kind: 'gauge' | 'counter'; labels: readonly string[]; help: string }>;

export type MetricName = keyof typeof METRICS;
type LabelsOf<N extends MetricName> = { readonly [L in (typeof METRICS)[N]['labels'][number]]: string };

export class Metrics {
  readonly #values = new Map<MetricName, Map<string, number>>();

  set<N extends MetricName>(name: N, labels: LabelsOf<N>, value: number): void {
    this.#of(name).set(labelText(labels), value);
  }

  add<N extends MetricName>(name: N, labels: LabelsOf<N>, value: number): void {
    const key = labelText(labels);
    this.#of(name).set(key, (this.#of(name).get(key) ?? 0) + value);
  }

  /** Forgets all label values of a gauge, before they are counted anew. */
  clear(name: MetricName): void {
    this.#of(name).clear();
  }

  text(): string {
    return [...this.#values]
      .map(([name, values]) =>
        [
          `# HELP ${name} ${METRICS[name].help}`,
          `# TYPE ${name} ${METRICS[name].kind}`,
          ...[...values].map(([labels, value]) => `${name}${labels} ${value}`),
          '',
        ].join('\n'),
      )
      .join('');
  }

  #of(name: MetricName): Map<string, number> {
    const values = this.#values.get(name) ?? new Map<string, number>();
    this.#values.set(name, values);
    return values;
  }
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const entries = Object.entries(labels);
  const quoted = (text: string): string => text.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`));
  return entries.length === 0 ? '' : `{${entries.map(([name, value]) => `${name}="${quoted(value)}"`).join(',')}}`;
}

/** Serves GET /metrics. @throws AssayError PORT_UNAVAILABLE */
export async function serveMetrics(metrics: Metrics, port: number, host = '127.0.0.1'): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(metrics.text());
  });
  await listen(server, port, host);
  return server;
}

/** @throws AssayError PORT_UNAVAILABLE */
export function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new AssayError('PORT_UNAVAILABLE', `${host}:${port}: ${error.code ?? error.message}`, { cause: error })),
    );
    server.listen(port, host, resolve);
  });
}
