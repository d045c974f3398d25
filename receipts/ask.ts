/** A question to a chain whose answer may fail to come; an outage is told apart from a contract's refusal. */
import { isError } from 'ethers';

export type Answer<T> =
  | { readonly kind: 'answered'; readonly value: T }
  /** The contract reverted. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** No answer: network, node or time. Says nothing about the receipt. */
  | { readonly kind: 'silent'; readonly reason: string };

/**
 * @param timeoutMs a provider that cannot reach its node may retry for ever, so every question has an end
 */
export async function ask<T>(question: () => Promise<T>, timeoutMs: number): Promise<Answer<T>> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<Answer<T>>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'silent', reason: `no answer within ${timeoutMs} ms` }), timeoutMs);
  });
  const answer = question().then(
    (value): Answer<T> => ({ kind: 'answered', value }),
    (error: unknown): Answer<T> =>
      isError(error, 'CALL_EXCEPTION')
        ? { kind: 'refused', reason: error.shortMessage }
        : { kind: 'silent', reason: error instanceof Error ? error.message : String(error) },
  );
  try {
    return await Promise.race([answer, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
