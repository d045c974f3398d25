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

/** What is needed of a `Worker`. */
export type WorkerHandle = Pick<Worker, 'on' | 'once' | 'postMessage' | 'terminate'>;

interface Pending {
  readonly resolve: (reply: WorkerReply) => void;
  readonly reject: (error: AssayError) => void;
}

export class WorkerThread {
  readonly #pending = new Map<number, Pending>();
  /** Digests of bundles that have been sent. */
  readonly #sent = new Set<string>();
  /** What the thread said first; null until then. */
  #start: Extract<WorkerStart, { kind: 'ready' }> | null = null;
  #nextId = 0;
  dead = false;

  private constructor(
    readonly worker: WorkerHandle,
    /** Called with null when the thread is ready, or with why it is not; what comes later changes nothing. */
    started: (failure: AssayError | null) => void,
  ) {
    // For good, before anything is awaited: an error event that nobody listens to would end the process.
    worker.on('message', (message) => {
      if (this.#start !== null) return this.#receive(message as WorkerReply);
      const first = message as WorkerStart;
      if (first.kind === 'failed') return started(revive(first.error));
      this.#start = first;
      started(null);
    });
    const ended = (reason: string, cause?: unknown): void => {
      this.#die(reason, cause);
      started(workerFailed(this.#start === null ? `${reason} before it was ready` : reason, cause));
    };
    worker.on('error', (error) => ended(error.message, error));
    worker.on('exit', (code) => ended(`exit code ${code}`));
  }

  static async start(settings: WorkerSettings): Promise<WorkerThread> {
    return WorkerThread.over(new Worker(...entryOf(settings)));
  }

  /** The thread around a worker that has just been made and has said nothing yet. */
  static over(worker: WorkerHandle): Promise<WorkerThread> {
    return new Promise((resolve, reject) => {
      const thread = new WorkerThread(worker, (failure) => (failure === null ? resolve(thread) : reject(failure)));
    });
  }

  get start(): Extract<WorkerStart, { kind: 'ready' }> {
    if (this.#start === null) throw new AssayError('INTERNAL', 'the inference thread is used before it is ready');
    return this.#start;
  }

  async execute(
    bundle: Bundle,
    inputs: readonly Int32Array[],
    items: number,
    expectedInputRoot: Hex | null,
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
    const pending = this.#pending.get(reply.id);
    // A reply that was on its way when the thread was given up: its caller has been told so.
    if (pending === undefined) return;
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
