/** The `assay` command inside a test: what it prints with --json, and how it ends. */
import { expect, vi } from 'vitest';
import { main } from '../cli/main.js';
import { ERROR_CODES, type ErrorCode } from '../common/errors.js';

export interface Printed {
  readonly exitCode: number;
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly mend: string };
  readonly verdict: { readonly verdict: string; readonly reason?: string };
  readonly [name: string]: unknown;
}

/** Runs `assay --json ARGS` in this process. */
export async function assay(...args: string[]): Promise<Printed> {
  let out = '';
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    out += String(chunk);
    return true;
  });
  try {
    const exitCode = await main(['node', 'assay', '--json', ...args]);
    return { exitCode, ...(JSON.parse(out) as Omit<Printed, 'exitCode'>) } as Printed;
  } finally {
    spy.mockRestore();
    process.exitCode = 0;
  }
}

/** It is refused with that code, a message and a mend, and the exit code of the error's kind. */
export async function refused(args: string[], code: ErrorCode, message: RegExp): Promise<void> {
  const { exitCode, error } = await assay(...args);
  expect(error.code).toBe(code);
  expect(error.message).toMatch(message);
  expect(error.mend.length).toBeGreaterThan(10);
  expect(exitCode).toBe({ usage: 2, invalid: 1, infrastructure: 4, internal: 70 }[ERROR_CODES[code].kind]);
}
