/** Reading programs: what the builder makes comes back, and each rule has a program that breaks it. */
import { describe, expect, test } from 'vitest';
import { AssayError } from '../../common/errors.js';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { CASE_KINDS, randomGraphOf } from '../audit/cases.js';
import { Draw } from '../audit/draw.js';
import { buildProgram } from './build-program.js';
import { decodeProgram } from './decode-program.js';
import { encodeProgram } from './encode-program.js';
import type { Expression, LinearTerm, Product, Program } from './types.js';

function builtOrNull(build: () => Program): Program | null {
  try {
    return build();
  } catch (error) {
    if (error instanceof AssayError && error.code === 'NOT_PROVABLE') return null;
    throw error;
  }
}

/** Names are labels for people and are not encoded. */
const unnamed = (program: Program): Program => ({
  ...program,
  witness: program.witness.map(({ axes }, i) => ({ name: `witness ${i}`, axes })),
  model: program.model.map(({ axes }, i) => ({ name: `model ${i}`, axes })),
});

describe('programs of graphs come back as they were', () => {
  const check = (label: string, build: () => Program): number => {
    const program = builtOrNull(build);
    if (program === null) return 0;
    expect(decodeProgram(encodeProgram(program)), label).toEqual(unnamed(program));
    return 1;
  };

  test.each(NODE_KINDS)('%s', (kind) => {
    for (let seed = 1; seed <= 10; seed++)
      check(`seed ${seed}`, () => buildProgram(randomNodeCase(kind, seededRandom(seed)).graph).program);
  });

  test.each(CASE_KINDS)('case %s of the audit', (kind) => {
    let read = 0;
    for (let seed = 1; seed <= 4; seed++)
      read += check(`seed ${seed}`, () => buildProgram(randomGraphOf(kind, new Draw(kind, seed))).program);
    expect(read).toBeGreaterThan(0);
  });

  test('random networks', () => {
    for (let seed = 1; seed <= 30; seed++)
      check(`seed ${seed}`, () => buildProgram(randomGraph(seededRandom(seed)).graph).program);
  });
});

/** x[4] of 0..255; y = clamp(sum_j W[i, j] x[j] + b[i]), i < 3; output y. */
const identity = (axis: number, side: number, source = axis) => ({
  target: [axis],
  source: [source],
  targetSides: [side],
  sourceSides: [side],
  entries: null,
});
const product: Product = {
  coefficient: 1n,
  labels: [4, 3],
  p: {
    labels: [0, 1],
    batched: false,
    terms: [{ coefficient: 1n, source: { kind: 'model', slot: 0 }, blocks: [identity(1, 3, 0), identity(0, 4, 1)] }],
  },
  q: {
    labels: [0],
    batched: true,
    terms: [{ coefficient: 1n, source: { kind: 'witness', slot: 0 }, blocks: [identity(0, 4)] }],
  },
  outputLabels: [1],
  blocks: [identity(0, 3, 1)],
};
const bias: LinearTerm = { coefficient: 5n, source: { kind: 'model', slot: 1 }, blocks: [identity(0, 3)] };
const expression: Expression = { axes: [3], linear: [bias], products: [product] };
const honest: Program = {
  modelBits: 12,
  witness: [
    { name: 'witness 0', axes: [4] },
    { name: 'witness 1', axes: [3] },
  ],
  model: [
    { name: 'model 0', axes: [3, 4] },
    { name: 'model 1', axes: [3] },
  ],
  tables: [
    { kind: 'input', lo: 0, hi: 255 },
    { kind: 'clamp', lo: 0, hi: 127, qLo: -300, qHi: 300 },
  ],
  inputs: [{ slot: 0, table: 0, cellBits: 8 }],
  requants: [{ slot: 1, table: 1, expression }],
  maxima: [],
  outputs: [
    {
      range: { lo: 0, hi: 127 },
      argMaxAxis: null,
      expression: {
        axes: [3],
        products: [],
        linear: [{ coefficient: 1n, source: { kind: 'witness', slot: 1 }, blocks: [identity(0, 3)] }],
      },
    },
  ],
};

const withProduct = (change: Partial<Product>): Program => ({
  ...honest,
  requants: [{ ...honest.requants[0]!, expression: { ...expression, products: [{ ...product, ...change }] } }],
});
const withTerm = (change: Partial<LinearTerm>): Program => ({
  ...honest,
  requants: [{ ...honest.requants[0]!, expression: { ...expression, linear: [{ ...bias, ...change }] } }],
});
const listed = (entries: { t: number; s: number; weight: number }[]): Program =>
  withTerm({ blocks: [{ ...identity(0, 3), entries }] });

test('a small program is read', () => expect(decodeProgram(encodeProgram(honest))).toEqual(honest));

