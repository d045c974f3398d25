import { AssayError } from '../../common/errors.js';

/** @throws AssayError NODE_TIMEOUT when the work of a node has not settled in time. It may go on; nobody waits for it. */
export async function within<T>(work: Promise<T>, timeoutMs: number, who: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new AssayError('NODE_TIMEOUT', `${who} has not answered within ${timeoutMs} ms.`, {
            meta: { who, timeoutMs },
          }),
        ),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
