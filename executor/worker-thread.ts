/** The inference thread as the executor node sees it: questions and answers by number, and one end. */
import { Worker } from 'node:worker_threads';
import { AssayError } from '../common/errors.js';
import { encodeBundle } from '../graph/index.js';
import type { Bundle, Tensor } from '../graph/index.js';
import type { Hex } from '../receipts/index.js';
import type { PlainError, WorkerReply, WorkerRequest, WorkerSettings, WorkerStart } from './worker-messages.js';

type Reply<K extends WorkerReply['kind']> = Extract<WorkerReply, { kind: K }>;
/** `Omit` over a union, member by member. */
type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

interface Pending {
  readonly resolve: (reply: WorkerReply) => void;
  readonly reject: (error: AssayError) => void;
}

export class WorkerThread {
  readonly #pending = new Map<number, Pending>();
  /** Digests of bundles that have been sent. */
  readonly #sent = new Set<string>();
  #nextId = 0;
  dead = false;

  private constructor(
    readonly worker: Worker,
    readonly start: Extract<WorkerStart, { kind: 'ready' }>,
  ) {
    worker.on('message', (reply: WorkerReply) => this.#receive(reply));
    worker.on('error', (error) => this.#die(error.message, error));
    worker.on('exit', (code) => this.#die(`exit code ${code}`));
  }

  static async start(settings: WorkerSettings): Promise<WorkerThread> {
    const worker = new Worker(...entryOf(settings));
    const first = await new Promise<WorkerStart>((resolve, reject) => {
      const failed = (error: Error): void => reject(workerFailed(error.message, error));
      const exited = (code: number): void => reject(workerFailed(`exit code ${code} before it was ready`));
      worker.once('error', failed).once('exit', exited);
      worker.once('message', (message: WorkerStart) => {
        worker.off('error', failed).off('exit', exited);
        resolve(message);
      });
    });
    if (first.kind === 'failed') throw revive(first.error);
    return new WorkerThread(worker, first);
  }

  async execute(
    bundle: Bundle,
    inputs: readonly Int32Array[],
    items: number,
    expectedInputRoot: Hex,
  ): Promise<Reply<'executed'>> {
    const request = { kind: 'execute', digest: bundle.digest, inputs, items, expectedInputRoot } as const;
    if (this.#sent.has(bundle.digest)) {
      const reply = await this.#ask({ ...request, bundle: null });
      if (reply.kind !== 'bundleWanted') return reply as Reply<'executed'>;
    }
    this.#sent.add(bundle.digest);
    return (await this.#ask({ ...request, bundle: encodeBundle(bundle) })) as Reply<'executed'>;
  }

  async float(
    bytes: Uint8Array,
    fileName: string,
    inputs: ReadonlyMap<string, Tensor>,
  ): Promise<{ outputs: Map<string, Tensor>; elapsedMs: number }> {
    const { outputs, elapsedMs } = (await this.#ask({ kind: 'float', bytes, fileName, inputs })) as Reply<'floatDone'>;
    return { outputs, elapsedMs };
  }

  async close(): Promise<void> {
    if (this.dead) return;
    const exited = new Promise<void>((resolve) => this.worker.once('exit', () => resolve()));
    await this.#ask({ kind: 'close' });
    await exited;
  }

  async terminate(): Promise<void> {
    await this.worker.terminate();
  }

  #ask(request: WithoutId<WorkerRequest>): Promise<WorkerReply> {
    if (this.dead) return Promise.reject(workerFailed('it has ended'));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...request });
    });
  }

  #receive(reply: WorkerReply): void {
    const pending = this.#pending.get(reply.id)!;
    this.#pending.delete(reply.id);
    if (reply.kind === 'failed') pending.reject(revive(reply.error));
    else pending.resolve(reply);
  }

  #die(reason: string, cause?: unknown): void {
    this.dead = true;
    for (const { reject } of this.#pending.values()) reject(workerFailed(reason, cause));
    this.#pending.clear();
  }
}

/**
 * The thread's entry: `worker.js` of the build, or, from sources (tests, tsx), a line that registers the TypeScript
 * loader in the new thread, which has none of its parent's, and goes on to `worker.ts`.
 */
function entryOf(workerData: WorkerSettings): ConstructorParameters<typeof Worker> {
  if (!import.meta.url.endsWith('.ts')) return [new URL('./worker.js', import.meta.url), { workerData }];
  const source = JSON.stringify(new URL('./worker.ts', import.meta.url).href);
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const line = `import(${loader}).then(({ register }) => (register(), import(${source})))`;
  return [line, { workerData, eval: true, execArgv: [] }];
}

function workerFailed(reason: string, cause?: unknown): AssayError {
  const options = cause === undefined ? {} : { cause };
  return new AssayError('EXECUTOR_WORKER_FAILED', `the inference thread ended: ${reason}`, options);
}

function revive({ code, message, mend, meta }: PlainError): AssayError {
  return new AssayError(code, message, { mend, meta });
}
