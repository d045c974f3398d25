/**
 * The process that the kill test kills: opens a pipeline on the given data directory, submits the given orders (again),
 * waits until nothing is left to do, and ends with status 0.
 */
import { ProverNode } from '../../pipeline/adapters/prover-node.js';
import { Pipeline } from '../../pipeline/pipeline.js';
import { CHEAT_ON, connectDeployment, orderFor, TINY_SRS_POINTS, tinyBundle, withKey } from './fixture.js';

export interface ChildTask {
  readonly directory: string;
  readonly url: string;
  readonly rollup: `0x${string}`;
  /** Nonces of the orders to submit. */
  readonly nonces: readonly number[];
  /** Anvil account that posts. */
  readonly posterAccount: number;
  readonly redisUrl?: string;
  readonly databaseUrl?: string;
  /** Every order with an odd nonce asks for a proof. */
  readonly zk?: boolean;
  /** Empties the queue after submitting, as the loss of a Redis would. */
  readonly wipeQueue?: boolean;
}

const task = JSON.parse(process.env['ASSAY_CHILD_TASK']!) as ChildTask;
const prover =
  task.zk === true
    ? await ProverNode.start({ srs: { kind: 'development', points: TINY_SRS_POINTS }, threads: 1 })
    : undefined;
const bundle = prover === undefined ? tinyBundle() : await withKey(tinyBundle(), prover);
const deployment = await connectDeployment({ ...task, bundle });
const pipeline = await Pipeline.open(
  {
    dataDirectory: task.directory,
    ...(task.redisUrl === undefined ? {} : { redisUrl: task.redisUrl }),
    ...(task.databaseUrl === undefined ? {} : { databaseUrl: task.databaseUrl }),
    openLanes: prover === undefined ? ['sampled'] : ['sampled', 'zk'],
    batchSize: 2,
    batchAgeMs: 100,
    pollMs: 40,
    sweepMs: 100,
    // A dead process on a shared database is noticed after this.
    deadAfterMs: 1_500,
  },
  { ...deployment.ports, provers: prover === undefined ? [] : [prover] },
);
pipeline.events.on('trouble', (error) => console.error(JSON.stringify(error)));
for (const nonce of task.nonces) {
  const lane = prover !== undefined && nonce % 2 === 1 ? 'zk' : 'sampled';
  await pipeline.submit(await orderFor(deployment.client, bundle, CHEAT_ON, nonce, lane), `order ${nonce}`);
}
if (task.wipeQueue === true) await pipeline.wipeQueue();
await pipeline.drain();
await pipeline.close();
await deployment.close();
await prover?.close();
