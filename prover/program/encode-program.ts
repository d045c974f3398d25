/**
 * The canonical bytes of a shape program, whose hash stands in the model's identity: two programs have equal bytes
 * exactly if they say the same. Integers are unsigned LEB128 in shortest form; signed ones are zigzag-mapped first;
 * lists are preceded by their length. Names of slots are labels for people and are left out.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { AssayError } from '../../common/errors.js';
import type { Block } from './blocks.js';
import type { Expression, LinearTerm, Operand, Product, Program, Table } from './types.js';

class Writer {
  private readonly bytes: number[] = [];

  /** @throws AssayError INTERNAL: a program with such a number has no bytes, and no other program gets them. */
  unsigned(value: number | bigint): this {
    if (typeof value === 'number' ? !Number.isSafeInteger(value) || value < 0 : typeof value !== 'bigint' || value < 0n)
      throw new AssayError('INTERNAL', `a shape program holds ${String(value)} where it takes a whole number from 0`);
    let rest = BigInt(value);
    do {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      this.bytes.push(rest === 0n ? low : low | 0x80);
    } while (rest > 0n);
    return this;
  }

  signed(value: number | bigint): this {
    const v = BigInt(value);
    return this.unsigned(v >= 0n ? 2n * v : -2n * v - 1n);
  }

  list<T>(items: readonly T[], write: (item: T) => void): this {
    this.unsigned(items.length);
    items.forEach(write);
    return this;
  }

  numbers(items: readonly number[]): this {
    return this.list(items, (item) => this.unsigned(item));
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.bytes);
  }
}

const TABLE_CODE: Record<Table['kind'], number> = { clamp: 0, values: 1, input: 2 };
const SOURCE_CODE: Record<LinearTerm['source']['kind'], number> = { witness: 0, model: 1, one: 2 };

export function encodeProgram(program: Program): Uint8Array {
  const out = new Writer();
  out.unsigned(program.modelBits);
  out.list(program.witness, ({ axes }) => out.numbers(axes));
  out.list(program.model, ({ axes }) => out.numbers(axes));
  out.list(program.tables, (table) => writeTable(out, table));
  out.list(program.inputs, ({ slot, table, cellBits }) => out.unsigned(slot).unsigned(table).unsigned(cellBits));
  out.list(program.requants, ({ slot, table, expression }) => {
    out.unsigned(slot).unsigned(table);
    writeExpression(out, expression);
  });
  out.list(program.maxima, ({ slot, taps }) => {
    out.unsigned(slot);
    out.list(taps, (terms) => out.list(terms, (term) => writeTerm(out, term)));
  });
  out.list(program.outputs, ({ range, expression, argMaxAxis }) => {
    out
      .signed(range.lo)
      .signed(range.hi)
      .unsigned(argMaxAxis === null ? 0 : argMaxAxis + 1);
    writeExpression(out, expression);
  });
  return out.finish();
}

export const programHash = (program: Program): Uint8Array => keccak_256(encodeProgram(program));

function writeTable(out: Writer, table: Table): void {
  out.unsigned(TABLE_CODE[table.kind]);
  if (table.kind === 'clamp') out.signed(table.lo).signed(table.hi).signed(table.qLo).signed(table.qHi);
  else if (table.kind === 'values') out.signed(table.qLo).unsigned(table.rows).unsigned(table.slot);
  else out.signed(table.lo).signed(table.hi);
}

function writeExpression(out: Writer, { axes, linear, products }: Expression): void {
  out.numbers(axes);
  out.list(linear, (term) => writeTerm(out, term));
  out.list(products, (product) => writeProduct(out, product));
}

function writeTerm(out: Writer, { coefficient, source, blocks }: LinearTerm): void {
  out.signed(coefficient).unsigned(SOURCE_CODE[source.kind]);
  if (source.kind !== 'one') out.unsigned(source.slot);
  out.list(blocks, (block) => writeBlock(out, block));
}

function writeProduct(out: Writer, { coefficient, labels, p, q, outputLabels, blocks }: Product): void {
  out.signed(coefficient).numbers(labels).numbers(outputLabels);
  writeOperand(out, p);
  writeOperand(out, q);
  out.list(blocks, (block) => writeBlock(out, block));
}

function writeOperand(out: Writer, { labels, terms, batched }: Operand): void {
  out.numbers(labels).unsigned(batched ? 1 : 0);
  out.list(terms, (term) => writeTerm(out, term));
}

/**
 * Lists are written as runs of equal steps: (count, step of t, step of s, weight), as long as each can be from the left.
 * Windows are arithmetic progressions, so that a convolution over 28 pixels takes a few bytes for each tap.
 */
function writeBlock(out: Writer, { target, source, targetSides, sourceSides, entries }: Block): void {
  out.numbers(target).numbers(source).numbers(targetSides).numbers(sourceSides);
  out.unsigned(entries === null ? 0 : 1);
  if (entries === null) return;
  const runs: { count: number; t: number; s: number; weight: number }[] = [];
  let before = { t: 0, s: 0 };
  for (const entry of entries) {
    const step = { t: entry.t - before.t, s: entry.s - before.s, weight: entry.weight };
    const run = runs.at(-1);
    if (run && run.t === step.t && run.s === step.s && run.weight === step.weight) run.count++;
    else runs.push({ count: 1, ...step });
    before = entry;
  }
  out.list(runs, ({ count, t, s, weight }) => out.unsigned(count).unsigned(t).signed(s).signed(weight));
}
