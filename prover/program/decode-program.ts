/**
 * The inverse of encode-program.ts, for bytes that nobody vouches for: a key may come from anywhere, and its hash is
 * compared only after it was read. So everything that the verifier relies on is checked here, and nothing in the bytes
 * can make it crash, loop or allocate beyond a small multiple of their number:
 *
 *   1. every count is at most the bytes that are left; numbers lie in the range of their use
 *   2. slots: sides from 1, at most 2^30 padded cells in all; each witness slot is defined exactly once, as an input, a
 *      requantisation or a maximum, and reads only slots before it, so that the program is a function
 *   3. blocks: every axis of side above 1 stands in exactly one block, entries are sorted, in range and not zero
 *   4. products: every label is shared, contracted, or an output of one operand; no output block mixes these
 *   5. the work of a verifier, counted by verifier/check-cost.ts, stays below a fixed number of steps
 *   6. encoding the result gives the same bytes again, so that there is one encoding of a program
 */
import { AssayError } from '../../common/errors.js';
import { sizeOf } from '../../graph/tensor.js';
import { MAX_VERIFIER_STEPS, verifierSteps } from '../verifier/check-cost.js';
import { MAX_ENTRIES, type Block, type Entry } from './blocks.js';
import { encodeProgram } from './encode-program.js';
import { bitsOfAxes, placeSlots } from './layout.js';
import { MAX_COLUMN_BITS, MIN_COLUMN_BITS } from './model-bits.js';
import { tableCells } from './tables.js';
import {
  MAX_TAPS,
  type Expression,
  type InputSlot,
  type LinearTerm,
  type MaxSlot,
  type Operand,
  type Product,
  type Program,
  type Source,
  type Table,
} from './types.js';

/** A thousand times the program of LeNet-5. */
export const MAX_PROGRAM_BYTES = 1 << 22;
/** Tables are compared pair by pair when they are placed. */
const MAX_TABLES = 512;
/** Slots, terms, products, outputs: a network of ten thousand nodes has fewer. */
const MAX_LIST = 1 << 16;
const MAX_RANK = 16;
const MAX_SIDE = 2 ** 24;
const MAX_SLOT_BITS = 30;
const MAX_COLUMNS = 64;
const INT32 = 2 ** 31;
/** Magnitude of a coefficient: products of a few multipliers. */
const MAX_COEFFICIENT = 1n << 128n;
const MAX_INPUT_VALUES = 1 << 16;
const MIN_TAPS = 2;

const refuse = (message: string): AssayError => new AssayError('MODEL_KEY_INVALID', `shape program: ${message}`);

class Reader {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  /** Unsigned LEB128 of at most `limit`. */
  big(what: string, limit: bigint): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (this.left === 0) throw refuse(`ends inside ${what}`);
      const byte = this.bytes[this.at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (value > limit) throw refuse(`${what} is above ${limit}`);
      if (byte < 0x80) return value;
      // Without this, a run of 0x80 would be read to its end for each number.
      if (shift > 140n) throw refuse(`${what} is not in its shortest form`);
    }
  }

  /** An integer from 0 to `limit`. */
  number(what: string, limit: number): number {
    return Number(this.big(what, BigInt(limit)));
  }

  /** Zigzag-mapped, of at most that magnitude. */
  signedBig(what: string, magnitude: bigint): bigint {
    const value = this.big(what, 2n * magnitude);
    return value % 2n === 0n ? value / 2n : -(value + 1n) / 2n;
  }

  signed(what: string, magnitude: number): number {
    return Number(this.signedBig(what, BigInt(magnitude)));
  }

  list<T>(what: string, read: (index: number) => T, limit = MAX_LIST): T[] {
    // Every item takes a byte at least.
    const count = this.number(`the number of ${what}`, Math.min(this.left, limit));
    return Array.from({ length: count }, (_, i) => read(i));
  }

  numbers(what: string, limit: number): number[] {
    return this.list(what, () => this.number(what, limit), MAX_RANK);
  }
}

/** What terms may read. */
interface Spaces {
  readonly witness: readonly (readonly number[])[];
  readonly model: readonly (readonly number[])[];
  /** Witness slots below this one may be read. */
  readonly readable: number;
}

/**
 * @throws AssayError MODEL_KEY_INVALID naming what is wrong.
 */
