/** A question to a chain whose answer may fail to come; an outage is told apart from a contract's refusal. */
import { isError } from 'ethers';
import { failureText, nodeErrorOf } from './failure-text.js';

export type Answer<T> =
  | { readonly kind: 'answered'; readonly value: T }
  /** The contract reverted. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** No answer: network, node or time. Says nothing about the receipt. */
  | { readonly kind: 'silent'; readonly reason: string };

/**
 * ethers calls every error that a node gives to a call an exception of the call, be it that the node lacks the block.
 * A revert has data, if only none (`0x`), or the node says that it is one; code 3 stands for it.
 */
function isRevert(error: unknown): boolean {
  if (!isError(error, 'CALL_EXCEPTION')) return false;
  if (typeof error.data === 'string') return true;
  const said = nodeErrorOf(error);
  return said !== null && (said.code === 3 || /revert/i.test(said.message));
}

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
    (error: unknown): Answer<T> => ({ kind: isRevert(error) ? 'refused' : 'silent', reason: failureText(error) }),
  );
  try {
    return await Promise.race([answer, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
