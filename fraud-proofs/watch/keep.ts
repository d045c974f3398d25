/**
 * What must survive a crash: the salt of a precommit, an opening that was signed. A value is written once and never
 * changed.
 */
export interface Keep {
  get(key: string): Promise<string | null>;
  /**
   * Keeps the value unless there is one; durable when it returns.
   * @returns what is kept under the key: the first value, whoever wrote it
   * @throws AssayError STORE_FULL
   */
  putOnce(key: string, value: string): Promise<string>;
}

/** Forgets everything with its process: for a watcher that only looks on. */
export class MemoryKeep implements Keep {
  readonly #values = new Map<string, string>();

  async get(key: string): Promise<string | null> {
    return this.#values.get(key) ?? null;
  }

  async putOnce(key: string, value: string): Promise<string> {
    const first = this.#values.get(key);
    if (first !== undefined) return first;
    this.#values.set(key, value);
    return value;
  }
}
