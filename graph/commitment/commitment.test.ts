import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, it } from 'vitest';
import { GraphBuilder } from '../integer/builder.js';
import { evaluateGraph } from '../integer/evaluate.js';
import { slotsOf } from '../integer/operands.js';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom } from '../integer/testing/random-graph.js';
import { sizeOf } from '../tensor.js';
import { commitTableRoot } from './commit-table.js';
import { elementWidth, FLOAT_RANGE, fromHex, isElementRange, Preimage, toHex } from './encoding.js';
import { merkleOpening, merkleValue, valueFromOpening } from './merkle.js';
import { modelDescriptors, modelDigest, modelRoots, type IdentifiedModel } from './model-digest.js';
import { openChunks, verifyChunks, type ChunkOpening } from './open-chunks.js';
import { chunkLeaf, rootFromTree, tensorRoot, type CommittedInfo, type TensorHeader } from './tensor-root.js';
import { inputRoot, openSlot, outputRoot, traceRoot, traceRootOf, verifySlot } from './trace-root.js';
import { slowCommitTable, slowPorts, slowTensor, slowTrace, slowTree } from './testing/slow-commitment.js';
import { slowTestModel } from './testing/slow-model.js';
import { testModel } from './testing/test-model.js';

interface Vectors {
  readonly source: string;
  readonly trees: readonly { tag: string; leaves: string[]; value: string }[];
  readonly tensors: readonly (CommittedInfo & { items: number; data: number[]; leaves: string[]; root: string })[];
  readonly execution: {
    input: number[];
    items: number;
    slots: string[];
    inputRoot: string;
    outputRoot: string;
    traceRoot: string;
  };
  readonly model: ReturnType<typeof slowTestModel>;
  /** The same execution and model where a trace leaves slots out. What the bytes are, not what a table may be. */
  readonly boundaries: { table: number[]; tableRoot: string; traceRoot: string; header: string; digest: string };
  readonly opening: { root: string; opening: ChunkOpening; values: number[] };
}
const vectors = JSON.parse(readFileSync(new URL('./vectors.json', import.meta.url), 'utf8')) as Vectors;

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
const hex = (bytes: Uint8Array): string => toHex(bytes).slice(2);
const leaf = (text: string): Uint8Array => fromHex(`0x${text}`, 32)!;

/** A random tensor with a random range, layout and number of items. */
const tensorCase = fc
  .record({
    shape: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 4 }),
    range: fc.constantFrom(
      [0, 255],
      [-128, 127],
      [-1, 128],
      [0, 65535],
      [-32768, 5],
      [0, 65536],
      [-(2 ** 31) + 1, 2 ** 31 - 1],
      [7, 7],
    ),
    items: fc.integer({ min: 1, max: 3 }),
    order: fc.integer(),
    values: fc.integer(),
  })
  .map(({ shape, range: [lo, hi], items, order, values }) => {
    const random = seededRandom(order);
    const layout = shape
      .map((_, axis) => ({ axis, key: random() }))
      .sort((p, q) => p.key - q.key)
      .map(({ axis }) => axis);
    const draw = seededRandom(values);
    const data = Int32Array.from({ length: items * sizeOf(shape) }, () => lo! + Math.floor(draw() * (hi! - lo! + 1)));
    return { info: { shape, range: { lo: lo!, hi: hi! }, layout } as CommittedInfo, items, data };
  });

describe('element widths', () => {
  it.each([
    [0, 255, 1],
    [-128, 127, 1],
    [-1, 128, 2],
    [-129, 0, 2],
    [0, 256, 2],
    [0, 65535, 2],
    [-32768, 32767, 2],
    [-1, 32768, 4],
    [0, 65536, 4],
    [5, 5, 1],
    [2 ** 31 - 1, -(2 ** 31), 4],
  ])('of %d..%d is %d', (lo, hi, width) => {
    expect(isElementRange({ lo, hi })).toBe(true);
    expect(elementWidth({ lo, hi })).toBe(width);
  });

  it.each([
    [1, 0],
    [0, -1],
    [2 ** 31 - 1, -(2 ** 31) + 1],
    [2 ** 31 - 2, -(2 ** 31)],
    [2 ** 31 - 1, 2 ** 31 - 2],
    [-(2 ** 31) + 1, -(2 ** 31)],
  ])('%d..%d is no range, not that of float32 either', (lo, hi) => {
    expect(isElementRange({ lo, hi })).toBe(false);
  });
});

