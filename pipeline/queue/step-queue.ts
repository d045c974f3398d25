/**
 * The queue of due steps: a hint, never the truth. A hint may be lost, late or given twice; what it says is checked
 * against the table `assay.work` before anything is done.
 *
 * BullMQ 6 runs it, with three homes: PGlite (the embedded database), PostgreSQL, Redis. Queues are one per step, so
 * that workers of one step can be scaled out by themselves.
 */
import { Queue, Worker, createPostgresBackend, runMigrations, type ConnectionOptions, type Job } from 'bullmq';
import { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { AssayError, asAssayError } from '../../common/errors.js';

/** A step that is due: which order or batch, which step, which attempt. */
export interface Hint {
  /** 0x-hex hash of the order or batch. */
  readonly subject: string;
  readonly step: string;
  readonly attempt: number;
  /** Lower runs first; 0 (default) runs before all others. */
  readonly priority?: number;
}

export interface StepQueue {
  readonly home: 'redis' | 'postgres';
  /**
   * Puts hints into their queues; a hint that is there already stays as it is.
   * @throws AssayError QUEUE_UNAVAILABLE when the server does not answer within seconds.
   */
  add(hints: readonly Hint[]): Promise<void>;
  /**
   * Starts working on the hints of a step. A handler never rejects: failures are written to the database.
   * @returns stops it: no hint is taken any more; handlers at work are left to end by themselves.
   */
  work(step: string, concurrency: number, handler: (hint: Hint) => Promise<void>): () => Promise<void>;
  /** @throws AssayError QUEUE_UNAVAILABLE when the server does not answer within seconds. */
  ready(): Promise<void>;
  /** Called whenever the server is reached again after it was away: it may have lost everything. */
  onReturn(listener: () => void): void;
  /** Empties all queues, whatever runs. Nothing is lost by it: the sweeper fills them again. */
  wipe(): Promise<void>;
  /** Stops the workers, which end the hint at hand first, and disconnects. */
  close(): Promise<void>;
}

export type QueueHome =
  /** The pool of a `Database`, PGlite or PostgreSQL. */
  | { readonly kind: 'postgres'; readonly pool: Pool }
  /** `redis://[:password@]host:port/db`; the namespace keeps deployments on one server apart. */
  | { readonly kind: 'redis'; readonly url: string; readonly namespace: string };

/** Prefix of queue names and Redis keys. */
const NAME = 'assay';
const ANSWER_TIMEOUT_MS = 3_000;
/** A worker that has lost its lock is given up after this; the step itself is fenced in the database. */
const LOCK_MS = 30_000;
/** How soon a worker tries again after its server failed it. */
const RETRY_MS = 1_000;
/** BullMQ's own event log, which nothing here reads. */
const EVENTS_KEPT = 100;
/** How often an idle worker looks for itself, in seconds; a notification wakes it sooner. */
const IDLE_LOOK_S = 2;

/** The deterministic id `step-subject-attempt`: BullMQ refuses colons, and adding an id that is there is a no-op. */
export function hintId(hint: Hint): string {
  return `${hint.step}-${hint.subject}-${hint.attempt}`;
}

/** Settles as the promise does, or as QUEUE_UNAVAILABLE when it fails or takes longer than a server may. */
async function answered<T>(work: Promise<T>, where: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`)), ANSWER_TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new AssayError('QUEUE_UNAVAILABLE', `The job queue ${where} cannot be reached: ${why}.`, {
      cause: error,
      meta: { where },
    });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Connects the queue to its home.
 * @param steps names of all steps, fixed for the life of the queue.
 * @throws AssayError QUEUE_UNAVAILABLE when the home does not answer, CONFIG_INVALID when the Redis URL is not one.
 */
export async function openStepQueue(home: QueueHome, steps: readonly string[]): Promise<StepQueue> {
  let options: { connection: ConnectionOptions; prefix: string };
  let backend: typeof createPostgresBackend | undefined;
  let ping: () => Promise<unknown>;
  let disconnect: () => void = () => undefined;
  let where: string;
  const returned: (() => void)[] = [];

  if (home.kind === 'redis') {
    if (!/^rediss?:\/\//.test(home.url) || !URL.canParse(home.url)) {
      throw new AssayError('CONFIG_INVALID', 'REDIS_URL: expected redis://host:port, found something else.');
    }
    where = new URL(home.url).host;
    // Commands wait for a server that is away, for ever: workers must outlive an outage; `answered` bounds the callers.
    const redis = new Redis(home.url, {
      maxRetriesPerRequest: null,
      retryStrategy: (tries) => Math.min(tries * 50, 1_000),
    });
    redis.on('error', () => undefined);
    redis.on('ready', () => returned.forEach((listener) => listener()));
    options = { connection: redis as unknown as ConnectionOptions, prefix: `${NAME}-${home.namespace}` };
    ping = () => redis.ping();
    disconnect = () => redis.disconnect();
  } else {
    where = 'in the database';
    options = { connection: home.pool as unknown as ConnectionOptions, prefix: NAME };
    backend = createPostgresBackend as typeof createPostgresBackend;
    ping = () => home.pool.query('SELECT 1');
  }

  try {
    await answered(ping(), where);
    if (home.kind === 'postgres') {
      const client = await home.pool.connect();
      try {
        await runMigrations(client);
      } finally {
        client.release();
      }
    }
  } catch (error) {
    disconnect();
    throw error instanceof AssayError ? error : asAssayError(error);
  }

  const queues = new Map(
    steps.map((step) => {
      const queue = new Queue(
        `${NAME}-${step}`,
        { ...options, streams: { events: { maxLen: EVENTS_KEPT } } } as never,
        backend as never,
      ) as Queue;
      queue.on('error', () => undefined);
      return [step, queue];
    }),
  );
  const queueOf = (step: string): Queue => {
    const queue = queues.get(step);
    if (queue === undefined)
      throw new AssayError('INTERNAL', `No queue for step ${step}; there are ${steps.join(', ')}.`);
    return queue;
  };
  const workers = new Set<Worker>();

  return {
    home: home.kind,
    async add(hints) {
      const byStep = new Map<string, Hint[]>();
      for (const hint of hints) byStep.set(hint.step, [...(byStep.get(hint.step) ?? []), hint]);
      await answered(
        Promise.all(
          [...byStep].map(([step, group]) =>
            queueOf(step).addBulk(
              group.map((hint) => ({
                name: step,
                data: { subject: hint.subject, attempt: hint.attempt },
                opts: { jobId: hintId(hint), priority: hint.priority ?? 0, removeOnComplete: true, removeOnFail: true },
              })),
            ),
          ),
        ),
        where,
      );
    },
    work(step, concurrency, handler) {
      const worker = new Worker(
        queueOf(step).name,
        async (job: Job) => {
          const { subject, attempt } = job.data as { subject: string; attempt: number };
          await handler({ subject, step, attempt });
        },
        { ...options, concurrency, lockDuration: LOCK_MS, drainDelay: IDLE_LOOK_S, runRetryDelay: RETRY_MS } as never,
        backend as never,
      );
      // Outages show here again and again; readiness reports them, and the worker reconnects by itself.
      worker.on('error', () => undefined);
      workers.add(worker);
      return async () => {
        workers.delete(worker);
        await worker.close(true);
      };
    },
    ready: () => answered(ping(), where).then(() => undefined),
    onReturn: (listener) => void returned.push(listener),
    async wipe() {
      await answered(Promise.all([...queues.values()].map((queue) => queue.obliterate({ force: true }))), where);
      // Obliterating pauses a queue.
      await answered(Promise.all([...queues.values()].map((queue) => queue.resume())), where);
    },
    async close() {
      // A worker that cannot reach its server cannot end its hint there; the database knows what was done.
      const reachable = await answered(ping(), where).then(
        () => true,
        () => false,
      );
      await Promise.all([...workers].map((worker) => worker.close(!reachable)));
      await Promise.all([...queues.values()].map((queue) => (reachable ? queue.close() : queue.disconnect())));
      disconnect();
    },
  };
}
