/** Small examples worked by hand; the equivalence with other engines is tested in export-exact.test.ts. */
import { describe, expect, it } from 'vitest';
import type { AssayError } from '../../common/errors.js';
import { GraphBuilder } from './builder.js';
import { evaluateGraph } from './evaluate.js';
import { slotsOf } from './operands.js';
import type { NewNode } from './shapes.js';
import type { IntegerGraph } from './types.js';

const range = { lo: -100, hi: 100 };
const window = (
  kernel: [number, number],
  more: object = {},
): {
  kernel: [number, number];
  strides: [number, number];
  dilations: [number, number];
  pads: [number, number, number, number];
} => ({
  kernel,
  strides: [1, 1],
  dilations: [1, 1],
  pads: [0, 0, 0, 0],
  ...more,
});

/** Output of one node over inputs of the given shapes and values, one item each. */
function run(
  node: NewNode,
  operands: [shape: number[], values: number[]][],
  shape?: number[],
): { shape: readonly number[]; values: number[] } {
  const builder = new GraphBuilder();
  operands.forEach(([side], i) => builder.addInput(`x${i}`, side, range, 1, 0));
  const output = builder.add(node, shape ? { shape } : {});
  const graph = builder.finish('one', [output]);
  const values = evaluateGraph(
    graph,
    operands.map(([, v]) => Int32Array.from(v)),
    1,
  );
  return { shape: graph.tensors[output]!.shape, values: [...values[output]!] };
}

const n = { name: 'n' };

