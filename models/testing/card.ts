import { readFileSync } from 'node:fs';

/** One model's figures as models/README.md states them. */
export interface CardRow {
  readonly name: string;
  readonly parameters: number;
  readonly macs: number;
  readonly bytes: number;
  /** 'right / all' and the percentage, as printed. */
  readonly float: string;
  readonly integer: string;
  readonly sha256: string;
}

/** Test helper: the rows of the card's two tables. */
export function readCard(): readonly CardRow[] {
  const cells = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => /^\| `[\w-]+\.onnx` +\|/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
  const hashes = new Map(cells.filter((row) => row.length === 2).map((row) => [row[0]!, row[1]!]));
  const number = (cell: string): number => Number(cell.replaceAll(',', ''));
  return cells
    .filter((row) => row.length === 6)
    .map(([file, parameters, macs, bytes, float, integer]) => ({
      name: file!.replace(/\.onnx$/, ''),
      parameters: number(parameters!),
      macs: number(macs!),
      bytes: number(bytes!),
      float: float!,
      integer: integer!,
      sha256: hashes.get(file!) ?? '',
    }));
}

/** `1,974 / 2,000 (98.70 %)` */
export function shareText(correct: number, count: number): string {
  const grouped = (value: number): string => value.toLocaleString('en-US');
  return `${grouped(correct)} / ${grouped(count)} (${((100 * correct) / count).toFixed(2)} %)`;
}
