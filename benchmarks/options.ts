/** What a benchmark is asked for, and what a suite is. */
import type { Result, RowKey } from './report.js';

export interface BenchOptions {
  readonly models: readonly string[];
  readonly batches: readonly number[];
  readonly threads: readonly number[];
  /** Measurements of a figure, after one that is not counted. */
  readonly repeat: number;
  /** Whether an earlier run that is taken up again has this row already. */
  readonly has: (row: RowKey) => boolean;
}

export interface Suite {
  readonly name: string;
  /** Models it runs on where none is named; none where it needs none. */
  readonly models: readonly string[];
  /** Takes any model of the ladder and any .onnx file; otherwise those of `models` alone. */
  readonly anyModel?: true;
  /** Only where it is named: it takes minutes. */
  readonly onlyNamed?: true;
  run(options: BenchOptions, onResult: (result: Result) => void): Promise<void>;
}
