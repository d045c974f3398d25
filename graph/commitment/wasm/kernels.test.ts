/** The kernels against JavaScript: every path through layout, width and tree, what they refuse, and threads. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../integer/testing/random-graph.js';
import { sizeOf } from '../../tensor.js';
import { merkleValue } from '../merkle.js';
import { rootFromTree, slowTreeValue, tensorHeader, type CommittedInfo } from '../tensor-root.js';
import { BlockQueue, queueMemory, RING_TASKS } from './block-queue.js';
import { hashModule } from './hash-kernels.js';
import { fastKeccak, fastMerkleValue, fastTreeValue } from './own-kernels.js';
import { isContiguous, orderOf } from './tensor-job.js';
import { TraceHasher } from './trace-hasher.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`kernels seed ${seed}`);

const RANGES = [
  [0, 255],
  [-128, 127],
  [3, 9],
  [-1, 128],
  [0, 65535],
  [-40_000, 40_000],
  [0, 2 ** 31 - 1],
  [-(2 ** 31), 2 ** 31 - 1],
] as const;

interface Case {
  readonly info: CommittedInfo;
  readonly items: number;
  readonly data: Int32Array;
}

function drawer(start: number) {
  const random = seededRandom(start);
  const int = (lo: number, hi: number): number => lo + Math.floor(random() * (hi - lo + 1));
  const shuffled = (count: number): number[] =>
    Array.from({ length: count }, (_, axis) => ({ axis, key: random() }))
      .sort((p, q) => p.key - q.key)
      .map(({ axis }) => axis);
  const fill = (shape: readonly number[], layout: readonly number[], items: number): Case => {
    const [lo, hi] = RANGES[int(0, RANGES.length - 1)]!;
    const data = Int32Array.from({ length: items * sizeOf(shape) }, () => int(lo, hi));
    return { info: { shape, layout, range: { lo, hi } }, items, data };
  };
  /** Any shape and layout. */
  const small = (): Case => {
    const shape = Array.from({ length: int(0, 5) }, () => int(1, 7));
    return fill(shape, shuffled(shape.length), int(1, 4));
  };
  /** Channels-last images: tiles, their rests, and several blocks. */
  const image = (): Case => {
    const shape = [int(1, 40), int(1, 24), int(1, 24)];
    return fill(shape, [1, 2, 0], int(1, 3));
  };
  return { int, small, image, fill };
}

const hexOf = (bytes: Uint8Array | null): string => (bytes === null ? 'nothing' : Buffer.from(bytes).toString('hex'));

it('are built (npm run build)', () => {
  expect(hashModule()).not.toBeNull();
});

