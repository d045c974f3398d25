/** TensorTree.sol opens what graph/commitment/open-output.ts made, and nothing else. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commitTensor } from '../../fraud-proofs/float/commit-tensor.js';
import { commitPorts } from '../../fraud-proofs/float/commit-trace.js';
import { readHeader } from '../../fraud-proofs/nodes/read-header.js';
import {
  openCommittedOutput,
  openOutput,
  type OutputOpening,
  type OutputRange,
} from '../../graph/commitment/open-output.js';
import { FLOAT_RANGE, outputRoot } from '../../graph/commitment/index.js';
import type { IntegerGraph, TensorInfo } from '../../graph/integer/types.js';
import { sizeOf } from '../../graph/tensor.js';
import type { Hex } from '../../receipts/types.js';
import { COMPILE_TIMEOUT_MS, deployHarness, type Harness } from '../harness/opening/deploy-harness.js';

let harness: Harness;
beforeAll(async () => {
  harness = await deployHarness('TensorTreeHarness');
}, COMPILE_TIMEOUT_MS);
afterAll(() => harness.stop());

const opens = (root: string, range: OutputRange, opening: OutputOpening): Promise<unknown> =>
  harness.call('opens', root, range, opening);

interface Case {
  readonly graph: IntegerGraph;
  readonly outputs: readonly Int32Array[];
  readonly items: number;
  readonly root: string;
}

const RANGES = [
  { lo: 0, hi: 255 },
  { lo: -128, hi: 127 },
  { lo: -1, hi: 128 },
  { lo: 0, hi: 65_535 },
  { lo: -32_768, hi: 32_767 },
  { lo: 0, hi: 65_536 },
  { lo: -(2 ** 31), hi: 2 ** 31 - 1 },
  { lo: 5, hi: 5 },
];

/** The outputs of a graph of which nothing else matters. */
function caseOf(
  tensors: readonly { shape: readonly number[]; range: number; reversed: boolean }[],
  items: number,
  salt: number,
): Case {
  const infos = tensors.map(({ shape, range, reversed }): TensorInfo => {
    const layout = shape.map((_, axis) => (reversed ? shape.length - 1 - axis : axis));
    return { shape, layout, range: RANGES[range % RANGES.length]!, scale: 1, zeroPoint: 0, name: '' } as TensorInfo;
  });
  const graph = { name: 'outputs', tensors: infos, outputs: infos.map((_, i) => i) } as unknown as IntegerGraph;
  const outputs = infos.map(({ shape, range: { lo, hi } }, t) =>
    Int32Array.from({ length: items * sizeOf(shape) }, (_, i) => lo + ((salt + 977 * (t + 1) * i) % (hi - lo + 1))),
  );
  return { graph, outputs, items, root: outputRoot(graph, outputs, items) };
}

const open = (c: Case, range: OutputRange): OutputOpening => openOutput(c.graph, c.outputs, c.items, range);

const flip = (hex: string, byte: number): string => {
  const at = 2 + 2 * byte;
  const other = (parseInt(hex.slice(at, at + 2), 16) ^ 1).toString(16).padStart(2, '0');
  return `${hex.slice(0, at)}${other}${hex.slice(at + 2)}`;
};

