/**
 * Vectors over Fr in WebAssembly memory. Each method equals the plain formula in its comment over the reference
 * prover/field/fr.ts; the tests hold that.
 *
 * A vector is a handle; the arena owns its memory (memory.ts). An element is 36 bytes in the normal form of
 * build/field-code.ts, so two equal vectors need not have equal bytes: compare with `equal`. Where a method takes `out`,
 * it may be one of the inputs; without it a new vector is allocated. Integers i8, i16 and i32 stand for v mod r.
 */
import { AssayError } from '../../common/errors.js';
import { toField } from '../field/fr.js';
import { FR_MODULUS } from '../field/bn254.params.js';
import type { Core } from './arithmetic.js';
import type { Argument } from './thread-pool.js';

/** `length` elements of Fr. */
export interface FrVector {
  readonly pointer: number;
  readonly length: number;
  /** Tells it from an IntVector, which is no vector of elements. */
  readonly kind?: undefined;
}

export type IntKind = 'I8' | 'I16' | 'I32' | 'F64';
export type IntArray = Int8Array | Int16Array | Int32Array | Float64Array;

/** `length` signed integers as they lie in a typed array; F64 holds integers below 2^53 in magnitude. */
export interface IntVector {
  readonly pointer: number;
  readonly length: number;
  readonly kind: IntKind;
}

/** Entries (k, s, w) of a matrix along one axis: out row `k` takes `w` times in row `s`. */
export interface SparseMatrix {
  readonly rows: Uint32Array;
  readonly columns: Uint32Array;
  readonly weights: FrVector;
}

/** Shape [pre, axis, post] of a vector seen along one axis, row-major. */
export interface AxisShape {
  readonly pre: number;
  readonly outAxis: number;
  readonly inAxis: number;
  readonly post: number;
}

export const ELEMENT_BYTES = 36;
export const SCALAR_BYTES = 32;
const INT_BYTES: Readonly<Record<IntKind, number>> = { I8: 1, I16: 2, I32: 4, F64: 8 };
/** Bytes of an integer of that kind. */
export const intBytes = (kind: IntKind): number => INT_BYTES[kind];
/** Positions of a chunk: some tens of microseconds of work, so that sharing it out costs little. */
const GRAIN = 2048;
/** A chunk of inverses costs one inversion (8 us) and three products an element. */
const INVERT_GRAIN = 2048;

const WORD = 0xffff_ffff_ffff_ffffn;

export const intKindOf = (values: IntArray): IntKind =>
  values instanceof Int8Array
    ? 'I8'
    : values instanceof Int16Array
      ? 'I16'
      : values instanceof Int32Array
        ? 'I32'
        : 'F64';

/** Part [start, end) of a vector, sharing its memory. */
export function sliceVector(v: FrVector, start: number, end: number): FrVector {
  if (start < 0 || end < start || end > v.length)
    throw new AssayError('INTERNAL', `slice ${start}..${end} of a vector of ${v.length}`);
  return { pointer: v.pointer + start * ELEMENT_BYTES, length: end - start };
}

/** An argument that points to the element of the position. */
export const each = (v: FrVector): Argument => ({ base: v.pointer, perPosition: ELEMENT_BYTES });
export const eachInt = (v: IntVector, start = 0): Argument => {
  const bytes = INT_BYTES[v.kind];
  return { base: v.pointer + start * bytes, perPosition: bytes };
};

function ensure(condition: boolean, what: string): void {
  if (!condition) throw new AssayError('INTERNAL', `prover vectors: ${what}`);
}

function ensureLength(v: { readonly length: number }, length: number, what: string): void {
  if (v.length !== length) throw new AssayError('INTERNAL', `${what} has ${v.length} elements, expected ${length}`);
}

/** Half of an even length. */
function halfOf(length: number): number {
  ensure(length >= 2 && length % 2 === 0, `${length} elements have no top variable`);
  return length / 2;
}

export class FrVectors {
  constructor(private readonly core: Core) {}

  // ---- in and out

  /** A vector of unspecified content. */
  allocate(length: number): FrVector {
    return { pointer: this.core.memory.allocate(length * ELEMENT_BYTES), length };
  }

  zeros(length: number): FrVector {
    const v = this.allocate(length);
    this.core.memory.bytes.fill(0, v.pointer, v.pointer + length * ELEMENT_BYTES);
    return v;
  }

