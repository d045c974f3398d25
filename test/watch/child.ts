/**
 * A watcher or an executor's answering service as a process of its own, which kills itself at a point that it is told:
 * before or behind the broadcast of its n-th transaction, or at its n-th question to the node. It polls when it reads a line,
 * and prints one when it is done.
 */
import { createInterface } from 'node:readline';
import { Wallet } from 'ethers';
import { FileKeep } from '../../cli/disputes/file-keep.js';
import { evaluator, models } from '../../cli/disputes/scenarios/players.js';
import { stepLimits } from '../../cli/disputes/step-limits.js';
import { images } from '../../executor/testing/digits.js';
import { AnsweringService } from '../../fraud-proofs/answer/answering-service.js';
import { OpeningJournal } from '../../fraud-proofs/answer/opening-journal.js';
import { ChainScan } from '../../fraud-proofs/watch/chain-scan.js';
import { Judge } from '../../fraud-proofs/watch/judge.js';
import { Metrics } from '../../fraud-proofs/watch/metrics.js';
import { readOrder } from '../../fraud-proofs/watch/read-order.js';
import { Sender } from '../../fraud-proofs/watch/sender.js';
import { encodeTensors } from '../../fraud-proofs/watch/tensor-file.js';
import { Watcher } from '../../fraud-proofs/watch/watcher.js';
import type { Hex } from '../../receipts/types.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { shortBundle, shortTrace } from './short-arena.js';

export interface ChildTask {
  readonly role: 'watcher' | 'executor';
  readonly rpc: string;
  readonly rollup: Hex;
  /** Of who sends transactions. */
  readonly key: Hex;
  /** Of the executor's signer. */
  readonly signerKey: Hex;
  readonly folder: string;
  /** Of the commit: earlier plays are none of its business. */
  readonly fromBlock: number;
  readonly boundaries: boolean;
  /** The claim is a lie. */
  readonly lying: boolean;
  readonly killAt: string | null;
}

const task = JSON.parse(process.env['ASSAY_CHILD_TASK']!) as ChildTask;

const provider = await connectChain(task.rpc);
provider.pollingInterval = 20;
const counts: Record<string, number> = {};
/** Ends the process as a power cut would, at its n-th pass. */
const point = (name: string): void => {
  counts[name] = (counts[name] ?? 0) + 1;
  if (task.killAt === `${name}:${counts[name]}`) process.kill(process.pid, 'SIGKILL');
};
const send = provider.send.bind(provider);
provider.send = async (method: string, params: never) => {
  point('question');
  if (method !== 'eth_sendRawTransaction') return send(method, params) as Promise<unknown>;
  point('before');
  const answer = (await send(method, params)) as unknown;
  point('behind');
  return answer;
};

const bundle = shortBundle(task.boundaries);
const trace = shortTrace(bundle, task.lying);
const keep = await FileKeep.open(task.folder);
const client = await SettlementClient.connect({ provider, rollup: task.rollup });
const wallet = new Wallet(task.key, provider);
const sender = new Sender(wallet, wallet.address.toLowerCase() as Hex, { replaceAfterMs: 60_000 });
const { context, rollup, escrow, domain } = client;
const scan = new ChainScan({ context, rollup, escrow, fromBlock: task.fromBlock, mine: () => true });
const maxContraction = stepLimits(provider);
const poll = task.role === 'watcher' ? watch() : answer();

function watch(): () => Promise<void> {
  const { graph } = bundle;
  const inputs = encodeTensors(
    graph.inputs.map((id) => graph.tensors[id]!),
    images(1, 1),
    1,
  );
  const judge = new Judge({
    models: models([bundle]),
    sources: [async (kind) => (kind === 'inputs' ? inputs : null)],
    engine: evaluator,
    maxContraction,
  });
  const place = { provider, domain, escrow: escrow.address, fromBlock: 0 };
  const watcher = new Watcher({
    scan,
    escrow,
    judge,
    keep,
    orderOf: (orderHash) => readOrder(place, orderHash),
    metrics: new Metrics(),
    own: sender.address,
    sender,
    dryRun: false,
    defender: null,
  });
  return async () => {
    for (;;) {
      const { claims } = await watcher.poll();
      if (claims.every(({ step }) => step.kind !== 'pending')) return;
      await judge.settled();
    }
  };
}

function answer(): () => Promise<void> {
  const signer = new Wallet(task.signerKey);
  const address = signer.address.toLowerCase() as Hex;
  const service = new AnsweringService({
    domain,
    executor: { signer, address, openings: new OpeningJournal(keep) },
    helps: null,
    traceOf: async () => trace,
    maxContraction,
    sender,
  });
  return async () => void (await service.answer(await scan.read()));
}

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'end') break;
  await poll();
  process.stdout.write('done\n');
}
await keep.close();
// Standard input is still open.
process.exit(0);
