/** Milliseconds that a call takes, and what it returns. */
export function timed<T>(run: () => T): { value: T; ms: number } {
  const startedAt = performance.now();
  const value = run();
  return { value, ms: performance.now() - startedAt };
}

/** As timed, until the promise is settled. */
export async function timedAsync<T>(run: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const startedAt = performance.now();
  const value = await run();
  return { value, ms: performance.now() - startedAt };
}

/** The times of some calls after one that is not counted: it compiles and fills caches. */
export function repeated(count: number, run: () => unknown): number[] {
  run();
  return Array.from({ length: count }, () => timed(run).ms);
}
