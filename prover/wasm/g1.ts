/**
 * Points of BN254 G1 in WebAssembly memory, and sums of multiples of them.
 *
 * Outside, a point is 64 bytes x | y big endian, 64 zero bytes for infinity; results have that one form whatever the
 * number of threads. The algorithms and their source are in assembly/msm.ts.
 */
import { AssayError } from '../../common/errors.js';
import type { Core } from './arithmetic.js';
import { ELEMENT_BYTES, eachInt, type FrVector, type IntVector } from './fr-vectors.js';
import type { Argument } from './thread-pool.js';

/** `length` affine points. */
export interface PointVector {
  readonly pointer: number;
  readonly length: number;
}

export const POINT_BYTES = 64;
const AFFINE_BYTES = 72;
const EXTENDED_BYTES = 144;

/** The generator (1, 2). */
export const G1_GENERATOR: Uint8Array = Uint8Array.from({ length: POINT_BYTES }, (_, i) =>
  i === 31 ? 1 : i === 63 ? 2 : 0,
);

/** Positions of a chunk. */
const GRAIN = 2048;
/** Bits of r: a full scalar needs one more for the sign of its digits. */
const SCALAR_BITS = 254;
/** Digits are i16. */
const WIDEST_WINDOW = 15;
/** Work space of a task is 72 bytes a point: parts bound it, at the price of one more bucket reduction each. */
const LARGEST_PART = 2 ** 17;
/** Measured: an addition in a batch; a bucket, two additions in extended form; both in nanoseconds. */
const ADDITION_NS = 215;
const BUCKET_NS = 650;
/** Table of the fixed base: 32 windows of 128 multiples are 300 KB and fit the second-level cache. */
const FIXED_WIDTH = 8;

/** How scalars are cut into digits. */
interface Windows {
  /** Bits of a window. */
  readonly width: number;
  readonly count: number;
  /** Largest magnitude of a digit. */
  readonly buckets: number;
}

const windowsOf = (width: number, bits: number): Windows => ({
  width,
  count: Math.floor(bits / width) + 1,
  buckets: 2 ** (width - 1),
});

/** Cheapest windows for so many points, whose scalars reach a magnitude of `bits` bits or, if given, `magnitude`. */
function chooseWindows(points: number, bits: number, magnitude = Infinity): Windows {
  const costNs = ({ count, buckets }: Windows): number => count * (points * ADDITION_NS + buckets * BUCKET_NS);
  const choices = Array.from({ length: WIDEST_WINDOW }, (_, i) => windowsOf(i + 1, bits));
  // One bucket for each magnitude: one window, as wide as the digits' type allows.
  if (magnitude < 2 ** WIDEST_WINDOW) choices.push({ width: WIDEST_WINDOW + 1, count: 1, buckets: magnitude });
  return choices.reduce((best, choice) => (costNs(choice) < costNs(best) ? choice : best));
}

export class G1 {
  constructor(private readonly core: Core) {}

  /**
   * @param bytes 64 bytes a point.
   * @throws AssayError POINT_INVALID naming the first point that is not canonical or not on the curve, or a wrong length.
   */
  fromBytes(bytes: Uint8Array): PointVector {
    const { memory, pool } = this.core;
    if (bytes.length % POINT_BYTES !== 0)
      throw new AssayError('POINT_INVALID', `${bytes.length} bytes are no whole number of 64-byte points`);
    const length = bytes.length / POINT_BYTES;
    const out = { pointer: memory.allocate(length * AFFINE_BYTES), length };
    memory.scoped(() => {
      const source = memory.allocate(bytes.length);
      memory.bytes.set(bytes, source);
      const chunks = Math.ceil(length / GRAIN);
      const results = memory.allocate(4 * chunks);
      pool.run('g1FromBytes', length, GRAIN, [
        { base: results, perChunk: 4 },
        eachPoint(out),
        { base: source, perPosition: POINT_BYTES },
      ]);
      for (let chunk = 0; chunk < chunks; chunk++) {
        const valid = memory.view.getUint32(results + 4 * chunk, true);
        const index = chunk * GRAIN + valid;
        if (valid < Math.min(GRAIN, length - chunk * GRAIN))
          throw new AssayError('POINT_INVALID', `point ${index} is not canonical or not on the curve`, {
            meta: { index },
          });
      }
    });
    return out;
  }

  toBytes(points: PointVector): Uint8Array {
    const { memory, pool } = this.core;
    return memory.scoped(() => {
      const size = points.length * POINT_BYTES;
      const target = memory.allocate(size);
      pool.run('g1ToBytes', points.length, GRAIN, [{ base: target, perPosition: POINT_BYTES }, eachPoint(points)]);
      return memory.bytes.slice(target, target + size);
    });
  }

