/**
 * Loaded sessions by engine, model and kind, within a memory budget.
 *
 * - The size of a session is predicted before it is loaded. Where it does not fit, idle sessions are closed, the least
 *   recently used first; where it still would not fit, the request is refused and nothing is closed.
 * - A session in use is never closed: `acquire` lends it, `release` gives it back.
 * - Callers that ask for a session while it loads share the one load.
 *
 * A session that fails to close concerns nobody who asks for another one: the failure goes to `onCloseFailure`, and its
 * bytes count as free, since what the engine still holds of it cannot be known.
 *
 * Admission is decided at once, before anything is awaited, so that concurrent callers cannot both take the same room.
 */
import { asAssayError, AssayError } from '../common/errors.js';
import type { EngineName } from './engine.js';

export type SessionKind = 'exact' | 'float';

export interface SessionKey {
  readonly engine: EngineName;
  /** Bundle digest, or source hash of a float model. */
  readonly model: string;
  readonly kind: SessionKind;
}

export interface Closable {
  close(): Promise<void>;
}

export interface Lease<S> {
  readonly session: S;
  /** Gives the session back; a second call does nothing. */
  release(): void;
}

/** Told of a session that could not be closed. Must not throw. */
export type CloseFailure = (key: SessionKey, error: AssayError) => void;

interface Entry {
  readonly key: SessionKey;
  readonly session: Promise<Closable>;
  sizeBytes: number;
  leases: number;
}

export class SessionCache {
  /** In order of last use, the oldest first. */
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Set<Promise<void>>();
  #closed = false;

  /**
   * @param budgetBytes of all sessions together.
   * @param onCloseFailure default: a warning of the process, which Node.js prints on stderr.
   */
  constructor(
    readonly budgetBytes: number,
    readonly onCloseFailure: CloseFailure = warn,
  ) {}

  /** Predicted bytes of everything loaded or loading. */
  get usedBytes(): number {
    return [...this.#entries.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  /** What is loaded or loading, least recently used first. */
  get keys(): SessionKey[] {
    return [...this.#entries.values()].map(({ key }) => key);
  }

  /**
   * @param sizeBytes predicted size with the batch at hand; a session keeps the memory of its largest batch.
   * @param load called at most once while the session lives; a failed load is forgotten.
   * @throws AssayError MODEL_TOO_LARGE with the bytes needed, the budget and what is in use; whatever `load` throws.
   */
  async acquire<S extends Closable>(key: SessionKey, sizeBytes: number, load: () => Promise<S>): Promise<Lease<S>> {
    if (this.#closed) throw new AssayError('EXECUTOR_CLOSED', 'the session cache is closed');
    const id = idOf(key);
    const known = this.#entries.get(id);
    this.#makeRoom(key, sizeBytes - (known?.sizeBytes ?? 0), known);
    const room = Promise.all(this.#closing);
    const entry: Entry = known ?? { key, sizeBytes, session: room.then(load), leases: 0 };
    entry.sizeBytes = Math.max(entry.sizeBytes, sizeBytes);
    entry.leases++;
    this.#touch(id, entry);
    try {
      const [session] = await Promise.all([entry.session, room]);
      return { session: session as S, release: this.#releaseOnce(id, entry) };
    } catch (error) {
      entry.leases--;
      if (this.#entries.get(id) === entry) this.#entries.delete(id);
      throw error;
    }
  }

  /** Closes what is idle now and everything else when it is given back. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const [id, entry] of this.#entries) if (entry.leases === 0) this.#evict(id, entry);
    await Promise.all(this.#closing);
  }

  #makeRoom(key: SessionKey, neededBytes: number, own: Entry | undefined): void {
    const used = this.usedBytes;
    const idle = [...this.#entries].filter(([, entry]) => entry.leases === 0 && entry !== own);
    const idleBytes = idle.reduce((sum, [, { sizeBytes }]) => sum + sizeBytes, 0);
    if (used - idleBytes + neededBytes > this.budgetBytes) {
      throw new AssayError(
        'MODEL_TOO_LARGE',
        `model ${key.model} on ${key.engine} needs ${neededBytes} bytes more; the budget is ${this.budgetBytes} bytes, ` +
          `of which ${used - idleBytes} are in use`,
        { meta: { ...key, neededBytes, budgetBytes: this.budgetBytes, inUseBytes: used - idleBytes } },
      );
    }
    let free = this.budgetBytes - used;
    for (const [id, entry] of idle) {
      if (free >= neededBytes) break;
      free += entry.sizeBytes;
      this.#evict(id, entry);
    }
  }

  #evict(id: string, entry: Entry): void {
    this.#entries.delete(id);
    const closing = entry.session
      .then((session) => session.close())
      .catch((error: unknown) => this.onCloseFailure(entry.key, asAssayError(error)))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #touch(id: string, entry: Entry): void {
    this.#entries.delete(id);
    this.#entries.set(id, entry);
  }

  #releaseOnce(id: string, entry: Entry): () => void {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      entry.leases--;
      this.#touch(id, entry);
      if (this.#closed && entry.leases === 0) this.#evict(id, entry);
    };
  }
}

function warn({ engine, model, kind }: SessionKey, error: AssayError): void {
  process.emitWarning(`the ${kind} session of model ${model} on ${engine} failed to close: ${error.message}`, {
    type: 'SessionCache',
    code: error.code,
  });
}

function idOf({ engine, model, kind }: SessionKey): string {
  return `${engine} ${kind} ${model}`;
}
