import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inputRoot } from '../graph/index.js';
import type { Hex } from '../receipts/types.js';
import { images, smallClassifier } from './testing/digits.js';
import type { WorkerReply, WorkerRequest } from './worker-messages.js';
import { WorkerThread } from './worker-thread.js';
import type { WorkerHandle } from './worker-thread.js';

/** A worker that says what a test makes it say. */
class FakeWorker extends EventEmitter {
  readonly requests: WorkerRequest[] = [];
  postMessage(request: WorkerRequest): void {
    this.requests.push(request);
  }
  async terminate(): Promise<number> {
    this.emit('exit', 1);
    return 1;
  }
  ready(): void {
    const selfTest = { engine: 'reference', version: '', deviceClass: 'exact', cases: [], elapsedMs: 0 };
    this.emit('message', { kind: 'ready', engine: 'reference', version: '', selfTest, missing: [] });
  }
  reply(reply: WorkerReply): void {
    this.emit('message', reply);
  }
}

let fake: FakeWorker;
const over = (): Promise<WorkerThread> => WorkerThread.over(fake as unknown as WorkerHandle);
beforeEach(() => {
  fake = new FakeWorker();
});

/** A float job: asks without encoding anything. */
const ask = (thread: WorkerThread) => thread.float(new Uint8Array(), 'model.onnx', new Map());
const FAILED = { code: 'EXECUTOR_WORKER_FAILED' };

describe('WorkerThread with a worker that', () => {
  it('fails right after its first message: the error has a listener, and the thread is dead', async () => {
    const starting = over();
    // All in one turn of the event loop: nobody has awaited the start yet.
    fake.ready();
    fake.emit('error', new Error('out of memory'));
    fake.emit('exit', 1);
    const thread = await starting;
    expect(thread.dead).toBe(true);
    await expect(ask(thread)).rejects.toMatchObject(FAILED);
  });

  it('ends, or fails, before it is ready', async () => {
    const exits = over();
    fake.emit('exit', 3);
    await expect(exits).rejects.toMatchObject({ ...FAILED, message: expect.stringContaining('exit code 3') as string });
    fake = new FakeWorker();
    const fails = over();
    fake.emit('error', new Error('no such module'));
    fake.emit('exit', 1);
    await expect(fails).rejects.toMatchObject({ message: expect.stringContaining('no such module') as string });
    fake = new FakeWorker();
    const refuses = over();
    const error = { code: 'ENGINE_UNAVAILABLE', message: 'no such engine', mend: 'Use another.', meta: {} } as const;
    fake.emit('message', { kind: 'failed', error });
    fake.emit('exit', 0);
    await expect(refuses).rejects.toMatchObject({ code: 'ENGINE_UNAVAILABLE', mend: 'Use another.' });
  });

  it('replies after it was given up: the reply is dropped', async () => {
    const starting = over();
    fake.ready();
    const thread = await starting;
    const job = ask(thread);
    await thread.terminate();
    await expect(job).rejects.toMatchObject(FAILED);
    expect(() => fake.reply({ id: 0, kind: 'floatDone', outputs: new Map(), elapsedMs: 1 })).not.toThrow();
  });
});

describe('a real worker', () => {
  let thread: WorkerThread;
  afterEach(() => thread.close());

  it('runs no bundle under the digest of another, however often it is sent', async () => {
    thread = await WorkerThread.start({
      engine: 'reference',
      threads: null,
      memoryBudgetBytes: 2 ** 30,
      traceFolder: '/dev/null/none',
    });
    const [honest, other] = [smallClassifier(41, 2), smallClassifier(42, 2)];
    const inputs = images(1, 1);
    const root = inputRoot(honest.graph, inputs, 1) as Hex;
    const lie = (): Promise<unknown> => thread.execute({ ...other, digest: honest.digest }, inputs, 1, root);
    await expect(lie()).rejects.toMatchObject({ code: 'ORDER_MISMATCH', meta: { found: other.digest } });
    await expect(lie()).rejects.toMatchObject({ code: 'ORDER_MISMATCH', meta: { found: other.digest } });
  });
});
