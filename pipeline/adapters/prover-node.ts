/** A prover on this machine, as the pipeline's port: a thread that is started again where it has died. */
import { asAssayError, AssayError } from '../../common/errors.js';
import type { Bundle } from '../../graph/index.js';
import type { SrsHead } from '../../prover/srs/srs.js';
import type { ModelKey } from '../../prover/verifier/model-key.js';
import type { ProofForecast, ProofJob, ProvedJob, ProverPort } from '../ports.js';
import { orderBytes } from '../zk/check-proof.js';
import type { ProverSettings, SrsSource } from './prover-messages.js';
import { ProverThread } from './prover-thread.js';

export interface ProverNodeOptions {
  readonly srs: SrsSource;
  /** CPU threads of one proof. @default one per core, at most 8 */
  readonly threads?: number;
  /** Of the proving arithmetic, the reference string included. @default 1 GiB */
  readonly memoryBudgetBytes?: number;
  /** @default 'prover' */
  readonly name?: string;
}

const DEFAULT_BUDGET_BYTES = 2 ** 30;

/** Forecasts and keys kept in this thread, so that an order is not held up by a proof that is being made. */
const MOST_KEPT = 1_000;

export class ProverNode implements ProverPort {
  readonly name: string;
  readonly srs: SrsHead;
  readonly limits: ProverPort['limits'];
  private readonly forecasts = new Map<string, Promise<ProofForecast>>();
  private readonly keys = new Map<string, Promise<ModelKey>>();
  private thread: Promise<ProverThread>;
  private closed = false;

  private constructor(
    private readonly settings: ProverSettings,
    thread: ProverThread,
    name: string,
  ) {
    this.name = name;
    this.thread = Promise.resolve(thread);
    this.srs = thread.start.srs;
    this.limits = { memoryBytes: thread.start.freeBytes, srsPoints: thread.start.srsPoints };
  }

  /** @throws AssayError PROVER_NOT_BUILT, SRS_INVALID, PROVER_FAILED */
  static async start({ srs, threads, memoryBudgetBytes, name }: ProverNodeOptions): Promise<ProverNode> {
    const settings: ProverSettings = {
      srs,
      threads: threads ?? null,
      memoryBudgetBytes: memoryBudgetBytes ?? DEFAULT_BUDGET_BYTES,
    };
    return new ProverNode(settings, await ProverThread.start(settings), name ?? 'prover');
  }

  predict(bundle: Bundle, items: number): Promise<ProofForecast> {
    return kept(this.forecasts, `${bundle.digest} ${items}`, async () => {
      const { forecast } = await (await this.running()).ask('predicted', bundle, { kind: 'predict', items });
      return forecast;
    });
  }

  keyOf(bundle: Bundle): Promise<ModelKey> {
    return kept(this.keys, bundle.digest, async () => {
      return (await (await this.running()).ask('key', bundle, { kind: 'key' })).key;
    });
  }

  async prove({ orderHash, bundle, items, inputs }: ProofJob): Promise<ProvedJob> {
    const thread = await this.running();
    const bound = orderBytes(orderHash);
    const { key, proof, published } = await thread.ask('proved', bundle, { kind: 'prove', items, inputs, bound });
    return { key, proof, published };
  }

  async abort(): Promise<void> {
    await (await this.thread).terminate();
  }

  /** Ends the thread after the proof that it is at. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    // Where it could not be started again there is nothing to end.
    const thread = await this.thread.catch(() => null);
    await thread?.close();
  }

  /** The thread; a new one where the last has died. Everybody who comes meanwhile waits for the same one. */
  private running(): Promise<ProverThread> {
    if (this.closed) return Promise.reject(new AssayError('PROVER_FAILED', `the prover ${this.name} is closed`));
    const current = this.thread.then(
      (thread) => (thread.dead ? null : thread),
      () => null,
    );
    const next = current.then((thread) => thread ?? this.restarted());
    this.thread = next;
    // Whoever waits is told; the next one tries again.
    next.catch(() => undefined);
    return next;
  }

  /** It has run before: whatever keeps it from running now is this machine's trouble, not that of whoever asks. */
  private async restarted(): Promise<ProverThread> {
    try {
      return await ProverThread.start(this.settings);
    } catch (cause) {
      const { code, message } = asAssayError(cause);
      throw new AssayError('PROVER_FAILED', `the prover ${this.name} cannot be started again: ${message}`, {
        cause,
        meta: { prover: this.name, code },
      });
    }
  }
}

/** Remembers answers, not failures; the oldest is forgotten for a new one. */
function kept<T>(answers: Map<string, Promise<T>>, key: string, ask: () => Promise<T>): Promise<T> {
  const known = answers.get(key);
  if (known !== undefined) return known;
  const answer = ask();
  answers.set(key, answer);
  answer.catch(() => answers.delete(key));
  if (answers.size > MOST_KEPT) answers.delete(answers.keys().next().value!);
  return answer;
}