const tensors = fc.array(
  fc.record({
    shape: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
    range: fc.nat(RANGES.length - 1),
    reversed: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

describe('what openOutput makes opens', () => {
  it('ranges of random outputs, inside, partly outside and outside', async () => {
    await fc.assert(
      fc.asyncProperty(
        tensors,
        fc.integer({ min: 1, max: 4 }),
        fc.nat(2 ** 30),
        fc.nat(6),
        fc.nat(12),
        fc.integer({ min: 1, max: 8 }),
        async (shapes, items, salt, tensor, firstChunk, chunkCount) => {
          const c = caseOf(shapes, items, salt);
          const range = { tensor, firstChunk, chunkCount };
          expect(await opens(c.root, range, open(c, range))).toBe(true);
        },
      ),
      { numRuns: 120 },
    );
  });

  it('every range of a tensor of 13 chunks', async () => {
    const c = caseOf([{ shape: [28, 28], range: 0, reversed: true }], 1, 3);
    for (let first = 0; first < 13; first++)
      for (let count = 1; first + count <= 13; count += 2) {
        const range = { tensor: 0, firstChunk: first, chunkCount: count };
        const opening = open(c, range);
        expect(opening.elements.length).toBeGreaterThan(2);
        expect(await opens(c.root, range, opening), `${first}, ${count}`).toBe(true);
      }
  });

  it('every range of outputs of float32, by their bits', async () => {
    const bits = Uint32Array.from({ length: 3 * 77 }, (_, i) => Math.imul(i + 1, 0x9e3779b1));
    const data = new Float32Array(bits.buffer);
    const outputs = [
      commitTensor({ shape: [7, 11], layout: [1, 0] }, data, 3),
      commitTensor({ shape: [5], layout: [0] }, Float32Array.of(1, -0, NaN, 2 ** -149, Infinity), 1),
    ];
    const { root } = commitPorts(
      1,
      outputs.map((output) => output.root),
    );
    for (let tensor = 0; tensor < 3; tensor++)
      for (let firstChunk = 0; firstChunk < 5; firstChunk++) {
        const range = { tensor, firstChunk, chunkCount: 2 };
        const opening = openCommittedOutput(outputs, range);
        expect(await opens(root, range, opening), `${tensor}, ${firstChunk}`).toBe(true);
        if (opening.elements !== '0x')
          expect(await opens(root, range, { ...opening, elements: flip(opening.elements, 9) })).toBe(false);
        // The same bytes as integers are another output.
        const integers = `0x800000007fffffff${opening.tensorHeader.slice(18)}`;
        if (tensor < 2) expect(await opens(root, range, { ...opening, tensorHeader: integers })).toBe(false);
      }
  });

  it('chunk numbers at the end of 32 bits are outside', async () => {
    const c = caseOf([{ shape: [3], range: 0, reversed: false }], 1, 3);
    const range = { tensor: 0, firstChunk: 2 ** 32 - 1, chunkCount: 2 ** 32 - 1 };
    expect(await opens(c.root, range, open(c, range))).toBe(true);
  });
});

describe('nothing else opens', () => {
  const c = caseOf(
    [
      { shape: [5], range: 1, reversed: false },
      { shape: [10, 7], range: 4, reversed: true },
      { shape: [2], range: 0, reversed: false },
    ],
    5,
    11,
  );
  // 350 elements of two bytes in 6 chunks, the last of 30 elements.
  const range = { tensor: 1, firstChunk: 3, chunkCount: 3 };
  const honest = open(c, range);

  it('the case is what the tests below take it for', async () => {
    expect(honest.chunkPath).toHaveLength(2);
    expect(honest.portPath).toHaveLength(2);
    expect(honest.elements.length).toBe(2 + 2 * 2 * (64 + 64 + 30));
    expect(await opens(c.root, range, honest)).toBe(true);
  });

  it('with a changed root, hash, header byte or count', async () => {
    expect(await opens(flip(c.root, 31), range, honest)).toBe(false);
    for (const field of ['chunkPath', 'portPath'] as const)
      for (let i = 0; i < honest[field].length; i++)
        for (const byte of [0, 15, 31]) {
          const path = honest[field].map((hash, k) => (k === i ? flip(hash, byte) : hash));
          expect(await opens(c.root, range, { ...honest, [field]: path }), `${field} ${i}`).toBe(false);
        }
    for (let byte = 0; byte < honest.tensorHeader.length / 2 - 1; byte++)
      expect(await opens(c.root, range, { ...honest, tensorHeader: flip(honest.tensorHeader, byte) })).toBe(false);
    for (const outputCount of [0, 1, 2, 4, 2 ** 32 - 1])
      expect(await opens(c.root, range, { ...honest, outputCount }), `count ${outputCount}`).toBe(false);
  });

  it('with a changed element, whichever', async () => {
    for (let byte = 0; byte < honest.elements.length / 2 - 1; byte += 3)
      expect(await opens(c.root, range, { ...honest, elements: flip(honest.elements, byte) })).toBe(false);
  });

  it('with anything too short or too long', async () => {
    for (const field of ['chunkPath', 'portPath'] as const) {
      expect(await opens(c.root, range, { ...honest, [field]: honest[field].slice(1) })).toBe(false);
      expect(await opens(c.root, range, { ...honest, [field]: honest[field].slice(0, -1) })).toBe(false);
      expect(await opens(c.root, range, { ...honest, [field]: [...honest[field], c.root] })).toBe(false);
      expect(await opens(c.root, range, { ...honest, [field]: [] })).toBe(false);
    }
    for (const field of ['elements', 'tensorHeader'] as const) {
      expect(await opens(c.root, range, { ...honest, [field]: honest[field].slice(0, -2) })).toBe(false);
      expect(await opens(c.root, range, { ...honest, [field]: `${honest[field]}00` })).toBe(false);
      expect(await opens(c.root, range, { ...honest, [field]: '0x' })).toBe(false);
    }
  });

  it('for another range', async () => {
    for (const other of [
      { ...range, tensor: 0 },
      { ...range, tensor: 2 },
      { ...range, tensor: 3 },
      { ...range, firstChunk: 2 },
      { ...range, firstChunk: 4 },
      { ...range, chunkCount: 2 },
      { ...range, chunkCount: 0 },
    ])
      expect(await opens(c.root, other, honest), JSON.stringify(other)).toBe(false);
  });

  it('an answer that the range is outside, for one that is inside', async () => {
    const outside = open(c, { ...range, firstChunk: 6 });
    expect(await opens(c.root, { ...range, firstChunk: 6 }, outside)).toBe(true);
    expect(await opens(c.root, range, outside)).toBe(false);
    const noSuchOutput = open(c, { ...range, tensor: 3 });
    expect(await opens(c.root, { ...range, tensor: 3 }, noSuchOutput)).toBe(true);
    expect(await opens(c.root, range, noSuchOutput)).toBe(false);
    for (const [field, value] of Object.entries({ tensorHeader: '0x00', elements: '0x00', chunkPath: [c.root] }))
      expect(await opens(c.root, { ...range, tensor: 3 }, { ...noSuchOutput, [field]: value }), field).toBe(false);
  });

  it('an answer that the range is outside, for one that begins inside and reaches beyond the end', async () => {
    const beyond = { ...range, firstChunk: 6 };
    const outside = open(c, beyond);
    for (const chunkCount of [4, 64, 2 ** 32 - 1]) {
      const partly = { ...range, chunkCount };
      expect(await opens(c.root, partly, honest), `${chunkCount}`).toBe(true);
      expect(open(c, partly)).toEqual(honest);
      expect(await opens(c.root, partly, outside), `${chunkCount}`).toBe(false);
      // Neither less than there is of it, nor more.
      expect(await opens(c.root, partly, open(c, { ...range, chunkCount: 2 }))).toBe(false);
      expect(await opens(c.root, partly, { ...honest, elements: `${honest.elements}00` })).toBe(false);
    }
  });

  it('an answer that the range is outside, with elements or another tree value', async () => {
    const beyond = { ...range, firstChunk: 6 };
    const outside = open(c, beyond);
    expect(await opens(c.root, beyond, outside)).toBe(true);
    expect(await opens(c.root, beyond, honest)).toBe(false);
    expect(await opens(c.root, beyond, { ...outside, elements: '0x00' })).toBe(false);
    expect(await opens(c.root, beyond, { ...outside, chunkPath: [flip(outside.chunkPath[0]!, 0)] })).toBe(false);
    expect(await opens(c.root, beyond, { ...outside, chunkPath: [] })).toBe(false);
    expect(await opens(c.root, beyond, { ...outside, chunkPath: [outside.chunkPath[0]!, c.root] })).toBe(false);
  });

  it('headers that no tensor has: each field, with a root made to fit', async () => {
    // A committer may hash any bytes; what such a header would mean must not be guessed.
    const base = { lo: 0, hi: 255, rank: 1, sides: [3], layout: [0], items: 1, chunks: 1 };
    const encode = (h: typeof base): string => {
      const u32 = (v: number): string => (v >>> 0).toString(16).padStart(8, '0');
      const u8 = (v: number): string => v.toString(16).padStart(2, '0');
      return `0x${u32(h.lo)}${u32(h.hi)}${u8(h.rank)}${h.sides.map(u32).join('')}${h.layout.map(u8).join('')}${u32(h.items)}${u32(h.chunks)}`;
    };
    /** Bytes of an element; null where it is none. */
    const read = async (h: typeof base): Promise<number | null> => {
      const [valid, header] = (await harness.call('readHeader', encode(h))) as [boolean, { width: bigint }];
      // Off chain the same is read.
      expect(readHeader(encode(h) as Hex) !== null, JSON.stringify(h)).toBe(valid);
      return valid ? Number(header.width) : null;
    };
    expect(await read(base)).toBe(1);
    expect(await read({ ...base, lo: -5, hi: -5 })).toBe(1);
    expect(await read({ ...base, lo: -(2 ** 31), hi: 2 ** 31 - 1 })).toBe(4);
    expect(await read({ ...base, ...FLOAT_RANGE })).toBe(4);
    for (const change of [
      { lo: 256 },
      { lo: 5, hi: -5 },
      // A range that ends before it begins is that of float32 or none.
      { lo: FLOAT_RANGE.lo, hi: FLOAT_RANGE.hi + 1 },
      { lo: FLOAT_RANGE.lo - 1, hi: FLOAT_RANGE.hi },
      { lo: FLOAT_RANGE.lo, hi: FLOAT_RANGE.lo - 1 },
      { lo: FLOAT_RANGE.hi + 1, hi: FLOAT_RANGE.hi },
      { ...FLOAT_RANGE, chunks: 0 },
      { ...FLOAT_RANGE, layout: [1] },
      { rank: 0 },
      { rank: 2 },
      { sides: [0] },
      { sides: [65] },
      { layout: [1] },
      { layout: [255] },
      { items: 0 },
      { items: 22 },
      { chunks: 0 },
      { chunks: 2 },
      { rank: 2, sides: [3, 1], layout: [0, 0] },
      { rank: 2, sides: [3, 1], layout: [0, 2] },
      { rank: 9, sides: Array<number>(9).fill(2 ** 32 - 1), layout: [0, 1, 2, 3, 4, 5, 6, 7, 8] },
      { rank: 8, sides: Array<number>(8).fill(2 ** 31), layout: [0, 1, 2, 3, 4, 5, 6, 7], chunks: 0 },
    ])
      expect(await read({ ...base, ...change }), JSON.stringify(change)).toBeNull();
  });
});
