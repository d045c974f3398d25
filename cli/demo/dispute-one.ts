/**
 * The optimistic lane: one executor commits to a trace in which it has altered one element, of the viewer's choice. A watcher
 * in a process of its own, who knows the chain's address, the model and where traces are served, finds that element and
 * proves it to the contract, which slashes the executor in the same transaction.
 */
import type { AddressInfo } from 'node:net';
import { AssayError } from '../../common/errors.js';
import { serveTraces } from '../../fraud-proofs/answer/serve-traces.js';
import { StepModel } from '../../fraud-proofs/step/step-model.js';
import { tamperTrace, type Tamper } from '../../fraud-proofs/step/inject.js';
import { encodeTensors } from '../../fraud-proofs/watch/tensor-file.js';
import { committedTensors, type Bundle } from '../../graph/index.js';
import type { Hex } from '../../receipts/index.js';
import { startWatchProcess } from '../disputes/scenarios/watch-process.js';
import type { Terminal } from '../terminal.js';
import type { Cast } from './cast.js';
import type { DemoJob } from './jobs.js';

export interface DisputedOne {
  /** What was committed in place of what, where. */
  readonly lie: { readonly slot: number; readonly element: number; readonly was: number; readonly is: number };
  /** What the watcher sent, in order. */
  readonly transactions: readonly { readonly call: string; readonly gas: number }[];
  /** From the commit to the slash. */
  readonly seconds: number;
  readonly success: boolean;
}

/** The lie where the viewer chooses none: one unit, deep inside the model. */
export const DEFAULT_LIE: Tamper = { at: { slot: 2 }, element: 77, delta: 1, downstream: true };

const PATIENCE_MS = 120_000;
const POLL_MS = 100;

/** The committed slots of the model on that input, with the lie in them. @throws AssayError TAMPER_INVALID */
export function alteredSlots(bundle: Bundle, inputs: readonly Int32Array[], items: number, lie: Tamper): Int32Array[] {
  const { trace } = tamperTrace(new StepModel(bundle), inputs, items, lie);
  return trace.model.committed.map((slot) => trace.slots[slot]!);
}

/**
 * Waits until the executor of the job is slashed, with the watcher at work meanwhile.
 * @param job of the executor that lies; submitted
 * @param jobs of the lane, which the watcher will look at; their inputs are public
 */
export async function disputeOne(
  { client, provider, anvil, watcher, players }: Cast,
  bundle: Bundle,
  job: DemoJob,
  jobs: readonly DemoJob[],
  orderHash: Hex,
  lie: Tamper,
  terminal: Terminal,
): Promise<DisputedOne> {
  const game = client.game;
  if (game === null) throw new AssayError('INTERNAL', 'the demo has a policy without a dispute game');
  const { graph, committedSlots } = bundle;
  const infos = (ids: readonly number[]) => ids.map((id) => graph.tensors[id]!);
  const server = await serveTraces(
    async (kind, root) => {
      if (kind === 'inputs') {
        const found = jobs.find(({ request }) => request.order.inputRoot === root)?.request;
        return found === undefined ? null : encodeTensors(infos(graph.inputs), found.inputs, found.order.items);
      }
      for (const { executor } of players) {
        if (!(await executor.traces.has('trace', root))) continue;
        const { tensors, items } = await executor.traces.get('trace', root, bundle);
        return encodeTensors(infos(committedTensors(graph, committedSlots)), tensors, items);
      }
      return null;
    },
    { port: 0 },
  );
  const progress = terminal.progress('a watcher looks at what was committed', null);
  const tracesUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rollup = client.rollup.address;
  const watching = startWatchProcess(
    { anvil, provider, rollup },
    { wallet: watcher },
    { bundles: [bundle], tracesUrl },
  );
  const startedAt = performance.now();
  try {
    while ((await client.escrow.orderOf(orderHash)).state !== 'slashed') {
      if (performance.now() - startedAt > PATIENCE_MS)
        throw new AssayError('DRILL_FAILED', `the watcher has not proved the lie within ${PATIENCE_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    await watching.stop();
    server.closeAllConnections();
    server.close();
  }
  const events = await game.eventsBetween(client.context.fromBlock, await provider.getBlockNumber());
  const sent = events.flatMap(({ kind, transactionHash }) =>
    kind === 'precommitted'
      ? [{ call: 'precommit', hash: transactionHash }]
      : kind === 'faultProved'
        ? [{ call: 'proveFault', hash: transactionHash }]
        : [],
  );
  const transactions = await Promise.all(
    sent.map(async ({ call, hash }) => ({ call, gas: Number((await provider.getTransactionReceipt(hash))!.gasUsed) })),
  );
  const { inputs, order } = job.request;
  const { slot, was, is } = tamperTrace(new StepModel(bundle), inputs, order.items, lie);
  const seconds = (performance.now() - startedAt) / 1_000;
  progress.done(
    `slot ${slot}, element ${lie.element}: ${is} instead of ${was}, proved in ${transactions.length} transactions`,
  );
  return {
    lie: { slot, element: lie.element, was, is },
    transactions,
    seconds,
    success: transactions.some(({ call }) => call === 'proveFault'),
  };
}
