/** Milliseconds that a call takes, and what it returns. */
export function timed<T>(run: () => T): { value: T; ms: number } {
  const startedAt = performance.now();
  const value = run();
  return { value, ms: performance.now() - startedAt };
}

/** As timed, with the processor time of all threads of this process. */
export function timedWork<T>(run: () => T): { value: T; ms: number; cpuMs: number } {
  const before = process.cpuUsage();
  const { value, ms } = timed(run);
  const { user, system } = process.cpuUsage(before);
  return { value, ms, cpuMs: (user + system) / 1000 };
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
