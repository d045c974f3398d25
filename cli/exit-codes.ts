import type { AssayError, ErrorKind } from '../common/errors.js';
import type { Verdict } from '../receipts/types.js';

/** Exit codes of `assay`, the same in every command. */
export const EXIT = { ok: 0, invalid: 1, usage: 2, undetermined: 3, infrastructure: 4, internal: 70 } as const;

const BY_KIND: Record<ErrorKind, number> = {
  usage: EXIT.usage,
  invalid: EXIT.invalid,
  infrastructure: EXIT.infrastructure,
  internal: EXIT.internal,
};

export function exitCodeOfError(error: AssayError): number {
  return BY_KIND[error.kind];
}

export function exitCodeOfVerdict(verdict: Verdict): number {
  return { valid: EXIT.ok, invalid: EXIT.invalid, undetermined: EXIT.undetermined }[verdict.verdict];
}