test.each<[what: string, program: Program, message: RegExp]>([
  ['columns too small', { ...honest, modelBits: 7 }, /at least 2\^8/],
  ['columns too large', { ...honest, modelBits: 25 }, /above 24/],
  ['no witness', { ...honest, witness: [], inputs: [], requants: [] }, /no witness/],
  ['a side of 0', { ...honest, model: [{ name: '', axes: [0] }] }, /a side is 0/],
  ['a huge tensor', { ...honest, model: [{ name: '', axes: [2 ** 20, 2 ** 20] }] }, /more than 2\^30 cells/],
  [
    'more columns than a proof admits',
    { ...honest, model: [...honest.model, { name: '', axes: [2 ** 20] }] },
    /more than 64 columns/,
  ],
  [
    'a slot that nothing defines',
    { ...honest, witness: [...honest.witness, { name: '', axes: [2] }] },
    /1 witness slots are not defined/,
  ],
  ['a slot defined twice', { ...honest, requants: [...honest.requants, ...honest.requants] }, /defined twice/],
  ['a slot that is not there', { ...honest, inputs: [{ slot: 2, table: 0, cellBits: 8 }] }, /slot of an input is 2/],
  ['an input with the table of a clamp', { ...honest, inputs: [{ slot: 0, table: 1, cellBits: 8 }] }, /kind clamp/],
  ['an input in cells too wide', { ...honest, inputs: [{ slot: 0, table: 0, cellBits: 16 }] }, /cells of 16 bits/],
  [
    'a requantisation with the table of an input',
    { ...honest, requants: [{ ...honest.requants[0]!, table: 0 }] },
    /kind input/,
  ],
  ['an empty range', { ...honest, tables: [{ kind: 'input', lo: 3, hi: 2 }, honest.tables[1]!] }, /3\.\.2 .*is empty/],
  [
    'an input of too many values',
    { ...honest, tables: [{ kind: 'input', lo: 0, hi: 65536 }, honest.tables[1]!] },
    /65537 values/,
  ],
  [
    'a table of values in a slot of another shape',
    { ...honest, tables: [...honest.tables, { kind: 'values', qLo: 0, rows: 4, slot: 1 }] },
    /table of 4 rows/,
  ],
  ['a slot that reads itself', withTerm({ source: { kind: 'witness', slot: 1 } }), /slot that is read is 1/],
  ['a model slot that is not there', withTerm({ source: { kind: 'model', slot: 2 } }), /model slot that is read is 2/],
  ['a huge coefficient', withTerm({ coefficient: 1n << 129n }), /coefficient is above/],
  ['an axis in no block', withTerm({ blocks: [] }), /stands in no block/],
  ['an axis in two blocks', withTerm({ blocks: [identity(0, 3), identity(0, 3)] }), /stands in two blocks/],
  ['a block over an axis that is not there', withTerm({ blocks: [identity(1, 3, 0)] }), /a block over axes/],
  ['a block of another side', withTerm({ blocks: [identity(0, 2)] }), /a block over axes/],
  [
    'an equality of unequal sizes',
    withTerm({ blocks: [{ ...identity(0, 3), source: [], sourceSides: [] }] }),
    /3 indices to 1/,
  ],
  ['an entry outside', listed([{ t: 3, s: 0, weight: 1 }]), /entry \(3, 0\)/],
  ['an entry before the source', listed([{ t: 0, s: -1, weight: 1 }]), /entry \(0, -1\)/],
  [
    'entries out of order',
    listed([
      { t: 0, s: 2, weight: 1 },
      { t: 0, s: 1, weight: 1 },
    ]),
    /not sorted/,
  ],
  [
    'an entry twice',
    listed([
      { t: 0, s: 2, weight: 1 },
      { t: 0, s: 2, weight: 1 },
    ]),
    /not sorted/,
  ],
  ['an entry of weight 0', listed([{ t: 0, s: 0, weight: 0 }]), /is 0/],
  ['a product of constants', withProduct({ q: { ...product.q, batched: false, terms: [] } }), /nothing varies/],
  [
    'a constant operand that reads the witness',
    withProduct({ p: { ...product.q, batched: false } }),
    /reads the witness/,
  ],
  [
    'a label summed in one operand alone',
    withProduct({ outputLabels: [], blocks: [] }),
    /label 1 of a product is summed/,
  ],
  ['labels that do not rise', withProduct({ p: { ...product.p, labels: [1, 0] } }), /must rise/],
  [
    'a label in no operand',
    withProduct({ labels: [4, 3, 2], outputLabels: [1, 2] }),
    /label 2 of a product stands in no operand/,
  ],
  [
    'an arg-max along no axis',
    { ...honest, outputs: [{ ...honest.outputs[0]!, argMaxAxis: 1 }] },
    /arg-max along axis 1/,
  ],
  ['a maximum of one tap', { ...honest, requants: [], maxima: [{ slot: 1, taps: [[bias]] }] }, /a maximum of 1 taps/],
])('%s', (_what, program, message) => {
  expect(() => decodeProgram(encodeProgram(program))).toThrow(message);
});

test('bytes: an end too early, too late, and a number not in its shortest form', () => {
  const bytes = encodeProgram(honest);
  expect(() => decodeProgram(bytes.subarray(0, -1))).toThrow(/ends inside|above/);
  expect(() => decodeProgram(Uint8Array.of(...bytes, 0))).toThrow(/1 bytes follow/);
  expect(() => decodeProgram(Uint8Array.of(0x8c, 0, ...bytes.subarray(1)))).toThrow(/canonical form/);
  expect(() => decodeProgram(new Uint8Array(50_000).fill(0x80))).toThrow(/shortest form/);
  expect(() => decodeProgram(new Uint8Array((1 << 22) + 1))).toThrow(/at most/);
});
