/**
 * The process that the kill test kills: opens a pipeline on the given data directory, submits the given orders (again),
 * waits until nothing is left to do, and ends with status 0.
 */
import { AssayError } from '../../common/errors.js';
import { ProverNode } from '../../pipeline/adapters/prover-node.js';
import { Pipeline } from '../../pipeline/pipeline.js';
import { CHEAT_ON, connectDeployment, orderFor, TINY_SRS_POINTS, tinyBundle, withKey } from './fixture.js';

export interface ChildTask {
  readonly directory: string;
  readonly url: string;
  readonly rollup: `0x${string}`;
  /** Of the executors, enrolled at the rollup. The first order goes to the cheat, who is caught, all others to the honest one. */
  readonly name: string;
  /** Nonces of the orders to submit. */
  readonly nonces: readonly number[];
  /** This order is run by nobody: it is expired when the chain's clock has passed its time. */
  readonly undelivered?: { readonly nonce: number; readonly deliverBy: number };
  /** Anvil account that posts. */
  readonly posterAccount: number;
  readonly redisUrl?: string;
  readonly databaseUrl?: string;
  /** Every order with an odd nonce asks for a proof. */
  readonly zk?: boolean;
  /** Every order with an odd nonce is of the optimistic lane, where nobody challenges it. */
  readonly optimistic?: boolean;
  /** Empties the queue after submitting, as the loss of a Redis would. */
  readonly wipeQueue?: boolean;
}

const task = JSON.parse(process.env['ASSAY_CHILD_TASK']!) as ChildTask;
const prover =
  task.zk === true
    ? await ProverNode.start({ srs: { kind: 'development', points: TINY_SRS_POINTS }, threads: 1 })
    : undefined;
const optimistic = task.optimistic === true;
const bundle = prover === undefined ? tinyBundle() : await withKey(tinyBundle(), prover);
const deployment = await connectDeployment({ ...task, bundle });
const { honest, cheat, client } = deployment;
const pipeline = await Pipeline.open(
  {
    dataDirectory: task.directory,
    ...(task.redisUrl === undefined ? {} : { redisUrl: task.redisUrl }),
    ...(task.databaseUrl === undefined ? {} : { databaseUrl: task.databaseUrl }),
    openLanes: [
      'sampled',
      ...(prover === undefined ? [] : ['zk' as const]),
      ...(optimistic ? ['optimistic' as const] : []),
    ],
    openAgeMs: 50,
    batchSize: 2,
    batchAgeMs: 100,
    pollMs: 40,
    sweepMs: 100,
    // A dead process on a shared database is noticed after this.
    deadAfterMs: 1_500,
  },
  {
    ...deployment.ports,
    executors: deployment.ports.executors.map((executor) => ({
      ...executor,
      execute: (...args) =>
        Number(args[0].nonce) === task.undelivered?.nonce
          ? Promise.reject(new AssayError('INPUT_RANGE', 'no executor can run this one'))
          : executor.execute(...args),
    })),
    provers: prover === undefined ? [] : [prover],
  },
);
pipeline.events.on('trouble', (error) => console.error(JSON.stringify(error)));
for (const nonce of task.nonces) {
  const even = nonce % 2 === 0;
  const lane = even || (prover === undefined && !optimistic) ? 'sampled' : optimistic ? 'optimistic' : 'zk';
  const executor = nonce === task.nonces[0] ? cheat.address : honest.address;
  const late = nonce === task.undelivered?.nonce ? { deliverBy: task.undelivered.deliverBy } : {};
  const order = await orderFor(client, bundle, executor, CHEAT_ON, nonce, lane, late);
  await pipeline.submit(order, `order ${nonce}`);
}
if (task.wipeQueue === true) await pipeline.wipeQueue();
await pipeline.drain();
if (task.undelivered !== undefined) {
  const open = () => pipeline.database.query(`SELECT 1 FROM assay.work WHERE step <> 'done'`);
  while ((await open()).length > 0) await new Promise((resolve) => setTimeout(resolve, 100));
  await pipeline.drain();
}
await pipeline.close();
await deployment.close();
await prover?.close();