describe('the Merkle tree', () => {
  it('equals the vectors and the recursive definition for 0 to 17 leaves', () => {
    expect(vectors.trees.map(({ leaves }) => leaves.length)).toEqual([...Array(18).keys()]);
    for (const { tag, leaves, value } of vectors.trees) {
      expect(hex(merkleValue(Number.parseInt(tag, 16), leaves.map(leaf)))).toBe(value);
      expect(slowTree(tag, leaves)).toBe(value);
    }
  });

  it('opens every range of every size to its value, with no spare and no missing sibling', () => {
    for (const { leaves, value } of vectors.trees.slice(1)) {
      const bytes = leaves.map(leaf);
      for (let first = 0; first < bytes.length; first++)
        for (let last = first; last < bytes.length; last++) {
          const siblings = merkleOpening(0x11, bytes, first, last);
          const opened = bytes.slice(first, last + 1);
          expect(hex(valueFromOpening(0x11, opened, first, bytes.length, siblings)!)).toBe(value);
          expect(valueFromOpening(0x11, opened, first, bytes.length, [...siblings, leaf('00'.repeat(32))])).toBeNull();
          if (siblings.length > 0)
            expect(valueFromOpening(0x11, opened, first, bytes.length, siblings.slice(1))).toBeNull();
        }
    }
  });

  it('has no value for ranges outside the leaves', () => {
    const one = leaf('11'.repeat(32));
    expect(valueFromOpening(0x11, [], 0, 1, [])).toBeNull();
    expect(valueFromOpening(0x11, [one], 1, 1, [])).toBeNull();
    expect(valueFromOpening(0x11, [one], -1, 1, [])).toBeNull();
  });
});

describe('tensor roots', () => {
  it('equal the vectors', () => {
    for (const { data, items, leaves, root, ...info } of vectors.tensors) {
      expect(tensorRoot(info, Int32Array.from(data), items)).toBe(`0x${root}`);
      expect(slowTensor(info, data, items)).toEqual({ leaves, root });
    }
  });

  it('equal the slow implementation on random tensors', () => {
    fc.assert(
      fc.property(tensorCase, ({ info, data, items }) => {
        expect(tensorRoot(info, data, items)).toBe(`0x${slowTensor(info, [...data], items).root}`);
      }),
      { seed, numRuns: 200 },
    );
  });

  it('bind element, order, range, shape, layout and items', () => {
    const info: CommittedInfo = { shape: [2, 2], range: { lo: 0, hi: 9 }, layout: [0, 1] };
    const data = Int32Array.of(1, 2, 3, 4);
    const roots = [
      tensorRoot(info, data, 1),
      tensorRoot(info, Int32Array.of(1, 2, 3, 5), 1),
      tensorRoot(info, Int32Array.of(2, 1, 3, 4), 1),
      tensorRoot({ ...info, range: { lo: 0, hi: 8 } }, data, 1),
      tensorRoot({ ...info, range: { lo: -1, hi: 9 } }, data, 1),
      tensorRoot({ ...info, shape: [4, 1] }, data, 1),
      tensorRoot({ ...info, layout: [1, 0] }, Int32Array.of(1, 3, 2, 4), 1),
      tensorRoot({ ...info, shape: [1, 2] }, data, 2),
      tensorRoot({ shape: [4], range: info.range, layout: [0] }, data, 1),
    ];
    expect(new Set(roots).size).toBe(roots.length);
  });

  it('refuse elements outside the range and wrong lengths', () => {
    const info: CommittedInfo = { shape: [2], range: { lo: 0, hi: 9 }, layout: [0] };
    expect(() => tensorRoot(info, Int32Array.of(0, 10), 1)).toThrow(
      'element 1 is 10, outside the committed range 0..9',
    );
    expect(() => tensorRoot(info, Int32Array.of(0), 1)).toThrow('needs 2 elements, found 1');
    expect(() => tensorRoot(info, new Int32Array(0), 0)).toThrow('0 items');
  });
});

