/** What a benchmark is asked for, and what a suite is. */
import type { Result } from './report.js';

export interface BenchOptions {
  readonly models: readonly string[];
  readonly batches: readonly number[];
  readonly threads: readonly number[];
  /** Measurements of a figure, after one that is not counted. */
  readonly repeat: number;
}

export interface Suite {
  readonly name: string;
  /** Models it runs on; none where it needs none. */
  readonly models: readonly string[];
  run(options: BenchOptions, onResult: (result: Result) => void): Promise<void>;
}