  /** Any integers, taken mod r. */
  fromBigInts(values: readonly bigint[], out = this.allocate(values.length)): FrVector {
    ensureLength(out, values.length, 'output');
    const { memory } = this.core;
    return memory.scoped(() => {
      const bytes = memory.allocate(values.length * SCALAR_BYTES);
      const { view } = memory;
      values.forEach((value, i) => {
        const reduced = value >= 0n && value < FR_MODULUS ? value : toField(value);
        for (let word = 0; word < 4; word++)
          view.setBigUint64(bytes + i * SCALAR_BYTES + 8 * word, (reduced >> BigInt(192 - 64 * word)) & WORD);
      });
      this.#convert(bytes, out);
      return out;
    });
  }

  toBigInts(v: FrVector): bigint[] {
    const { memory, pool } = this.core;
    return memory.scoped(() => {
      const bytes = memory.allocate(v.length * SCALAR_BYTES);
      pool.run('frToBytes', v.length, GRAIN, [{ base: bytes, perPosition: SCALAR_BYTES }, each(v)]);
      const { view } = memory;
      return Array.from({ length: v.length }, (_, i) => {
        const at = bytes + i * SCALAR_BYTES;
        return (
          (view.getBigUint64(at) << 192n) |
          (view.getBigUint64(at + 8) << 128n) |
          (view.getBigUint64(at + 16) << 64n) |
          view.getBigUint64(at + 24)
        );
      });
    });
  }

  /**
   * @param bytes 32 bytes big endian an element.
   * @throws AssayError FIELD_ELEMENT_INVALID naming the first element that is not below r, or a wrong length.
   */
  fromBytes(bytes: Uint8Array): FrVector {
    const { memory } = this.core;
    if (bytes.length % SCALAR_BYTES !== 0)
      throw new AssayError('FIELD_ELEMENT_INVALID', `${bytes.length} bytes are no whole number of 32-byte scalars`);
    const out = this.allocate(bytes.length / SCALAR_BYTES);
    memory.scoped(() => {
      const pointer = memory.allocate(bytes.length);
      memory.bytes.set(bytes, pointer);
      this.#convert(pointer, out);
    });
    return out;
  }

  /** 32 bytes big endian an element, canonical. */
  toBytes(v: FrVector): Uint8Array {
    const { memory, pool } = this.core;
    return memory.scoped(() => {
      const pointer = memory.allocate(v.length * SCALAR_BYTES);
      pool.run('frToBytes', v.length, GRAIN, [{ base: pointer, perPosition: SCALAR_BYTES }, each(v)]);
      return memory.bytes.slice(pointer, pointer + v.length * SCALAR_BYTES);
    });
  }

