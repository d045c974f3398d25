/**
 * The process that the kill test kills: opens a pipeline on the given data directory, submits the given orders (again),
 * waits until nothing is left to do, and ends with status 0.
 */
import { Pipeline } from '../../pipeline/pipeline.js';
import { CHEAT_ON, connectDeployment, orderFor, tinyBundle } from './fixture.js';

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
  /** Empties the queue after submitting, as the loss of a Redis would. */
  readonly wipeQueue?: boolean;
}

const task = JSON.parse(process.env['ASSAY_CHILD_TASK']!) as ChildTask;
const bundle = tinyBundle();
const deployment = await connectDeployment({ ...task, bundle });
const pipeline = await Pipeline.open(
  {
    dataDirectory: task.directory,
    ...(task.redisUrl === undefined ? {} : { redisUrl: task.redisUrl }),
    ...(task.databaseUrl === undefined ? {} : { databaseUrl: task.databaseUrl }),
    batchSize: 2,
    batchAgeMs: 100,
    pollMs: 40,
    sweepMs: 100,
    // A dead process on a shared database is noticed after this.
    deadAfterMs: 1_500,
  },
  deployment.ports,
);
pipeline.events.on('trouble', (error) => console.error(JSON.stringify(error)));
for (const nonce of task.nonces)
  await pipeline.submit(await orderFor(deployment.client, bundle, CHEAT_ON, nonce), `order ${nonce}`);
if (task.wipeQueue === true) await pipeline.wipeQueue();
await pipeline.drain();
await pipeline.close();
await deployment.close();