describe('chunk openings', () => {
  it('equal the vector', () => {
    const { root, opening, values } = vectors.opening;
    expect(verifyChunks(root, opening)).toEqual({
      valid: true,
      firstElement: 64 * opening.first,
      values: Int32Array.from(values),
    });
  });

  it('show the committed elements, for every range of chunks', () => {
    const random = seededRandom(3);
    const info: CommittedInfo = { shape: [3, 10, 10], range: { lo: -5, hi: 300 }, layout: [1, 2, 0] };
    const data = Int32Array.from({ length: 600 }, () => Math.floor(random() * 306) - 5);
    const root = tensorRoot(info, data, 2);
    for (let first = 0; first < 10; first++)
      for (let count = 1; first + count <= 10; count++) {
        const verdict = verifyChunks(root, openChunks(info, data, 2, first, count));
        if (!verdict.valid) expect.fail(verdict.reason);
        verdict.values.forEach((v, i) => {
          const element = 64 * first + i;
          const [item, rest] = [Math.floor(element / 300), element % 300];
          const [row, column, channel] = [Math.floor(rest / 30), Math.floor(rest / 3) % 10, rest % 3];
          expect(v).toBe(data[item * 300 + channel * 100 + row * 10 + column]);
        });
      }
  });

  it('fail after any change', () => {
    const info: CommittedInfo = { shape: [150], range: { lo: 0, hi: 255 }, layout: [0] };
    const data = Int32Array.from({ length: 150 }, (_, i) => i);
    const root = tensorRoot(info, data, 1);
    const good = openChunks(info, data, 1, 1, 1);
    expect(verifyChunks(root, good).valid).toBe(true);
    const flip = (text: string): string => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
    const header = good.header;
    const bad: ChunkOpening[] = [
      { ...good, first: 0 },
      { ...good, first: 2 },
      { ...good, first: -1 },
      { ...good, first: 0.5 },
      { ...good, chunks: [flip(good.chunks[0]!)] },
      { ...good, chunks: [`${good.chunks[0]}00`] },
      { ...good, chunks: [good.chunks[0]!.slice(0, -2)] },
      { ...good, chunks: ['0x'] },
      { ...good, chunks: [] },
      { ...good, siblings: good.siblings.map(flip) },
      { ...good, siblings: good.siblings.slice(1) },
      { ...good, siblings: [...good.siblings].reverse() },
      { ...good, siblings: [...good.siblings, good.siblings[0]!] },
      { ...good, header: { ...header, items: 2 } },
      { ...good, header: { ...header, items: 0 } },
      { ...good, header: { ...header, chunkCount: 4 } },
      { ...good, header: { ...header, shape: [149] } },
      { ...good, header: { ...header, shape: [15, 10], layout: [0, 1] } },
      { ...good, header: { ...header, layout: [1] } },
      { ...good, header: { ...header, range: { lo: 0, hi: 254 } } },
      { ...good, header: { ...header, range: { lo: -1, hi: 100 } } },
    ];
    for (const opening of bad)
      expect(verifyChunks(root, opening), JSON.stringify(opening)).toMatchObject({ valid: false });
    expect(verifyChunks(flip(root), good)).toMatchObject({ valid: false });
  });

  it('under a root that was made over a malformed header are invalid', () => {
    const leaves = [chunkLeaf(0, 64, new Uint8Array(64)), chunkLeaf(1, 6, new Uint8Array(6))];
    const opening = (header: TensorHeader): ChunkOpening => {
      return { header, first: 0, chunks: [`0x${'00'.repeat(64)}`], siblings: [toHex(leaves[1]!)] };
    };
    const verdict = (header: TensorHeader): ReturnType<typeof verifyChunks> => {
      return verifyChunks(toHex(rootFromTree(header, merkleValue(0x11, leaves))), opening(header));
    };
    const good: TensorHeader = { range: { lo: 0, hi: 255 }, shape: [70], layout: [0], items: 1, chunkCount: 2 };
    expect(verdict(good)).toMatchObject({ valid: true });
    const faults: [Partial<TensorHeader>, string][] = [
      [{ range: { lo: 9, hi: 8 } }, 'range'],
      [{ range: { lo: FLOAT_RANGE.lo, hi: FLOAT_RANGE.hi + 1 } }, 'range'],
      [{ range: { lo: FLOAT_RANGE.lo - 1, hi: FLOAT_RANGE.hi } }, 'range'],
      [{ shape: [0], items: 0 }, 'shape'],
      [{ shape: [35, 2], layout: [0, 0] }, 'layout'],
      [{ shape: [35, 2] }, 'layout'],
      [{ items: 0 }, 'items'],
      [{ shape: [200] }, 'chunk count'],
    ];
    for (const [change, reason] of faults)
      expect(verdict({ ...good, ...change })).toEqual({ valid: false, reason: `malformed header: ${reason}` });
  });

  it('of a tensor of float32 show its bits; as one of integers nobody commits to it', () => {
    const bits = Int32Array.of(0x3f800000, -2147483648, 0x7fc00001);
    const info: CommittedInfo = { shape: [3], range: FLOAT_RANGE, layout: [0] };
    const header: TensorHeader = { ...info, items: 1, chunkCount: 1 };
    const encoded = '3f800000800000007fc00001';
    const leaf = chunkLeaf(
      0,
      3,
      Uint8Array.from(encoded.match(/../g)!, (byte) => parseInt(byte, 16)),
    );
    const root = toHex(rootFromTree(header, leaf));
    const opening: ChunkOpening = { header, first: 0, chunks: [`0x${encoded}`], siblings: [] };
    expect(verifyChunks(root, opening)).toEqual({ valid: true, firstElement: 0, values: bits });
    const integers = { ...header, range: { lo: -(2 ** 31), hi: 2 ** 31 - 1 } };
    expect(verifyChunks(root, { ...opening, header: integers })).toMatchObject({ valid: false });
    expect(() => tensorRoot(info, bits, 1)).toThrow(expect.objectContaining({ code: 'INPUT_RANGE' }) as Error);
  });

  it('of chunks that do not exist are refused', () => {
    const info: CommittedInfo = { shape: [3], range: { lo: 0, hi: 1 }, layout: [0] };
    expect(() => openChunks(info, new Int32Array(3), 1, 1, 1)).toThrow('chunks 1..1 do not exist: the tensor has 1');
  });
});

