/** What is used of circom2, which has no types of its own. */
declare module 'circom2' {
  type Bindings = Readonly<Record<string, unknown>>;
  export const bindings: Bindings;
  export class CircomRunner {
    constructor(options: {
      args: readonly string[];
      env: Readonly<Record<string, string>>;
      /** Folders that the compiler sees, by the name under which it sees them. */
      preopens: Readonly<Record<string, string>>;
      bindings: Bindings;
    });
    execute(code: Uint8Array): Promise<unknown>;
  }
}