export function decodeProgram(bytes: Uint8Array): Program {
  if (bytes.length > MAX_PROGRAM_BYTES) throw refuse(`${bytes.length} bytes; at most ${MAX_PROGRAM_BYTES}`);
  const input = new Reader(bytes);
  const modelBits = input.number('log2 of a column', MAX_COLUMN_BITS);
  if (modelBits < MIN_COLUMN_BITS) throw refuse(`columns of 2^${modelBits} cells; at least 2^${MIN_COLUMN_BITS}`);
  const witness = input.list('witness slots', (i) => ({ name: `witness ${i}`, axes: readAxes(input) }));
  const model = input.list('model slots', (i) => ({ name: `model ${i}`, axes: readAxes(input) }));
  // The columns of no cells would have 2^32 chunks (bitsOf(0)).
  if (witness.length === 0) throw refuse('it has no witness');
  const spaces: Spaces = {
    witness: witness.map(({ axes }) => axes),
    model: model.map(({ axes }) => axes),
    readable: witness.length,
  };
  const tables = input.list('tables', () => readTable(input, spaces), MAX_TABLES);
  const defined = new Set<number>();
  /** The slot that a definition is about; its own expression reads the slots before it. */
  const define = (what: string): { slot: number; axes: readonly number[]; reads: Spaces } => {
    const slot = indexBelow(input, `slot of ${what}`, witness.length);
    if (defined.has(slot)) throw refuse(`witness slot ${slot} is defined twice`);
    defined.add(slot);
    return { slot, axes: spaces.witness[slot]!, reads: { ...spaces, readable: slot } };
  };
  const tableOf = (what: string, kinds: readonly Table['kind'][]): number => {
    const table = indexBelow(input, `table of ${what}`, tables.length);
    if (!kinds.includes(tables[table]!.kind))
      throw refuse(`the table of ${what} is a table of kind ${tables[table]!.kind}`);
    return table;
  };
  const inputs = input.list('inputs', (): InputSlot => {
    const { slot } = define('an input');
    const table = tableOf('an input', ['input']);
    const { lo, hi } = tables[table] as Extract<Table, { kind: 'input' }>;
    const cellBits = input.number('bits of an input cell', 16);
    if (cellBits !== (hi - lo < 256 ? 8 : 16))
      throw refuse(`an input of ${hi - lo + 1} values in cells of ${cellBits} bits`);
    return { slot, table, cellBits: cellBits as 8 | 16 };
  });
  const requants = input.list('requantisations', () => {
    const { slot, axes, reads } = define('a requantisation');
    const table = tableOf('a requantisation', ['clamp', 'values']);
    return { slot, table, expression: readExpression(input, reads, axes) };
  });
  const maxima = input.list('maxima', (): MaxSlot => {
    const { slot, axes, reads } = define('a maximum');
    const taps = input.list('taps', () => readTerms(input, reads, axes), MAX_TAPS);
    if (taps.length < MIN_TAPS) throw refuse(`a maximum of ${taps.length} taps`);
    return { slot, taps };
  });
  if (defined.size !== witness.length) throw refuse(`${witness.length - defined.size} witness slots are not defined`);
  const outputs = input.list('outputs', () => {
    const range = readRange(input, 'an output');
    const axisPlusOne = input.number('arg-max axis', MAX_RANK);
    const expression = readExpression(input, spaces, null);
    if (axisPlusOne > expression.axes.length)
      throw refuse(`arg-max along axis ${axisPlusOne - 1} of ${expression.axes.length}`);
    return { range, expression, argMaxAxis: axisPlusOne === 0 ? null : axisPlusOne - 1 };
  });
  if (input.left > 0) throw refuse(`${input.left} bytes follow its end`);
  const program: Program = { witness, model, tables, inputs, requants, maxima, outputs, modelBits };
  checkColumns(program);
  const steps = verifierSteps(program, 1, modelBits);
  if (steps > MAX_VERIFIER_STEPS)
    throw refuse(`checking a proof would take ${steps} steps; at most ${MAX_VERIFIER_STEPS}`);
  const again = encodeProgram(program);
  if (again.length !== bytes.length || again.some((byte, i) => byte !== bytes[i]))
    throw refuse('is not in its canonical form');
  return program;
}

function indexBelow(input: Reader, what: string, count: number): number {
  const index = input.number(what, Number.MAX_SAFE_INTEGER);
  if (index >= count) throw refuse(`${what} is ${index}, there are ${count}`);
  return index;
}

function readAxes(input: Reader): readonly number[] {
  const axes = input.numbers('sides', MAX_SIDE);
  if (axes.includes(0)) throw refuse('a side is 0');
  if (bitsOfAxes(axes) > MAX_SLOT_BITS)
    throw refuse(`a tensor of shape [${axes.join(', ')}] takes more than 2^${MAX_SLOT_BITS} cells`);
  return axes;
}