describe('preimages', () => {
  it('hold fields at their ends and refuse what lies outside', () => {
    const bytes = new Preimage()
      .u8(0)
      .u8(255)
      .u32(2 ** 32 - 1)
      .i32(-(2 ** 31))
      .i32(2 ** 31 - 1)
      .f64(1)
      .text('\u{1f600}')
      .done();
    expect(toHex(bytes)).toBe('0x00ffffffffff800000007fffffff3ff000000000000000000004f09f9880');
    const outside: (() => unknown)[] = [
      ...[-1, 256, 0.5, NaN].map((v) => () => new Preimage().u8(v)),
      ...[-1, 2 ** 32, 0.5, Infinity].map((v) => () => new Preimage().u32(v)),
      ...[-(2 ** 31) - 1, 2 ** 31, 0.5].map((v) => () => new Preimage().i32(v)),
      ...['\ud800', 'a\udc00b', '\udc00\ud800'].map((v) => () => new Preimage().text(v)),
    ];
    for (const write of outside) expect(write).toThrow(expect.objectContaining({ code: 'GRAPH_INVALID' }));
  });

  it('of any length keep every byte', () => {
    const out = new Preimage();
    const expected: number[] = [];
    for (let i = 0; i < 2000; i++) {
      const part = Uint8Array.from({ length: i % 7 }, (_, j) => i + j);
      out.u8(i % 256).raw(part);
      expected.push(i % 256, ...part);
    }
    expect([...out.done()]).toEqual(expected);
    expect(out.hash()).toEqual(keccak_256(Uint8Array.from(expected)));
  });
});

