/**
 * What may be told of a failed question to a node. Who pays for a node holds its key in the address: in the path, the
 * query or the user part. ethers prints the whole address in its messages, so only its short ones are used, and of
 * every address scheme and host alone.
 */

/** Scheme and host of an address. */
export function endpointOf(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return '(an address that is no URL)';
  }
  return parsed.host === '' ? '(an address without a host)' : `${parsed.protocol}//${parsed.host}`;
}

/** Why a question failed, in one line: the library's short sentence and the node's own. */
export function failureText(error: unknown): string {
  const { shortMessage, message } = (error ?? {}) as { shortMessage?: unknown; message?: unknown };
  const short = typeof shortMessage === 'string' ? shortMessage : typeof message === 'string' ? message : String(error);
  const said = nodeErrorOf(error)?.message;
  const text = said === undefined || short.includes(said) ? short : `${short}: ${said}`;
  return text.replace(/[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]*/gi, endpointOf).slice(0, 500);
}

/** The JSON-RPC error that the node answered with, where ethers kept it. */
export function nodeErrorOf(error: unknown): { readonly code?: unknown; readonly message: string } | null {
  const { error: own, info } = (error ?? {}) as { error?: unknown; info?: { error?: unknown } | null };
  for (const found of [own, info?.error] as ({ code?: unknown; message?: unknown } | null | undefined)[]) {
    if (typeof found?.message === 'string') return { code: found.code, message: found.message };
  }
  return null;
}
