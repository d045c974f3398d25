import type { PolynomialBackend } from './types.js';

/** Runs `work` and frees the vectors it made. */
export function scoped<T>(backend: PolynomialBackend<unknown>, work: () => T): T {
  const mark = backend.mark();
  try {
    return work();
  } finally {
    backend.release(mark);
  }
}