  /** Copies integers into the memory as they are, for the kernels that take small integers. */
  ints(values: IntArray): IntVector {
    const { memory } = this.core;
    if (values instanceof Float64Array)
      ensure(values.every(Number.isSafeInteger), 'a number is no integer below 2^53 in magnitude');
    const pointer = memory.allocate(values.byteLength);
    memory.bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), pointer);
    return { pointer, length: values.length, kind: intKindOf(values) };
  }

  /** Signed integers as field elements. */
  fromInts(values: IntArray | IntVector): FrVector {
    const out = this.allocate(values.length);
    this.core.memory.scoped(() => {
      const ints = 'kind' in values ? values : this.ints(values);
      this.core.pool.run(`frFrom${ints.kind}`, ints.length, GRAIN, [each(out), eachInt(ints)]);
    });
    return out;
  }

  /** The element at index i. */
  at(v: FrVector, i: number): bigint {
    return this.toBigInts(sliceVector(v, i, i + 1))[0]!;
  }

  copy(v: FrVector, out = this.allocate(v.length)): FrVector {
    ensureLength(out, v.length, 'output');
    this.core.memory.bytes.copyWithin(out.pointer, v.pointer, v.pointer + v.length * ELEMENT_BYTES);
    return out;
  }

  // ---- element by element

  /** a_i + b_i */
  add(a: FrVector, b: FrVector, out = this.allocate(a.length)): FrVector {
    return this.#pairwise('frAdd', a, b, out);
  }

  /** a_i - b_i */
  sub(a: FrVector, b: FrVector, out = this.allocate(a.length)): FrVector {
    return this.#pairwise('frSub', a, b, out);
  }

  /** a_i b_i */
  mul(a: FrVector, b: FrVector, out = this.allocate(a.length)): FrVector {
    return this.#pairwise('frMul', a, b, out);
  }

  /** a_i^2 */
  square(a: FrVector, out = this.allocate(a.length)): FrVector {
    ensureLength(out, a.length, 'output');
    this.core.pool.run('frSqr', a.length, GRAIN, [each(out), each(a)]);
    return out;
  }

  /** c a_i */
  scale(c: bigint, a: FrVector, out = this.allocate(a.length)): FrVector {
    return this.#withScalar('frScale', out, c, a);
  }

  /** a_i + c */
  addScalar(c: bigint, a: FrVector, out = this.allocate(a.length)): FrVector {
    return this.#withScalar('frAddScalar', out, c, a);
  }

  /** acc_i += c v_i; v may be small integers. */
  axpy(acc: FrVector, c: bigint, v: FrVector | IntVector): void {
    if (v.kind === undefined) {
      this.#withScalar('frAxpy', acc, c, v);
      return;
    }
    ensureSmall(v);
    ensureLength(v, acc.length, 'integer vector');
    this.#scoped([c], ([factor]) =>
      this.core.pool.run(`frAxpy${v.kind}`, v.length, GRAIN, [each(acc), factor, eachInt(v)]),
    );
  }

  // ---- sums

  /** sum of a_i */
  sum(a: FrVector): bigint {
    return this.#total('frSum', a.length, [each(a)]);
  }

  /** sum of a_i b_i; a may be small integers. */
  dot(a: FrVector | IntVector, b: FrVector): bigint {
    ensureLength(a, b.length, 'left vector');
    if (a.kind === undefined) return this.#total('frDot', b.length, [each(a), each(b)]);
    return this.core.memory.scoped(() => this.at(this.dotRows(a, 1, b.length, b), 0));
  }

  /**
   * out_i = sum over j of a[i, j] v_j for a matrix of small integers, row-major [rows, columns], v of `columns`.
   */
  dotRows(a: IntVector, rows: number, columns: number, v: FrVector, out = this.allocate(rows)): FrVector {
    ensureLength(v, columns, 'vector');
    return this.#dotMatrix(a, rows, columns, out, { count: rows, step: columns }, { vector: v, step: 1 });
  }

  /**
   * out_j = sum over i of v_i a[i, j] for a matrix of small integers, row-major [rows, columns], v of `rows`.
   */
  dotColumns(a: IntVector, rows: number, columns: number, v: FrVector, out = this.allocate(columns)): FrVector {
    ensureLength(v, rows, 'vector');
    return this.#dotMatrix(a, rows, columns, out, { count: columns, step: 1 }, { vector: v, step: columns });
  }

  // ---- tables and products of axes

  /**
   * scale * eq(point, x) for all x in {0,1}^k, point[0] belonging to the most significant bit of the index.
   */
  expandEq(point: readonly bigint[], scale = 1n): FrVector {
    const out = this.allocate(2 ** point.length);
    this.fromBigInts([scale], sliceVector(out, 0, 1));
    // From the last variable to the first: each new one becomes the top bit of the table so far.
    let size = 1;
    for (const z of [...point].reverse()) {
      const [low, high] = [sliceVector(out, 0, size), sliceVector(out, size, 2 * size)];
      this.#scoped([z], ([factor]) => this.core.pool.run('frSplit', size, GRAIN, [each(low), each(high), factor]));
      size *= 2;
    }
    return out;
  }

  /** [1, base, base^2, ...], `count` of them. */
  powers(base: bigint, count: number): FrVector {
    const out = this.allocate(count);
    if (count > 0) this.fromBigInts([1n], sliceVector(out, 0, 1));
    let step = toField(base);
    for (let size = 1; size < count; size *= 2) {
      const taken = Math.min(size, count - size);
      this.scale(step, sliceVector(out, 0, taken), sliceVector(out, size, size + taken));
      step = (step * step) % FR_MODULUS;
    }
    return out;
  }

  /** out[i |b| + j] = a_i b_j */
  outer(a: FrVector, b: FrVector, out = this.allocate(a.length * b.length)): FrVector {
    ensureLength(out, a.length * b.length, 'output');
    const row = { base: out.pointer, perPosition: ELEMENT_BYTES * b.length };
    this.core.pool.run('frOuter', a.length, rowGrain(b.length), [row, each(a), b.pointer, b.length]);
    return out;
  }

  /** acc[i |b| + j] += c a_i b_j */
  outerAccumulate(acc: FrVector, c: bigint, a: FrVector, b: FrVector): void {
    ensureLength(acc, a.length * b.length, 'accumulator');
    const row = { base: acc.pointer, perPosition: ELEMENT_BYTES * b.length };
    this.#scoped([c], ([factor]) =>
      this.core.pool.run('frOuterAccumulate', a.length, rowGrain(b.length), [
        row,
        factor,
        each(a),
        b.pointer,
        b.length,
      ]),
    );
  }

  /**
   * acc[p, k, q] += sum over entries (k, s, w) of w input[p, s, q]: a sparse matrix along the middle axis.
   * acc has shape [pre, outAxis, post], input [pre, inAxis, post]; input may be small integers.
   */
  sparseAlongAxis(acc: FrVector, input: FrVector | IntVector, matrix: SparseMatrix, shape: AxisShape): void {
    const { pre, outAxis, inAxis, post } = shape;
    const { rows, columns, weights } = matrix;
    ensureLength(acc, pre * outAxis * post, 'accumulator');
    ensureLength(input, pre * inAxis * post, 'input');
    ensureLength(rows, weights.length, 'row list');
    ensureLength(columns, weights.length, 'column list');
    ensure(
      rows.every((k) => k < outAxis) && columns.every((s) => s < inAxis),
      `an entry lies outside the matrix of ${outAxis} x ${inAxis}`,
    );
    if (input.kind !== undefined) ensureSmall(input);
    const { memory, pool } = this.core;
    const name = input.kind !== undefined ? `frSparse${input.kind}` : 'frSparse';
    const inBytes = input.kind !== undefined ? INT_BYTES[input.kind] : ELEMENT_BYTES;
    const outStep = outAxis * post * ELEMENT_BYTES;
    const inStep = inAxis * post * inBytes;
    memory.scoped(() => {
      const entries = memory.allocate(8 * weights.length);
      const { view } = memory;
      for (let e = 0; e < weights.length; e++) {
        view.setUint32(entries + 8 * e, rows[e]!, true);
        view.setUint32(entries + 8 * e + 4, columns[e]!, true);
      }
      const list = [entries, weights.pointer, weights.length];
      const steps = [outStep, inStep, post * ELEMENT_BYTES, post * inBytes];
      const perPosition = (outBytes: number, bytes: number): Argument[] => [
        { base: acc.pointer, perPosition: outBytes },
        { base: input.pointer, perPosition: bytes },
      ];
      // Threads take positions of the longer outer axis: no two of them write one element.
      if (pre > post) {
        const grain = Math.max(1, Math.ceil(GRAIN / Math.max(1, weights.length * post)));
        pool.run(`${name}Pre`, pre, grain, [...perPosition(outStep, inStep), ...list, ...steps, post]);
      } else {
        const grain = Math.max(1, Math.ceil(GRAIN / Math.max(1, weights.length * pre)));
        pool.run(name, post, grain, [...perPosition(ELEMENT_BYTES, inBytes), ...list, ...steps, pre]);
      }
    });
  }

  /** Binds the top variable: out_i = a_i + c (a_{i+half} - a_i). By default in place: the result is a's first half. */
  fold(a: FrVector, c: bigint, out = sliceVector(a, 0, halfOf(a.length))): FrVector {
    const half = halfOf(a.length);
    ensureLength(out, half, 'output');
    const [low, high] = [sliceVector(a, 0, half), sliceVector(a, half, a.length)];
    this.#scoped([c], ([factor]) =>
      this.core.pool.run('frFold', half, GRAIN, [each(out), each(low), each(high), factor]),
    );
    return out;
  }

  /** As `fold`, of small integers into a new vector. */
  foldInts(a: IntVector, c: bigint): FrVector {
    ensureSmall(a);
    const half = halfOf(a.length);
    const out = this.allocate(half);
    this.#scoped([1n - c, c], ([rest, factor]) =>
      this.core.pool.run(`frFold${a.kind}`, half, GRAIN, [each(out), eachInt(a), eachInt(a, half), rest, factor]),
    );
    return out;
  }

  /**
   * a_i = 1/a_i in place; zeros stay zero.
   * @returns the index of the first zero, or null.
   */
  invert(a: FrVector): number | null {
    const { memory, pool } = this.core;
    return memory.scoped(() => {
      const prefix = this.allocate(a.length);
      const found = this.#firstOf(a.length, INVERT_GRAIN, (result) =>
        pool.run('frInvert', a.length, INVERT_GRAIN, [result, each(a), each(prefix)]),
      );
      return found === a.length ? null : found;
    });
  }

  /** Do a and b stand for the same elements? */
  equal(a: FrVector, b: FrVector): boolean {
    if (a.length !== b.length) return false;
    return (
      this.#firstOf(a.length, GRAIN, (result) =>
        this.core.pool.run('frFirstDifference', a.length, GRAIN, [result, each(a), each(b)]),
      ) === a.length
    );
  }

  isZero(a: FrVector): boolean {
    return this.core.memory.scoped(() => this.equal(a, this.zeros(a.length)));
  }

  // ---- shared by the above

  /** Canonical bytes in memory into elements. @throws AssayError FIELD_ELEMENT_INVALID */
  #convert(bytes: number, out: FrVector): void {
    const source = { base: bytes, perPosition: SCALAR_BYTES };
    const first = this.#firstOf(out.length, GRAIN, (result) =>
      this.core.pool.run('frFromBytes', out.length, GRAIN, [result, each(out), source]),
    );
    if (first !== out.length)
      throw new AssayError('FIELD_ELEMENT_INVALID', `scalar ${first} is not below the order r of the field`, {
        meta: { index: first },
      });
  }

  /** Runs a kernel that writes for each chunk an index within it, or the chunk's length; the first index found, or n. */
  #firstOf(n: number, grain: number, run: (result: Argument) => void): number {
    const { memory } = this.core;
    return memory.scoped(() => {
      const chunks = Math.ceil(n / grain);
      const results = memory.allocate(4 * chunks);
      run({ base: results, perChunk: 4 });
      for (let chunk = 0; chunk < chunks; chunk++) {
        const index = memory.view.getUint32(results + 4 * chunk, true);
        if (index < Math.min(grain, n - chunk * grain)) return chunk * grain + index;
      }
      return n;
    });
  }

  /** Sum over the chunks of what the kernel writes for each. */
  #total(name: string, n: number, args: readonly Argument[]): bigint {
    const { memory, pool } = this.core;
    return memory.scoped(() => {
      const parts = this.allocate(Math.ceil(n / GRAIN));
      pool.run(name, n, GRAIN, [{ base: parts.pointer, perChunk: ELEMENT_BYTES }, ...args]);
      return toField(this.toBigInts(parts).reduce((sum, part) => sum + part, 0n));
    });
  }

  #pairwise(name: string, a: FrVector, b: FrVector, out: FrVector): FrVector {
    ensureLength(b, a.length, 'second vector');
    ensureLength(out, a.length, 'output');
    this.core.pool.run(name, a.length, GRAIN, [each(out), each(a), each(b)]);
    return out;
  }

  #withScalar(name: string, out: FrVector, c: bigint, a: FrVector): FrVector {
    ensureLength(out, a.length, 'output');
    this.#scoped([c], ([factor]) => this.core.pool.run(name, a.length, GRAIN, [each(out), factor, each(a)]));
    return out;
  }

  #dotMatrix(
    a: IntVector,
    rows: number,
    columns: number,
    out: FrVector,
    results: { readonly count: number; readonly step: number },
    terms: { readonly vector: FrVector; readonly step: number },
  ): FrVector {
    ensureSmall(a);
    ensureLength(a, rows * columns, 'matrix');
    ensureLength(out, results.count, 'output');
    const bytes = INT_BYTES[a.kind];
    const { vector, step } = terms;
    this.core.pool.run(`frDotRows${a.kind}`, results.count, rowGrain(vector.length), [
      each(out),
      { base: a.pointer, perPosition: results.step * bytes },
      results.step * bytes,
      step * bytes,
      vector.pointer,
      vector.length,
    ]);
    return out;
  }

  /** Runs `work` with pointers to the scalars. */
  #scoped(scalars: readonly bigint[], work: (pointers: readonly [number, ...number[]]) => void): void {
    const { memory } = this.core;
    memory.scoped(() => {
      const { pointer } = this.fromBigInts(scalars);
      work(scalars.map((_, i) => pointer + i * ELEMENT_BYTES) as [number, ...number[]]);
    });
  }
}

function ensureSmall(v: IntVector): void {
  ensure(v.kind !== 'F64', 'integers of 53 bits have no kernel of their own: import them with fromInts');
}

/** Rows of a chunk, for rows of so many elements. */
const rowGrain = (length: number): number => Math.max(1, Math.ceil(GRAIN / Math.max(1, length)));