describe('traces', () => {
  const { graph } = testModel();
  const items = vectors.execution.items;
  const input = Int32Array.from(vectors.execution.input);
  const values = evaluateGraph(graph, [input], items);
  const slots = slotsOf(graph);
  const slotValues = slots.map((id) => values[id]!);

  it('equal the vectors and the slow implementation', () => {
    const roots = slots.map((id) => slowTensor(graph.tensors[id]!, [...values[id]!], items).root);
    expect(roots).toEqual(vectors.execution.slots);
    const outputs = graph.outputs.map((id) => values[id]!);
    const found = {
      inputRoot: inputRoot(graph, [input], items),
      outputRoot: outputRoot(graph, outputs, items),
      traceRoot: traceRoot(graph, slotValues, items),
    };
    const slow = {
      inputRoot: `0x${slowPorts(0, roots.slice(0, 1))}`,
      outputRoot: `0x${slowPorts(
        1,
        graph.outputs.map((id) => roots[slots.indexOf(id)]!),
      )}`,
      traceRoot: `0x${slowTrace(roots.map((root, slot) => ({ slot, root })))}`,
    };
    expect(found).toEqual(slow);
    const { inputRoot: i, outputRoot: o, traceRoot: t } = vectors.execution;
    expect(found).toEqual({ inputRoot: i, outputRoot: o, traceRoot: t });
  });

  it('of some slots equal the vector and the slow implementation', () => {
    const { table, traceRoot: expected } = vectors.boundaries;
    const roots = vectors.execution.slots;
    const own = table.map((slot) => slotValues[slot]!);
    expect(slowTrace(table.map((slot) => ({ slot, root: roots[slot]! })))).toBe(expected);
    const root = traceRoot(graph, own, items, table);
    expect(root).toBe(`0x${expected}`);
    table.forEach((slot, position) => {
      const opening = openSlot(graph, own, items, slot, table);
      expect(opening).toMatchObject({ slot, position, slotCount: table.length, tensorRoot: `0x${roots[slot]}` });
      expect(verifySlot(root, opening)).toBe(true);
      for (const change of [{ slot: slot + 1 }, { position: position + 1 }, { slotCount: table.length + 1 }])
        expect(verifySlot(root, { ...opening, ...change })).toBe(false);
    });
    const left = slots.findIndex((_, slot) => !table.includes(slot));
    expect(() => openSlot(graph, own, items, left, table)).toThrow(`slot ${left} is none of the ${table.length}`);
    expect(() => traceRoot(graph, slotValues, items, table)).toThrow(
      `${table.length} committed slots, ${slots.length} arrays`,
    );
    // The same tensors under other slot numbers are another trace.
    expect(traceRootOf(table.map((slot) => leaf(roots[slot]!)))).not.toBe(root);
  });

  it('change with any element of any slot', () => {
    const root = traceRoot(graph, slotValues, items);
    slots.forEach((id, slot) => {
      const { range } = graph.tensors[id]!;
      const forged = slotValues.map((v, k) =>
        k === slot ? Int32Array.from(v, (x, i) => (i === v.length - 1 ? (x < range.hi ? x + 1 : x - 1) : x)) : v,
      );
      expect(traceRoot(graph, forged, items)).not.toBe(root);
    });
  });

  it('open at every slot, and nowhere else', () => {
    const root = traceRoot(graph, slotValues, items);
    slots.forEach((_, slot) => {
      const opening = openSlot(graph, slotValues, items, slot);
      expect(verifySlot(root, opening)).toBe(true);
      expect(opening.tensorRoot).toBe(tensorRoot(graph.tensors[slots[slot]!]!, slotValues[slot]!, items));
      expect(opening.position).toBe(slot);
      expect(verifySlot(root, { ...opening, slot: (slot + 1) % slots.length })).toBe(false);
      expect(verifySlot(root, { ...opening, position: (slot + 1) % slots.length })).toBe(false);
      expect(verifySlot(root, { ...opening, slotCount: slots.length + 1 })).toBe(false);
      for (const outside of [-1, slots.length, 2 ** 32 + slot, 0.5]) {
        expect(verifySlot(root, { ...opening, slot: outside })).toBe(false);
        expect(verifySlot(root, { ...opening, position: outside })).toBe(false);
      }
      for (const count of [0, -1, 2 ** 32 + slots.length])
        expect(verifySlot(root, { ...opening, slotCount: count })).toBe(false);
      expect(verifySlot(root, { ...opening, tensorRoot: `0x${'00'.repeat(32)}` })).toBe(false);
      expect(verifySlot(root, { ...opening, siblings: [...opening.siblings, opening.tensorRoot] })).toBe(false);
      expect(verifySlot(root, { ...opening, tensorRoot: 'nothing' })).toBe(false);
    });
    expect(() => openSlot(graph, slotValues, items, slots.length)).toThrow('slot 4 is none of the 4');
  });

  it('refuse a wrong number of slots', () => {
    expect(() => traceRoot(graph, slotValues.slice(1), items)).toThrow(
      `has ${slots.length} committed slots, ${slots.length - 1} arrays`,
    );
  });
});