function readRange(input: Reader, what: string): { lo: number; hi: number } {
  const lo = input.signed(`lowest value of ${what}`, INT32);
  const hi = input.signed(`highest value of ${what}`, INT32 - 1);
  if (lo > hi) throw refuse(`the range ${lo}..${hi} of ${what} is empty`);
  return { lo, hi };
}

function readTable(input: Reader, { model }: Spaces): Table {
  const kind = input.number('kind of a table', 2);
  if (kind === 1) {
    const qLo = input.signed('first quotient of a table', INT32);
    const rows = input.number('rows of a table', MAX_SIDE);
    const slot = indexBelow(input, 'slot of a table', model.length);
    if (rows < 1 || model[slot]!.length !== 1 || model[slot]![0] !== rows)
      throw refuse(`a table of ${rows} rows in a slot of shape [${model[slot]!.join(', ')}]`);
    return { kind: 'values', qLo, rows, slot };
  }
  const { lo, hi } = readRange(input, 'a table');
  if (kind === 2) {
    if (hi - lo >= MAX_INPUT_VALUES) throw refuse(`an input of ${hi - lo + 1} values; at most ${MAX_INPUT_VALUES}`);
    return { kind: 'input', lo, hi };
  }
  const { lo: qLo, hi: qHi } = readRange(input, 'quotients');
  return { kind: 'clamp', lo, hi, qLo, qHi };
}

/** @param expected the axes that the place of the expression asks for; null where any will do. */
function readExpression(input: Reader, spaces: Spaces, expected: readonly number[] | null): Expression {
  const axes = readAxes(input);
  if (expected !== null && !equal(axes, expected))
    throw refuse(`an expression of shape [${axes.join(', ')}] for a slot of shape [${expected.join(', ')}]`);
  return {
    axes,
    linear: readTerms(input, spaces, axes),
    products: input.list('products', () => readProduct(input, spaces, axes)),
  };
}

const readTerms = (input: Reader, spaces: Spaces, target: readonly number[]): LinearTerm[] =>
  input.list('terms', () => readTerm(input, spaces, target));

function readTerm(input: Reader, spaces: Spaces, target: readonly number[]): LinearTerm {
  const coefficient = input.signedBig('a coefficient', MAX_COEFFICIENT);
  const kind = input.number('kind of a source', 2);
  let source: Source = { kind: 'one' };
  let axes: readonly number[] = [];
  if (kind === 0) {
    const slot = indexBelow(input, 'the witness slot that is read', spaces.readable);
    [source, axes] = [{ kind: 'witness', slot }, spaces.witness[slot]!];
  } else if (kind === 1) {
    const slot = indexBelow(input, 'the model slot that is read', spaces.model.length);
    [source, axes] = [{ kind: 'model', slot }, spaces.model[slot]!];
  }
  return { coefficient, source, blocks: readBlocks(input, target, axes) };
}

function readProduct(input: Reader, spaces: Spaces, axes: readonly number[]): Product {
  const coefficient = input.signedBig('a coefficient', MAX_COEFFICIENT);
  const labels = readAxes(input);
  const outputLabels = readLabels(input, 'output labels', labels.length);
  const p = readOperand(input, spaces, labels);
  const q = readOperand(input, spaces, labels);
  if (!p.batched && !q.batched) throw refuse('a product in which nothing varies from item to item');
  const role = (label: number): string => {
    const [inP, inQ] = [p.labels.includes(label), q.labels.includes(label)];
    if (!inP && !inQ) throw refuse(`label ${label} of a product stands in no operand`);
    if (!(inP && inQ) && !outputLabels.includes(label))
      throw refuse(`label ${label} of a product is summed in one operand alone`);
    return inP && inQ ? 'shared' : inP ? 'p' : 'q';
  };
  const roles = labels.map((_, label) => role(label));
  // Labels that are contracted stand in no output: for the blocks they are axes of side 1.
  const outputSides = labels.map((side, label) => (outputLabels.includes(label) ? side : 1));
  const blocks = readBlocks(input, axes, outputSides);
  for (const { source } of blocks)
    if (new Set(source.map((label) => roles[label])).size > 1)
      throw refuse('an output block of a product mixes its operands');
  return { coefficient, labels, p, q, outputLabels, blocks };
}

