/** Where a figure was measured. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, freemem, loadavg, totalmem } from 'node:os';
import { packageRoot } from '../common/package-root.js';
import type { Report } from './report.js';

export function describeMachine(): Omit<Report, 'results'> {
  const gibibytes = Math.round(totalmem() / 2 ** 30);
  return {
    machine: `${cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${availableParallelism()} threads, ${gibibytes} GiB`,
    commit: commit(),
    node: process.versions.node,
    load: loadavg()[0]!,
  };
}

/** With "+" where the working tree holds changes; "unknown" outside a checkout. */
function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: packageRoot(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') === '' ? '' : '+');
  } catch {
    return 'unknown';
  }
}

/**
 * The most memory that this process has held, in bytes. Linux counts what the parent held at the fork into the maxRSS of
 * getrusage; VmHWM is of this program alone.
 */
export function peakRssBytes(): number {
  try {
    const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    if (kibibytes !== undefined) return 1024 * Number(kibibytes);
  } catch {
    // Another operating system.
  }
  return 1024 * process.resourceUsage().maxRSS;
}

/** What the system can give to a new process without swapping. */
export function availableMemory(): number {
  try {
    const [, kibibytes] = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
    if (kibibytes !== undefined) return 1024 * Number(kibibytes);
  } catch {
    // Another operating system.
  }
  return freemem();
}
