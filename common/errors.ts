/**
 * The one error class of Assay, and the list of all its codes.
 *
 * A code is stable: scripts may match on it. Its sentence here is the general case; the message of a
 * thrown error names the file, node or tensor at hand, says what was expected and found, and `mend`
 * says what to do. docs/errors.md is generated from this table and a test keeps the two equal.
 */

/** What the failure means for the caller; decides the exit code of the command line. */
export type ErrorKind =
  /** The caller's input (file, flag, tensor, configuration) is wrong; repeating it cannot help. */
  | 'usage'
  /** A check ran to its end and says no. */
  | 'invalid'
  /** Something outside (queue, chain, disk, device) failed; trying again may help. */
  | 'infrastructure'
  /** A promise of our own code is broken: a defect to report. */
  | 'internal';

export interface ErrorCodeInfo {
  readonly kind: ErrorKind;
  /** What happened, in one sentence. */
  readonly what: string;
  /** What the reader can do about it, in one sentence. */
  readonly mend: string;
}

/** Sorted by name. */
export const ERROR_CODES = {
  FILE_NOT_FOUND: {
    kind: 'usage',
    what: 'A named file does not exist or cannot be read.',
    mend: 'Check the path and its permissions.',
  },
  INTERNAL: {
    kind: 'internal',
    what: 'An invariant of Assay itself is broken.',
    mend: 'Report it with the message and the command that led to it.',
  },
} as const satisfies Record<string, ErrorCodeInfo>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface AssayErrorOptions {
  /** Overrides the general mend of the code by one for the case at hand. */
  readonly mend?: string;
  /** Machine-readable facts: file, node, tensor, expected, found ... Must survive JSON. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class AssayError extends Error {
  override readonly name = 'AssayError';
  readonly code: ErrorCode;
  readonly kind: ErrorKind;
  readonly mend: string;
  readonly meta: Readonly<Record<string, unknown>>;

  /** @param message names the thing at hand, says what was expected and what was found. */
  constructor(code: ErrorCode, message: string, options: AssayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.kind = ERROR_CODES[code].kind;
    this.mend = options.mend ?? ERROR_CODES[code].mend;
    this.meta = options.meta ?? {};
  }

  /** The form used by `--json`, logs and the job table. */
  toJSON(): { code: ErrorCode; kind: ErrorKind; message: string; mend: string; meta: Readonly<Record<string, unknown>> } {
    return { code: this.code, kind: this.kind, message: this.message, mend: this.mend, meta: this.meta };
  }
}

/** Any thrown value as an AssayError; what is not one becomes INTERNAL with the original as cause. */
export function asAssayError(error: unknown): AssayError {
  if (error instanceof AssayError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new AssayError('INTERNAL', message, { cause: error });
}