describe('the reference evaluator', () => {
  it('multiplies matrices with [out][in] weights', () => {
    const weight = Int8Array.of(1, 2, 3, -1, 0, 1);
    expect(
      run({ ...n, kind: 'matmul', x: 0, inFeatures: 3, outFeatures: 2, weight, bias: Int32Array.of(10, 20) }, [
        [
          [2, 3],
          [1, 2, 3, 4, 5, 6],
        ],
      ]),
    ).toEqual({
      shape: [2, 2],
      values: [24, 22, 42, 22],
    });
  });
  it('multiplies activations by the transpose of the second', () => {
    expect(
      run({ ...n, kind: 'matmulActivations', a: 0, b: 1 }, [
        [
          [1, 2],
          [3, 4],
        ],
        [
          [2, 2],
          [1, 0, 5, -1],
        ],
      ]),
    ).toEqual({ shape: [1, 2], values: [3, 11] });
  });
  it('cross-correlates with channels innermost in the weight', () => {
    const weight = Int8Array.of(1, 10, 2, 20);
    const node: NewNode = {
      ...n,
      kind: 'conv',
      x: 0,
      window: window([1, 2]),
      groups: 1,
      outChannels: 1,
      weight,
      bias: null,
    };
    expect(
      run(node, [
        [
          [2, 1, 3],
          [1, 2, 3, 4, 5, 6],
        ],
      ]),
    ).toEqual({ shape: [1, 1, 2], values: [1 + 40 + 4 + 100, 2 + 50 + 6 + 120] });
  });
  it('pads convolutions with 0, strides, dilates, groups', () => {
    const node: NewNode = {
      ...n,
      kind: 'conv',
      x: 0,
      window: window([1, 2], { pads: [0, 1, 0, 1], strides: [1, 2], dilations: [1, 2] }),
      groups: 2,
      outChannels: 2,
      weight: Int8Array.of(1, 2, 3, 4),
      bias: null,
    };
    // Columns -1, 0..3, 4; outputs at -1 and 1 read (-1, 1) and (1, 3).
    expect(
      run(node, [
        [
          [2, 1, 4],
          [1, 2, 3, 4, 5, 6, 7, 8],
        ],
      ]),
    ).toEqual({ shape: [2, 1, 2], values: [4, 2 + 8, 24, 18 + 32] });
  });
  it('combines and scales with broadcast constants', () => {
    const combine: NewNode = {
      ...n,
      kind: 'combine',
      terms: [
        { x: 0, coefficient: 2 },
        { x: 1, coefficient: -1 },
      ],
      bias: { shape: [2], data: Int32Array.of(100, 200) },
    };
    expect(
      run(combine, [
        [
          [2, 2],
          [1, 2, 3, 4],
        ],
        [
          [2, 2],
          [5, 6, 7, 8],
        ],
      ]).values,
    ).toEqual([97, 198, 99, 200]);
    const scale: NewNode = {
      ...n,
      kind: 'scale',
      x: 0,
      factor: { shape: [2, 1], data: Int32Array.of(3, -1) },
      bias: { shape: [], data: Int32Array.of(1) },
    };
    expect(
      run(scale, [
        [
          [2, 2],
          [1, 2, 3, 4],
        ],
      ]).values,
    ).toEqual([4, 7, -2, -3]);
  });
  it('multiplies elementwise', () => {
    expect(
      run({ ...n, kind: 'mul', a: 0, b: 1 }, [
        [[2], [3, -4]],
        [[2], [5, 6]],
      ]).values,
    ).toEqual([15, -24]);
  });
  it('pools sums with padding 0 and maxima without padding', () => {
    const pads = { pads: [1, 0, 0, 0] };
    const x: [number[], number[]] = [
      [1, 2, 2],
      [-1, -2, -3, -4],
    ];
    expect(run({ ...n, kind: 'sumPool', x: 0, window: window([2, 2], pads) }, [x]).values).toEqual([-3, -10]);
    expect(run({ ...n, kind: 'maxPool', x: 0, window: window([2, 2], pads) }, [x]).values).toEqual([-1, -1]);
  });
  it('reduces; ArgMax takes the first of equal maxima', () => {
    const x: [number[], number[]] = [
      [2, 3],
      [1, 7, 7, -1, -5, -1],
    ];
    expect(run({ ...n, kind: 'reduceSum', x: 0, axes: [0] }, [x])).toEqual({ shape: [1, 3], values: [0, 2, 6] });
    expect(run({ ...n, kind: 'reduceMax', x: 0, axes: [0, 1] }, [x])).toEqual({ shape: [1, 1], values: [7] });
    expect(run({ ...n, kind: 'argMax', x: 0, axis: 1 }, [x])).toEqual({ shape: [2, 1], values: [1, 0] });
  });
  it('requantises by clamp per channel and by table', () => {
    const clamp: NewNode = {
      ...n,
      kind: 'requant',
      x: 0,
      multipliers: Int32Array.of(2 ** 24, 2 ** 23),
      channelAxis: 0,
      table: { kind: 'clamp', qLo: -100, qHi: 100, lo: 0, hi: 60 },
    };
    expect(
      run(clamp, [
        [
          [2, 2],
          [-3, 77, -3, 77],
        ],
      ]).values,
    ).toEqual([0, 60, 0, 39]);
    const values = Int16Array.from({ length: 201 }, (_, i) => (i - 100) ** 2);
    const table: NewNode = {
      ...n,
      kind: 'requant',
      x: 0,
      multipliers: Int32Array.of(2 ** 24),
      channelAxis: null,
      table: { kind: 'values', qLo: -100, qHi: 100, values, label: 'square' },
    };
    expect(run(table, [[[3], [-100, 0, 12]]]).values).toEqual([10_000, 0, 144]);
  });
  it('moves elements', () => {
    const x: [number[], number[]] = [
      [2, 3],
      [1, 2, 3, 4, 5, 6],
    ];
    expect(run({ ...n, kind: 'reshape', x: 0 }, [x], [3, 2]).values).toEqual([1, 2, 3, 4, 5, 6]);
    expect(run({ ...n, kind: 'transpose', x: 0, permutation: [1, 0] }, [x])).toEqual({
      shape: [3, 2],
      values: [1, 4, 2, 5, 3, 6],
    });
    expect(
      run({ ...n, kind: 'concat', xs: [0, 1], axis: 1 }, [
        x,
        [
          [2, 1],
          [8, 9],
        ],
      ]).values,
    ).toEqual([1, 2, 3, 8, 4, 5, 6, 9]);
    expect(run({ ...n, kind: 'slice', x: 0, starts: [1, 2], steps: [-1, -2] }, [x], [2, 2]).values).toEqual([
      6, 4, 3, 1,
    ]);
    expect(run({ ...n, kind: 'pad', x: 0, before: [0, 1], after: [1, 0], value: 9 }, [x])).toEqual({
      shape: [3, 4],
      values: [9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9],
    });
    expect(
      run(
        { ...n, kind: 'expand', x: 0 },
        [
          [
            [2, 1],
            [3, 4],
          ],
        ],
        [2, 2],
      ).values,
    ).toEqual([3, 3, 4, 4]);
  });

  const identity = (): IntegerGraph => {
    const builder = new GraphBuilder();
    const x = builder.addInput('pixels', [2], { lo: 0, hi: 127 }, 1, 0);
    return builder.finish('g', [builder.add({ kind: 'reshape', name: 'r', x }, { shape: [2] })]);
  };
  const codeAndMessage = (inputs: Int32Array[], items: number): string => {
    try {
      evaluateGraph(identity(), inputs, items);
    } catch (error) {
      return `${(error as AssayError).code}: ${(error as Error).message}`;
    }
    return 'accepted';
  };
  it('evaluates items one after another', () => {
    expect([...evaluateGraph(identity(), [Int32Array.of(1, 2, 3, 4)], 2)[1]!]).toEqual([1, 2, 3, 4]);
  });
  it('refuses input outside its range, naming tensor, element, value and range', () => {
    expect(codeAndMessage([Int32Array.of(0, 127)], 1)).toBe('accepted');
    expect(codeAndMessage([Int32Array.of(0, 300)], 1)).toBe(
      "INPUT_RANGE: input 'pixels' element 1 is 300, outside its range 0..127",
    );
    expect(codeAndMessage([Int32Array.of(-1, 0)], 1)).toContain('element 0 is -1');
    expect(codeAndMessage([Int32Array.of(1)], 1)).toContain('has 1 elements; 1 items of [2] have 2');
    expect(codeAndMessage([], 1)).toContain('has 1 inputs, 0 were given');
    expect(codeAndMessage([new Int32Array(0)], 0)).toContain('0 items');
  });
  it('reports a broken proof as a defect', () => {
    const graph = identity();
    const lying: IntegerGraph = {
      ...graph,
      tensors: graph.tensors.map((info, id) => (id === 1 ? { ...info, range: { lo: 0, hi: 1 } } : info)),
    };
    expect(() => evaluateGraph(lying, [Int32Array.of(5, 0)], 1)).toThrow(/outside its proved range 0\.\.1/);
  });
});

describe('slots', () => {
  it('are inputs, stored tensors and outputs, in node order', () => {
    const builder = new GraphBuilder();
    const a = builder.addInput('a', [4], { lo: 0, hi: 1 }, 1, 0);
    const view = builder.add({ kind: 'reshape', name: 'view', x: a }, { shape: [2, 2] });
    const top = builder.add({ kind: 'reduceMax', name: 'top', x: view, axes: [0] });
    const unread = builder.addInput('b', [1], { lo: 0, hi: 1 }, 1, 0);
    const logits = builder.add({
      kind: 'matmul',
      name: 'fc',
      x: top,
      inFeatures: 2,
      outFeatures: 1,
      weight: Int8Array.of(1, 1),
      bias: null,
    });
    const label = builder.add({ kind: 'argMax', name: 'label', x: top, axis: 1 });
    expect(slotsOf(builder.finish('g', [label, logits]))).toEqual([a, unread, top, logits, label]);
  });
});