  /**
   * sum of scalars_i points_i. Small signed integers cost by their largest magnitude, zeros nothing.
   * @param scalars as many as points.
   * @returns the point's 64 bytes.
   */
  msm(points: PointVector, scalars: FrVector | IntVector): Uint8Array {
    if (scalars.length !== points.length)
      throw new AssayError('INTERNAL', `${scalars.length} scalars for ${points.length} points`);
    const { memory } = this.core;
    return memory.scoped(() => {
      if (scalars.kind === undefined) return this.#sum(points, scalars, chooseWindows(points.length, SCALAR_BITS));
      const { largest, nonzero } = this.#measure(scalars);
      if (nonzero === 0) return new Uint8Array(POINT_BYTES);
      const bits = Math.floor(Math.log2(largest)) + 1;
      return this.#sum(points, scalars, chooseWindows(nonzero, bits, largest));
    });
  }

  /** Affine scalars_i base for every i. @param base 64 bytes. @throws AssayError POINT_INVALID */
  multiplesOf(base: Uint8Array, scalars: FrVector): PointVector {
    const { memory, pool } = this.core;
    const out = { pointer: memory.allocate(scalars.length * AFFINE_BYTES), length: scalars.length };
    memory.scoped(() => {
      const windows = windowsOf(FIXED_WIDTH, SCALAR_BITS);
      const entries = windows.count * windows.buckets;
      const table = { pointer: memory.allocate(entries * AFFINE_BYTES), length: entries };
      memory.scoped(() => {
        const extended = memory.allocate(entries * EXTENDED_BYTES);
        const prefix = memory.allocate(entries * ELEMENT_BYTES);
        pool.kernels.g1Table!(extended, this.fromBytes(base).pointer, windows.width, windows.count);
        pool.kernels.g1Normalise!(table.pointer, extended, prefix, entries);
      });
      const digits = this.#digits(scalars, windows);
      const work = this.#work(pool.kernels.g1FixedBaseWork!());
      pool.run('g1FixedBase', scalars.length, pool.kernels.g1BatchSize!(), [
        eachPoint(out),
        { base: digits, perPosition: 2 },
        scalars.length,
        table.pointer,
        windows.width,
        windows.count,
        work,
      ]);
    });
    return out;
  }

  // ---- shared by the above

  #measure(scalars: IntVector): { readonly largest: number; readonly nonzero: number } {
    const { memory, pool } = this.core;
    return memory.scoped(() => {
      const chunks = Math.ceil(scalars.length / GRAIN);
      const results = memory.allocate(16 * chunks);
      pool.run(`g1Measure${scalars.kind}`, scalars.length, GRAIN, [{ base: results, perChunk: 16 }, eachInt(scalars)]);
      let [largest, nonzero] = [0, 0];
      for (let chunk = 0; chunk < chunks; chunk++) {
        largest = Math.max(largest, memory.view.getFloat64(results + 16 * chunk, true));
        nonzero += memory.view.getFloat64(results + 16 * chunk + 8, true);
      }
      return { largest, nonzero };
    });
  }

  /** A row of i16 digits for each window. */
  #digits(scalars: FrVector | IntVector, { width, count }: Windows): number {
    const { memory, pool } = this.core;
    const total = scalars.length;
    const digits = memory.allocate(2 * count * total);
    const [name, source] =
      scalars.kind !== undefined
        ? [`g1Digits${scalars.kind}`, eachInt(scalars)]
        : ['g1DigitsField', { base: scalars.pointer, perPosition: ELEMENT_BYTES }];
    pool.run(name, total, GRAIN, [{ base: digits, perPosition: 2 }, source, total, width, count]);
    return digits;
  }

  /** Work space of so many bytes for each thread. */
  #work(bytes: number): Argument {
    const { memory, pool } = this.core;
    const aligned = Math.ceil(bytes / 64) * 64;
    return { base: memory.allocate(aligned * pool.threads), perThread: aligned };
  }

  #sum(points: PointVector, scalars: FrVector | IntVector, windows: Windows): Uint8Array {
    const { memory, pool } = this.core;
    const total = points.length;
    if (total === 0) return new Uint8Array(POINT_BYTES);
    const digits = this.#digits(scalars, windows);
    // Enough tasks for all threads: windows alone may be fewer.
    const wanted = Math.max(Math.ceil(pool.threads / windows.count), Math.ceil(total / LARGEST_PART));
    const partSize = Math.ceil(total / wanted);
    const parts = Math.ceil(total / partSize);
    const tasks = windows.count * parts;
    const results = memory.allocate(EXTENDED_BYTES * tasks);
    const work = this.#work(pool.kernels.g1WindowWork!(partSize, windows.buckets) >>> 0);
    pool.run('g1Windows', tasks, 1, [
      { base: 0, perPosition: 1 },
      results,
      points.pointer,
      digits,
      total,
      parts,
      partSize,
      windows.buckets,
      work,
    ]);
    const out = memory.allocate(POINT_BYTES);
    pool.kernels.g1Combine!(out, results, windows.count, parts, windows.width);
    return memory.bytes.slice(out, out + POINT_BYTES);
  }
}

const eachPoint = (points: PointVector): Argument => ({ base: points.pointer, perPosition: AFFINE_BYTES });
