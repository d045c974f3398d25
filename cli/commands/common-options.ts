import { InvalidArgumentError, type Command } from 'commander';
import { Terminal, type TerminalOptions } from '../terminal.js';

/** The terminal of a command, from the global flags. */
export function terminalOf(command: Command): Terminal {
  const { json = false, quiet = false } = command.optsWithGlobals<Partial<TerminalOptions>>();
  return new Terminal({ json, quiet });
}

/** Collects `--dim name=value` flags. */
export function collectDim(flag: string, previous: Record<string, number> = {}): Record<string, number> {
  const match = /^([^=]+)=(\d+)$/.exec(flag);
  if (match === null || Number(match[2]) === 0) {
    throw new InvalidArgumentError(`expected name=value with a positive whole number, found "${flag}"`);
  }
  return { ...previous, [match[1]!]: Number(match[2]) };
}

export function wholeNumber(flag: string): number {
  if (!/^\d+$/.test(flag)) throw new InvalidArgumentError(`expected a whole number, found "${flag}"`);
  return Number(flag);
}

/** A loop that asks its node more often than this is a mistake. */
const SHORTEST_POLL_SECONDS = 0.1;

/** Time between polls. */
export function secondsFlag(flag: string): number {
  if (!/^\d{1,6}(\.\d{1,3})?$/.test(flag) || Number(flag) < SHORTEST_POLL_SECONDS)
    throw new InvalidArgumentError(`expected a number of seconds from ${SHORTEST_POLL_SECONDS} on, found "${flag}"`);
  return Number(flag);
}