function readOperand(input: Reader, spaces: Spaces, sides: readonly number[]): Operand {
  const labels = readLabels(input, 'labels of an operand', sides.length);
  const batched = input.number('batched', 1) === 1;
  const own = sides.map((side, label) => (labels.includes(label) ? side : 1));
  const terms = readTerms(input, spaces, own);
  if (!batched && terms.some(({ source }) => source.kind === 'witness'))
    throw refuse('an operand that is the same for all items reads the witness');
  return { labels, terms, batched };
}

function readLabels(input: Reader, what: string, count: number): number[] {
  const labels = input.numbers(what, MAX_RANK);
  if (labels.some((label, i) => label >= count || (i > 0 && label <= labels[i - 1]!)))
    throw refuse(`${what} [${labels.join(', ')}] must rise and be below ${count}`);
  return labels;
}

function readBlocks(input: Reader, target: readonly number[], source: readonly number[]): Block[] {
  const blocks = input.list('blocks', () => readBlock(input, target, source), 2 * MAX_RANK);
  const covered = (side: 'target' | 'source', sides: readonly number[]): void => {
    const axes = blocks.flatMap((block) => block[side]);
    if (new Set(axes).size !== axes.length) throw refuse(`an axis of a ${side} stands in two blocks`);
    sides.forEach((length, axis) => {
      if (length > 1 && !axes.includes(axis)) throw refuse(`axis ${axis} of a ${side} stands in no block`);
    });
  };
  covered('target', target);
  covered('source', source);
  // Weights of a view are multiplied as doubles.
  const largest = blocks.reduce(
    (product, { entries }) =>
      product * (entries ?? []).reduce((most, { weight }) => Math.max(most, Math.abs(weight)), 1),
    1,
  );
  if (largest > Number.MAX_SAFE_INTEGER) throw refuse('the coefficients of a view exceed 2^53');
  return blocks;
}

function readBlock(input: Reader, targetSpace: readonly number[], sourceSpace: readonly number[]): Block {
  const target = input.numbers('axes of a block', MAX_RANK);
  const source = input.numbers('axes of a block', MAX_RANK);
  const targetSides = input.numbers('sides of a block', MAX_SIDE);
  const sourceSides = input.numbers('sides of a block', MAX_SIDE);
  const check = (axes: readonly number[], sides: readonly number[], space: readonly number[]): void => {
    if (
      !equal(
        axes.map((axis) => space[axis] ?? 0),
        sides,
      ) ||
      sides.some((side) => side < 2)
    )
      throw refuse(
        `a block over axes [${axes.join(', ')}] of sides [${sides.join(', ')}] of a space [${space.join(', ')}]`,
      );
  };
  check(target, targetSides, targetSpace);
  check(source, sourceSides, sourceSpace);
  const [targets, sources] = [sizeOf(targetSides), sizeOf(sourceSides)];
  if (input.number('entries of a block follow', 1) === 0) {
    if (targets !== sources) throw refuse(`a block ties ${targets} indices to ${sources} one to one`);
    return { target, source, targetSides, sourceSides, entries: null };
  }
  let last = { t: 0, s: 0 };
  const entries: Entry[] = [];
  input.list(
    'runs of a block',
    () => {
      const count = input.number('entries of a block', MAX_ENTRIES - entries.length);
      const step = {
        t: input.number('a step of a block', MAX_SIDE),
        s: input.signed('a step of a block', MAX_SIDE),
      };
      const weight = input.signed('a weight of a block', Number.MAX_SAFE_INTEGER);
      if (weight === 0) throw refuse('an entry of a block is 0');
      for (let i = 0; i < count; i++) {
        const t = last.t + step.t;
        const s = last.s + step.s;
        if (t >= targets || s < 0 || s >= sources)
          throw refuse(`the entry (${t}, ${s}) of a block of ${targets} by ${sources}`);
        if (entries.length > 0 && step.t === 0 && step.s <= 0) throw refuse('the entries of a block are not sorted');
        entries.push({ t, s, weight });
        last = { t, s };
      }
    },
    MAX_ENTRIES,
  );
  return { target, source, targetSides, sourceSides, entries };
}

/** One item's witness, the tables and the model must fit the columns that the protocol admits. */
function checkColumns(program: Program): void {
  const check = (what: string, cells: number): void => {
    if (cells > MAX_COLUMNS * 2 ** program.modelBits)
      throw refuse(`${what} takes more than ${MAX_COLUMNS} columns of 2^${program.modelBits} cells`);
  };
  check('the witness', placeSlots(program.witness.map(({ axes }) => bitsOfAxes(axes))).cells);
  check('the model', placeSlots(program.model.map(({ axes }) => bitsOfAxes(axes))).cells);
  check('the table space', tableCells(program.tables));
}

const equal = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((x, i) => x === b[i]);