describe('the tree over a tensor', () => {
  it('equals the slow one on random tensors', () => {
    const draw = drawer(seed);
    for (let i = 0; i < 400; i++) {
      const { info, data, items } = i % 4 === 0 ? draw.image() : draw.small();
      const what = `seed ${seed}, case ${i}: ${JSON.stringify(info)}, ${items} items`;
      expect(hexOf(fastTreeValue(info, data, items)), what).toBe(hexOf(slowTreeValue(info, data, items)));
    }
  });

  it.each<[string, readonly number[], readonly number[], number]>([
    ['exactly one block', [64 * 512], [0], 1],
    ['one element more', [64 * 512 + 1], [0], 1],
    ['one chunk more', [64 * 513], [0], 1],
    ['blocks of several items', [3, 50, 50], [1, 2, 0], 11],
    ['an item of several blocks, channels last', [70, 31, 37], [1, 2, 0], 1],
    ['rows longer than a block', [40_000, 2], [1, 0], 1],
    ['rows that are contiguous but not in order', [30, 40, 50], [1, 0, 2], 1],
    ['sides of one', [1, 300, 1, 200], [3, 2, 0, 1], 1],
  ])('equals the slow one: %s', (_, shape, layout, items) => {
    const draw = drawer(seed);
    for (let i = 0; i < 3; i++) {
      const { info, data } = draw.fill(shape, layout, items);
      expect(hexOf(fastTreeValue(info, data, items)), JSON.stringify(info.range)).toBe(
        hexOf(slowTreeValue(info, data, items)),
      );
    }
  });

  it('is refused with any element outside the range, wherever it lies', () => {
    const draw = drawer(seed + 1);
    let refused = 0;
    for (let i = 0; i < 300; i++) {
      const { info, data, items } = i % 2 === 0 ? draw.image() : draw.small();
      const { lo, hi } = info.range;
      const outside = [lo - 1, lo - 256, -(2 ** 31), hi + 1, hi + 256, 2 ** 31 - 1].filter(
        (v) => (v < lo || v > hi) && v === (v | 0),
      );
      if (outside.length === 0) continue;
      data[draw.int(0, data.length - 1)] = outside[draw.int(0, outside.length - 1)]!;
      refused++;
      expect(fastTreeValue(info, data, items), `seed ${seed + 1}, case ${i}: ${JSON.stringify(info)}`).toBeNull();
    }
    expect(refused).toBeGreaterThan(100);
  });

  it('of more dimensions than a job holds is left to JavaScript', () => {
    const shape = new Array<number>(14).fill(2);
    const layout = [...shape.keys()].reverse();
    const info = { shape, layout, range: { lo: 0, hi: 9 } };
    expect(orderOf(info, 1).dimensions).toHaveLength(14);
    expect(fastTreeValue(info, new Int32Array(2 ** 14), 1)).toBeNull();
  });

  it('knows contiguous orders', () => {
    const range = { lo: 0, hi: 9 };
    expect(isContiguous(orderOf({ shape: [3, 4, 5], layout: [0, 1, 2], range }, 7))).toBe(true);
    expect(isContiguous(orderOf({ shape: [1, 4, 5], layout: [1, 2, 0], range }, 7))).toBe(true);
    expect(isContiguous(orderOf({ shape: [], layout: [], range }, 1))).toBe(true);
    expect(orderOf({ shape: [3, 4, 5], layout: [1, 2, 0], range }, 2)).toEqual({
      dimensions: [2, 20, 3],
      strides: [60, 1, 20],
    });
  });
});

it('trees of 1 to 70 leaves equal the slow ones, and those of none are left to JavaScript', () => {
  const random = seededRandom(seed);
  const leaves: Uint8Array[] = [];
  expect(fastMerkleValue(0x21, leaves)).toBeNull();
  while (leaves.length < 70) {
    leaves.push(Uint8Array.from({ length: 32 }, () => Math.floor(256 * random())));
    expect(hexOf(fastMerkleValue(0x21, leaves)), `${leaves.length} leaves`).toBe(hexOf(merkleValue(0x21, leaves)));
  }
});

it('keccak256 equals the slow one for every length', () => {
  const random = seededRandom(seed);
  const lengths = [...Array(420).keys(), 5000, 100_000];
  for (const length of lengths) {
    const bytes = Uint8Array.from({ length }, () => Math.floor(256 * random()));
    expect(hexOf(fastKeccak(bytes)), `${length} bytes`).toBe(hexOf(keccak_256(bytes)));
  }
});

