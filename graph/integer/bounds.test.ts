import { describe, expect, it } from 'vitest';
import { stridesOf } from '../tensor.js';
import { quotientRange, requantQuotient, type ChannelRanges } from './bounds.js';
import { GraphBuilder } from './builder.js';
import { evaluateGraph } from './evaluate.js';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom } from './testing/random-graph.js';
import { rangesOfTensors } from './validate.js';

const FIRST_SEED = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);

const plain = ({ axis, lo, hi, magnitude }: ChannelRanges): object => ({
  axis,
  lo: [...lo],
  hi: [...hi],
  magnitude: [...magnitude],
});

describe('channel ranges', () => {
  it('of a product are exact: attained by the inputs that the signs of the weights choose', () => {
    const random = seededRandom(7);
    const builder = new GraphBuilder();
    const [K, N] = [30, 4];
    const x = builder.addInput('x', [K], { lo: -40, hi: 90 }, 1, 0);
    const weight = Int8Array.from({ length: K * N }, () => Math.floor(random() * 256) - 128);
    const y = builder.add({
      kind: 'matmul',
      name: 'fc',
      x,
      inFeatures: K,
      outFeatures: N,
      weight,
      bias: Int32Array.of(1, -2, 3, -4),
    });
    const graph = builder.finish('g', [y]);
    const bounds = builder.channelRanges(y);
    expect(bounds.axis).toBe(0);
    for (let n = 0; n < N; n++) {
      const towards = (up: boolean): number => {
        const input = Int32Array.from({ length: K }, (_, k) => (weight[n * K + k]! > 0 === up ? 90 : -40));
        return evaluateGraph(graph, [input], 1)[y]![n]!;
      };
      expect([towards(false), towards(true)]).toEqual([bounds.lo[n], bounds.hi[n]]);
    }
  });

  it('hold 0 where a window touches padding', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1, 2, 2], { lo: 5, hi: 9 }, 1, 0);
    const window = { kernel: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [1, 0, 0, 0] } as const;
    expect(plain(builder.channelRanges(builder.add({ kind: 'sumPool', name: 's', x, window })))).toMatchObject({
      lo: [0],
      hi: [36],
    });
    const conv = builder.add({
      kind: 'conv',
      name: 'c',
      x,
      window,
      groups: 1,
      outChannels: 1,
      weight: Int8Array.of(1, 1, 1, 1),
      bias: null,
    });
    expect(plain(builder.channelRanges(conv))).toMatchObject({ lo: [0], hi: [36] });
  });

  it('follow channels through reshape, transpose and concat', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [2, 3], { lo: 0, hi: 10 }, 1, 0);
    const y = builder.add({
      kind: 'scale',
      name: 's',
      x,
      factor: { shape: [2, 1], data: Int32Array.of(1, -2) },
      bias: null,
    });
    const flat = builder.add({ kind: 'reshape', name: 'r', x: y }, { shape: [1, 6] });
    expect(plain(builder.channelRanges(flat))).toMatchObject({
      axis: 1,
      hi: [10, 10, 10, 0, 0, 0],
      lo: [0, 0, 0, -20, -20, -20],
    });
    const turned = builder.add({ kind: 'transpose', name: 't', x: y, permutation: [1, 0] });
    expect(plain(builder.channelRanges(turned))).toMatchObject({ axis: 1, lo: [0, -20] });
    const joined = builder.add({ kind: 'concat', name: 'j', xs: [turned, turned], axis: 0 });
    expect(plain(builder.channelRanges(joined))).toMatchObject({ axis: 1, lo: [0, -20] });
    const stacked = builder.add({ kind: 'concat', name: 'k', xs: [x, y], axis: 0 });
    expect(plain(builder.channelRanges(stacked))).toMatchObject({ axis: 0, lo: [0, 0, 0, -20] });
  });

  it('keep the partial sums of an operand: three times a convolution has three times its partial sums', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1], { lo: 100, hi: 101 }, 1, 0);
    const y = builder.add({
      kind: 'matmul',
      name: 'm',
      x,
      inFeatures: 1,
      outFeatures: 1,
      weight: Int8Array.of(100),
      bias: Int32Array.of(-10_000),
    });
    const z = builder.add({ kind: 'combine', name: 'c', terms: [{ x: y, coefficient: 3 }], bias: null });
    expect(plain(builder.channelRanges(z))).toEqual({
      axis: 0,
      lo: [0],
      hi: [300],
      magnitude: [60_300],
    });
  });

  it('of a square are not negative', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1], { lo: -9, hi: 4 }, 1, 0);
    expect(plain(builder.channelRanges(builder.add({ kind: 'mul', name: 'm', a: x, b: x })))).toMatchObject({
      lo: [0],
      hi: [81],
    });
  });

  it('hold every element that random graphs compute, channel by channel', () => {
    for (let i = 0; i < 600; i++) {
      const seed = (FIRST_SEED + i) >>> 0;
      const random = seededRandom(seed);
      const { graph, inputs, items } =
        i % 4 === 0 ? randomGraph(random) : randomNodeCase(NODE_KINDS[i % NODE_KINDS.length]!, random);
      const values = evaluateGraph(graph, inputs, items);
      const ranges = rangesOfTensors(graph);
      graph.tensors.forEach(({ name, shape }, id) => {
        const { axis, lo, hi, magnitude } = ranges[id]!;
        const inner = axis === null ? 1 : stridesOf(shape)[axis]!;
        const bad = values[id]!.findIndex((v, position) => {
          const c = axis === null ? 0 : Math.floor(position / inner) % shape[axis]!;
          return v < lo[c]! || v > hi[c]! || Math.abs(v) > magnitude[c]!;
        });
        if (bad >= 0)
          expect.fail(`seed ${seed}: '${name}' element ${bad} = ${values[id]![bad]} leaves its channel's bounds`);
      });
    }
  });
});

describe('the quotient of a requantisation', () => {
  it('rounds half up and floors towards minus infinity', () => {
    const half = 2 ** 23;
    expect([-3, -2, -1, 0, 1, 2, 3].map((x) => requantQuotient(x, half))).toEqual(
      [-1, -1, 0, 0, 1, 1, 2].map((q) => q + 0),
    );
  });

  it('equals the bigint formula at the edges of its domain', () => {
    const random = seededRandom(11);
    for (let i = 0; i < 20_000; i++) {
      const multiplier = 1 + Math.floor(random() * (2 ** 28 - 1));
      const most = Math.min(2 ** 31 - 1, Math.floor((2 ** 52 - 2 ** 24) / multiplier));
      const x = Math.round((random() * 2 - 1) * most);
      const expected = (BigInt(x) * BigInt(multiplier) + (1n << 23n)) >> 24n;
      expect(requantQuotient(x, multiplier)).toBe(Number(expected));
    }
  });

  it('spans the channels', () => {
    const bounds: ChannelRanges = {
      axis: 0,
      lo: Float64Array.of(-100, 0),
      hi: Float64Array.of(0, 1000),
      magnitude: Float64Array.of(100, 1000),
    };
    expect(quotientRange(bounds, Int32Array.of(2 ** 24, 2 ** 20), 0)).toEqual({ lo: -100, hi: 63 });
    expect(quotientRange(bounds, Int32Array.of(2 ** 24), null)).toEqual({ lo: -100, hi: 1000 });
  });
});
