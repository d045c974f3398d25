/**
 * What a command says, and where: results to stdout (text, or one JSON object with --json), progress and notes to
 * stderr. Progress is redrawn in place on a terminal and printed sparsely elsewhere.
 */

export interface TerminalOptions {
  readonly json: boolean;
  readonly quiet: boolean;
}

export interface Progress {
  /** @param done units finished so far. */
  update(done: number): void;
  /** Ends the line; returns the seconds it took. */
  done(note?: string): number;
}

const REDRAW_MS = 100;
const PRINT_MS = 5_000;

export class Terminal {
  constructor(private readonly options: TerminalOptions) {}

  get json(): boolean {
    return this.options.json;
  }

  /** A line for people; silent with --json or --quiet. */
  note(line = ''): void {
    if (!this.options.json && !this.options.quiet) process.stderr.write(`${line}\n`);
  }

  /** The result of the command: `value` with --json, `text` otherwise. */
  result(value: unknown, text: string): void {
    process.stdout.write(this.options.json ? `${toJson(value)}\n` : `${text}\n`);
  }

  /** @param total units of work; null where it is not known. Time left is shown after the first second. */
  progress(label: string, total: number | null): Progress {
    const silent = this.options.json || this.options.quiet;
    const tty = process.stderr.isTTY === true;
    const startedAt = performance.now();
    let shownAt = startedAt;
    const secondsSinceStart = () => (performance.now() - startedAt) / 1000;
    return {
      update: (done) => {
        const now = performance.now();
        if (silent || now - shownAt < (tty ? REDRAW_MS : PRINT_MS)) return;
        shownAt = now;
        const line = `  ${label} ${progressText(done, total, secondsSinceStart())}`;
        process.stderr.write(tty ? `\r\x1b[K${line}` : `${line}\n`);
      },
      done: (note) => {
        const seconds = secondsSinceStart();
        if (!silent) {
          process.stderr.write(`${tty ? '\r\x1b[K' : ''}  ${label}: ${note ?? 'done'} (${seconds.toFixed(1)} s)\n`);
        }
        return seconds;
      },
    };
  }
}

function progressText(done: number, total: number | null, seconds: number): string {
  if (total === null || total === 0) return `${done}`;
  const left = seconds > 1 && done > 0 ? `, ${Math.ceil((seconds * (total - done)) / done)} s left` : '';
  return `${done} of ${total}${left}`;
}

/** JSON in which a bigint is a decimal string. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? item.toString() : item), 2);
}

/** Columns padded to their widest cell; cells that look like numbers are right-aligned. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (/^[\d.,%-]+$/.test(cell) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd();
  return [line(header), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}