describe.each([1, 2, 3])('a trace on %d threads', (threads) => {
  const draw = drawer(seed + threads);
  const range = { lo: -128, hi: 127 };
  const rootOf = ({ info, data, items }: Case): string =>
    hexOf(rootFromTree(tensorHeader(info, items), slowTreeValue(info, data, items)));
  const large = (items: number): Case => ({
    info: { shape: [70_000], layout: [0], range },
    items,
    data: Int32Array.from({ length: 70_000 * items }, () => draw.int(-128, 127)),
  });
  const trace = (items: number): Case[] => {
    const drawn = Array.from({ length: 6 }, () => {
      const { info } = draw.int(0, 1) === 0 ? draw.image() : draw.small();
      return draw.fill(info.shape, info.layout, items);
    });
    const many = new Array<number>(14).fill(2);
    return [...drawn, large(items), draw.fill(many, [...many.keys()].reverse(), items)];
  };

  it('has the roots of its tensors, in any order, run after run, after abandoned ones too', async () => {
    const hasher = await TraceHasher.open(threads);
    for (let i = 0; i < 8; i++) {
      const items = draw.int(1, 2);
      const cases = trace(items);
      const run = hasher.begin(
        cases.map(({ info }) => info),
        items,
      );
      const order = [...cases.keys()].sort((a, b) => ((7 * a) % 8) - ((7 * b) % 8));
      order.forEach((position) => run.add(position, cases[position]!.data));
      if (i % 3 === 2) continue;
      expect(run.roots().map(hexOf), `seed ${seed + threads}, run ${i}`).toEqual(cases.map(rootOf));
    }
    await hasher.close();
  });

  it('names what is wrong', async () => {
    const hasher = await TraceHasher.open(threads);
    const cases = trace(1);
    const infos = cases.map(({ info }) => info);
    const attempt = (change: (data: Int32Array, position: number) => Int32Array | null): unknown => {
      try {
        const run = hasher.begin(infos, 1);
        cases.forEach(({ data }, position) => {
          const changed = change(data, position);
          if (changed !== null) run.add(position, changed);
        });
        return run.roots().map(hexOf);
      } catch (error) {
        return (error as { code: string }).code + (error as Error).message;
      }
    };
    const outside = attempt((data, position) =>
      position === 6 ? Int32Array.from(data).fill(128, 69_000, 69_001) : data,
    );
    expect(outside).toContain('INPUT_RANGEelement 69000 is 128, outside the committed range -128..127');
    expect(attempt((data, position) => (position === 6 ? data.subarray(1) : data))).toContain('needs 70000 elements');
    expect(attempt((data, position) => (position === 6 ? null : data))).toBe(
      'INTERNALtensor 6 of the trace was not given',
    );
    // And goes on as if nothing had been.
    expect(attempt((data) => data)).toEqual(cases.map(rootOf));
    await hasher.close();
  });
});

it('a trace that is begun while another one is hashed ends it', async () => {
  const hasher = await TraceHasher.open(2);
  const info: CommittedInfo = { shape: [70_000], layout: [0], range: { lo: 0, hi: 0 } };
  const run = hasher.begin([info], 1);
  hasher.begin([info], 1);
  expect(() => run.add(0, new Int32Array(70_000))).toThrow('a trace was begun while another one was hashed');
  expect(() => run.roots()).toThrow('a trace was begun');
  await hasher.close();
});

describe('the queue of blocks', () => {
  it('gives each task once, beyond the length of its ring and of its counters', () => {
    for (const start of [0, 2 ** 31 - 10]) {
      const memory = queueMemory();
      memory.fill(start, 0, 3);
      const drawn: string[] = [];
      const kernels = {
        hashBlock: (job: number, block: number): number => {
          drawn.push(`${job} ${block}`);
          return 1;
        },
      };
      const queue = new BlockQueue(memory, kernels, 0);
      const tasks = 2 * RING_TASKS + 5;
      for (let i = 0; i < tasks; i++) queue.publish(3 * i, i);
      expect(queue.finish()).toBe(false);
      expect(drawn).toEqual(Array.from({ length: tasks }, (_, i) => `${3 * i} ${i}`));
    }
  });

  it('says once that a block was refused or trapped', () => {
    for (const result of [0, 'trap'] as const) {
      const kernels = {
        hashBlock: (): number => {
          if (result === 'trap') throw new Error('unreachable');
          return result;
        },
      };
      const queue = new BlockQueue(queueMemory(), kernels, 0);
      queue.publish(0, 0);
      expect([queue.finish(), queue.finish()]).toEqual([true, false]);
    }
  });
});