describe('the model digest', () => {
  const model = testModel();

  it('equals the vectors and descriptors written by hand', () => {
    const slow = slowTestModel(model);
    expect(slow).toEqual(vectors.model);
    const { descriptors, constants } = modelDescriptors(model);
    expect(descriptors.map(hex)).toEqual(slow.descriptors);
    expect(constants.map(hex)).toEqual(slow.constants);
    const { graphRoot, weightsRoot, digest, opCount } = slow;
    expect(modelRoots(model)).toEqual({
      graphRoot: `0x${graphRoot}`,
      weightsRoot: `0x${weightsRoot}`,
      opCount,
      digest: `0x${digest}`,
    });
    expect(modelDigest(model)).toBe(`0x${digest}`);
  });

  it('holds the table of committed slots', () => {
    const { table, tableRoot, header, digest } = vectors.boundaries;
    const bounded = { ...model, committedSlots: table };
    const slow = slowTestModel(bounded);
    expect(slow.descriptors[0]).toBe(header);
    expect(slow.digest).toBe(digest);
    expect(slowCommitTable(table)).toBe(tableRoot);
    expect(hex(commitTableRoot(table))).toBe(tableRoot);
    expect(modelDescriptors(bounded).descriptors.map(hex)).toEqual(slow.descriptors);
    expect(modelDigest(bounded)).toBe(`0x${digest}`);
  });

  type Mutable<T> = T extends Int8Array | Int16Array | Int32Array ? T : { -readonly [K in keyof T]: Mutable<T[K]> };
  const digestAfter = (change: (model: Mutable<IdentifiedModel>) => void): string => {
    const copy = structuredClone(model) as Mutable<IdentifiedModel>;
    change(copy);
    return modelDigest(copy as IdentifiedModel);
  };

  it('changes with everything that decides numbers or how they are read', () => {
    const at = <K extends string>(m: Mutable<IdentifiedModel>, kind: K, i = 0): never =>
      m.graph.nodes.filter((node) => node.kind === kind)[i] as never;
    type Any = {
      weight: Int8Array;
      bias: Int32Array | null;
      multipliers: Int32Array;
      channelAxis: number | null;
      table: { hi: number; values: Int16Array };
      window: { pads: number[] };
      x: number;
    };
    const changes: ((m: Mutable<IdentifiedModel>) => void)[] = [
      (m) => ((at(m, 'conv') as Any).weight[3]! += 1),
      (m) => ((at(m, 'conv') as Any).bias![1]! += 1),
      (m) => ((at(m, 'conv') as Any).bias = null),
      (m) => ((at(m, 'conv') as Any).window.pads[0] = 1),
      (m) => ((at(m, 'requant') as Any).multipliers[0]! += 1),
      (m) => ((at(m, 'requant') as Any).table.hi = 126),
      (m) => ((at(m, 'requant', 1) as Any).table.values[0]! += 1),
      (m) => ((at(m, 'matmul') as Any).x = 0),
      (m) => (m.graph.tensors[0]!.range.hi = 254),
      (m) => (m.graph.tensors[0]!.layout = [0, 1, 2]),
      (m) => (m.graph.tensors[0]!.scale *= 2),
      (m) => (m.graph.tensors[6]!.zeroPoint = 4),
      (m) => m.graph.outputs.reverse(),
      (m) => m.graph.outputs.pop(),
      (m) => (m.inputs[0]!.name = 'Input4'),
      (m) => (m.inputs[0]!.type = 'float64'),
      (m) => (m.inputs[0]!.shape = [1, 18]),
      (m) => m.outputs.reverse(),
      (m) => (m.committedSlots = [0, 2, 3]),
      (m) => (m.committedSlots = [0, 1, 2]),
      (m) => (m.committedSlots = [0, 2]),
    ];
    const digests = [modelDigest(model), ...changes.map(digestAfter)];
    expect(new Set(digests).size).toBe(digests.length);
  });

  it('is refused for numbers and names that its fields cannot hold, instead of cutting them', () => {
    const changes: ((m: Mutable<IdentifiedModel>) => void)[] = [
      (m) => (m.graph.tensors[0]!.zeroPoint = 2 ** 32),
      (m) => (m.graph.tensors[0]!.shape[0] = 2 ** 32 + 2),
      (m) => (m.inputs[0]!.shape[0] = 2 ** 32 + 1),
      (m) => (m.inputs[0]!.name = '\ud800'),
    ];
    for (const change of changes)
      expect(() => digestAfter(change)).toThrow(expect.objectContaining({ code: 'GRAPH_INVALID' }));
  });

  it('does not change with names of nodes and tensors, labels, array types, inner scales', () => {
    const same = [
      (m: Mutable<IdentifiedModel>) => (m.graph.name = 'other'),
      (m: Mutable<IdentifiedModel>) => (m.graph.nodes[0]!.name = 'other'),
      (m: Mutable<IdentifiedModel>) => (m.graph.tensors[2]!.name = 'other'),
      (m: Mutable<IdentifiedModel>) => (m.graph.tensors[2]!.scale = 17),
      (m: Mutable<IdentifiedModel>) => {
        const node = m.graph.nodes[0] as unknown as { weight: Int8Array | Int16Array };
        node.weight = Int16Array.from(node.weight);
      },
    ];
    for (const change of same) expect(digestAfter(change)).toBe(modelDigest(model));
  });

  it('does not depend on tensor ids', () => {
    const build = (unused: boolean): IdentifiedModel => {
      const builder = new GraphBuilder();
      const first = builder.addInput('a', [2], { lo: 0, hi: 1 }, 1, 0);
      // In the second graph the same values get other ids: b is added before or after the node over a.
      const b = unused ? builder.addInput('b', [2], { lo: 0, hi: 1 }, 1, 0) : null;
      const ra = builder.add({ kind: 'reduceMax', name: 'r', x: first, axes: [0] });
      const late = b ?? builder.addInput('b', [2], { lo: 0, hi: 1 }, 1, 0);
      const rb = builder.add({ kind: 'reduceMax', name: 's', x: late, axes: [0] });
      const port = (name: string, side: number) => ({
        name,
        type: 'float32' as const,
        shape: [1, side],
        batched: true,
      });
      return {
        graph: builder.finish('g', [ra, rb]),
        inputs: [port('a', 2), port('b', 2)],
        outputs: [port('ra', 1), port('rb', 1)],
      };
    };
    expect(modelDigest(build(true))).toBe(modelDigest(build(false)));
  });

  it('is distinct for distinct random graphs', () => {
    const digests = new Set<string>();
    const graphs = new Set<string>();
    for (let i = 0; i < 200; i++) {
      const random = seededRandom(seed + i);
      const { graph } = i % 3 === 0 ? randomGraph(random) : randomNodeCase(NODE_KINDS[i % NODE_KINDS.length]!, random);
      const port = (id: number): IdentifiedModel['inputs'][number] => {
        return { name: `p${id}`, type: 'float32', shape: [1, ...graph.tensors[id]!.shape], batched: true };
      };
      graphs.add(JSON.stringify(graph));
      digests.add(modelDigest({ graph, inputs: graph.inputs.map(port), outputs: graph.outputs.map(port) }));
    }
    expect(digests.size).toBe(graphs.size);
  });
});
