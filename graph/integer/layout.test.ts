import { describe, expect, it } from 'vitest';
import { GraphBuilder } from './builder.js';

const window = { kernel: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] } as const;

describe('layouts', () => {
  it('are channels-last under convolution and pooling, through views, and as in memory elsewhere', () => {
    const builder = new GraphBuilder();
    const direct = builder.addInput('direct', [2, 4, 4], { lo: 0, hi: 1 }, 1, 0);
    const turned = builder.addInput('turned', [4, 4, 2], { lo: 0, hi: 1 }, 1, 0);
    const other = builder.addInput('other', [2, 4, 4], { lo: 0, hi: 1 }, 1, 0);
    const flat = builder.addInput('flat', [32], { lo: 0, hi: 1 }, 1, 0);
    const channelsFirst = builder.add({ kind: 'transpose', name: 't', x: turned, permutation: [2, 0, 1] });
    const sum = builder.add({
      kind: 'combine',
      name: 's',
      terms: [
        { x: direct, coefficient: 1 },
        { x: channelsFirst, coefficient: 1 },
      ],
      bias: null,
    });
    const pooled = builder.add({ kind: 'maxPool', name: 'p', x: sum, window });
    const most = builder.add({ kind: 'reduceMax', name: 'm', x: other, axes: [0] });
    const weight = new Int8Array(32).fill(1);
    const y = builder.add({ kind: 'matmul', name: 'fc', x: flat, inFeatures: 32, outFeatures: 1, weight, bias: null });
    const graph = builder.finish('g', [pooled, most, y]);
    const layout = (id: number): readonly number[] => graph.tensors[id]!.layout;
    expect(layout(direct)).toEqual([1, 2, 0]);
    // Memory [row, column, channel]: rows, then columns, then channels are axes 0, 1, 2 of it.
    expect(layout(turned)).toEqual([0, 1, 2]);
    expect(layout(sum)).toEqual([1, 2, 0]);
    expect([layout(other), layout(pooled), layout(flat)]).toEqual([[0, 1, 2], [0, 1, 2], [0]]);
  });

  it('follow the first consumer that cares', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [2, 4, 4], { lo: 0, hi: 1 }, 1, 0);
    const a = builder.add({ kind: 'reduceMax', name: 'm', x, axes: [0] });
    const turned = builder.add({ kind: 'transpose', name: 't', x, permutation: [1, 0, 2] });
    const b = builder.add({ kind: 'maxPool', name: 'first', x: turned, window });
    const c = builder.add({ kind: 'maxPool', name: 'second', x, window });
    // 'first' reads [row, column, channel] of the transpose [1, 2, 0], which are axes 0, 2, 1 of x.
    expect(builder.finish('g', [a, b, c]).tensors[x]!.layout).toEqual([0, 2, 1]);
  });
});
