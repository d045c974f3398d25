/** The proving thread as the prover node sees it: questions and answers by number, and one end. */
import { Worker } from 'node:worker_threads';
import { AssayError } from '../../common/errors.js';
import { encodeBundle, type Bundle } from '../../graph/index.js';
import type { PlainError, ProverReply, ProverRequest, ProverSettings, ProverStart } from './prover-messages.js';

type ModelRequest = Exclude<ProverRequest, { kind: 'close' }>;
type Reply<K extends ProverReply['kind']> = Extract<ProverReply, { kind: K }>;
/** `Omit` over a union, member by member. */
type Question<T> = T extends unknown ? Omit<T, 'id' | 'digest' | 'bundle'> : never;

interface Pending {
  readonly resolve: (reply: ProverReply) => void;
  readonly reject: (error: AssayError) => void;
}

/** Reading a reference string and warming up take seconds; making a large development one takes minutes. */
const START_TIMEOUT_MS = 600_000;

/** More digests than the thread keeps bundles: what it has forgotten it asks for. */
const MOST_SENT = 1_000;

export class ProverThread {
  private readonly pending = new Map<number, Pending>();
  /** Digests of bundles that have been sent. */
  private readonly sent = new Set<string>();
  private started: Extract<ProverStart, { kind: 'ready' }> | null = null;
  private nextId = 0;
  dead = false;

  private constructor(
    private readonly worker: Worker,
    /** Called with null when the thread is ready, or with why it is not; what comes later changes nothing. */
    whenStarted: (failure: AssayError | null) => void,
  ) {
    // For good, before anything is awaited: an error event that nobody listens to would end the process.
    worker.on('message', (message) => {
      if (this.started !== null) return this.receive(message as ProverReply);
      const first = message as ProverStart;
      if (first.kind === 'failed') return whenStarted(revive(first.error));
      this.started = first;
      whenStarted(null);
    });
    const ended = (reason: string, cause?: unknown): void => {
      this.die(reason, cause);
      whenStarted(threadEnded(this.started === null ? `${reason} before it was ready` : reason, cause));
    };
    worker.on('error', (error) => ended(error.message, error));
    worker.on('exit', (code) => ended(`exit code ${code}`));
  }

  /** @throws AssayError what the thread could not be started for; PROVER_FAILED also where it takes too long. */
  static start(settings: ProverSettings, timeoutMs = START_TIMEOUT_MS): Promise<ProverThread> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(...entryOf(settings));
      const timer = setTimeout(() => {
        reject(threadEnded(`it was not ready within ${timeoutMs} ms`));
        void worker.terminate();
      }, timeoutMs);
      const thread = new ProverThread(worker, (failure) => {
        clearTimeout(timer);
        if (failure === null) resolve(thread);
        else reject(failure);
      });
    });
  }

  get start(): Extract<ProverStart, { kind: 'ready' }> {
    if (this.started === null) throw new AssayError('INTERNAL', 'the proving thread is used before it is ready');
    return this.started;
  }

  /** @throws AssayError what the prover throws; PROVER_FAILED where the thread ended first. */
  async ask<K extends 'predicted' | 'key' | 'proved'>(
    kind: K,
    bundle: Bundle,
    question: Question<ModelRequest>,
  ): Promise<Reply<K>> {
    const { digest } = bundle;
    if (this.sent.has(digest)) {
      const reply = await this.send({ ...question, digest, bundle: null } as Omit<ModelRequest, 'id'>);
      if (reply.kind === kind) return reply as Reply<K>;
    }
    this.sent.add(digest);
    if (this.sent.size > MOST_SENT) this.sent.delete(this.sent.keys().next().value!);
    const reply = await this.send({ ...question, digest, bundle: encodeBundle(bundle) } as Omit<ModelRequest, 'id'>);
    return reply as Reply<K>;
  }

  async close(): Promise<void> {
    if (this.dead) return;
    const exited = new Promise<void>((resolve) => this.worker.once('exit', () => resolve()));
    await this.send({ kind: 'close' });
    await exited;
  }

  async terminate(): Promise<void> {
    await this.worker.terminate();
  }

  private send(request: Omit<ProverRequest, 'id'>): Promise<ProverReply> {
    if (this.dead) return Promise.reject(threadEnded('it has ended'));
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...request });
    });
  }

  private receive(reply: ProverReply): void {
    const pending = this.pending.get(reply.id);
    // A reply that was on its way when the thread was given up: its caller has been told so.
    if (pending === undefined) return;
    this.pending.delete(reply.id);
    if (reply.kind === 'failed') pending.reject(revive(reply.error));
    else pending.resolve(reply);
  }

  private die(reason: string, cause?: unknown): void {
    this.dead = true;
    for (const { reject } of this.pending.values()) reject(threadEnded(reason, cause));
    this.pending.clear();
  }
}

/**
 * The thread's entry: `prover-worker.js` of the build, or, from sources (tests, tsx), a line that registers the
 * TypeScript loader in the new thread, which has none of its parent's, and goes on to `prover-worker.ts`.
 */
function entryOf(workerData: ProverSettings): ConstructorParameters<typeof Worker> {
  if (!import.meta.url.endsWith('.ts')) return [new URL('./prover-worker.js', import.meta.url), { workerData }];
  const source = JSON.stringify(new URL('./prover-worker.ts', import.meta.url).href);
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const line = `import(${loader}).then(({ register }) => (register(), import(${source})))`;
  return [line, { workerData, eval: true, execArgv: [] }];
}

function threadEnded(reason: string, cause?: unknown): AssayError {
  return new AssayError('PROVER_FAILED', `the proving thread ended: ${reason}`, cause === undefined ? {} : { cause });
}

function revive({ code, message, mend, meta }: PlainError): AssayError {
  return new AssayError(code, message, { mend, meta });
}
