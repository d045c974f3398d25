/**
 * Small random jobs that the proof system has a form for: one around every operator and its corners, and small networks.
 * Ranges are narrow and quotients few, so that witness and tables fit some thousand cells and the readable reference
 * prover needs a fraction of a second.
 */
import { GraphBuilder } from '../../graph/integer/builder.js';
import { evaluateGraph } from '../../graph/integer/evaluate.js';
import type { NewNode } from '../../graph/integer/shapes.js';
import type { BroadcastConstant, IntegerGraph, TensorId, Window2d } from '../../graph/integer/types.js';
import { sizeOf } from '../../graph/tensor.js';
import { buildProgram, type ProgramWithModel } from '../program/build-program.js';
import { bitsOf, bitsOfAxes, placeSlots } from '../program/layout.js';
import { MIN_COLUMN_BITS } from '../program/model-bits.js';
import type { Draw } from './draw.js';

/** One graph with a batch of inputs. */
export interface AuditGroup {
  readonly graph: IntegerGraph;
  readonly built: ProgramWithModel;
  readonly items: number;
  readonly inputs: readonly Int32Array[];
  /** Every tensor, item-major. */
  readonly values: readonly Int32Array[];
}

const window = (
  kernel: readonly [number, number],
  strides: readonly [number, number] = [1, 1],
  pads: readonly [number, number, number, number] = [0, 0, 0, 0],
  dilations: readonly [number, number] = [1, 1],
): Window2d => ({ kernel, strides, dilations, pads });

/** A graph under construction. */
class Sketch {
  readonly builder = new GraphBuilder();
  private inputs = 0;

  constructor(readonly draw: Draw) {}

  shape(id: TensorId): readonly number[] {
    return this.builder.tensor(id).shape;
  }

  input(shape: readonly number[]): TensorId {
    const [lo, hi] = this.draw.pick([
      [0, 255],
      [-128, 127],
      [0, 7],
      [-9, 20],
      [3, 60],
    ] as const);
    return this.builder.addInput(`x${this.inputs++}`, shape, { lo, hi }, 1, 0);
  }

  add(node: NewNode, shape?: readonly number[]): TensorId {
    return this.builder.add(node, shape === undefined ? {} : { shape });
  }

  weights(length: number): Int8Array {
    return Int8Array.from(this.draw.values(length, -20, 20));
  }

  bias(length: number): Int32Array | null {
    return this.draw.chance(0.25) ? null : this.draw.values(length, -900, 900);
  }

  constant(shape: readonly number[], most: number): BroadcastConstant {
    return { shape, data: this.draw.values(sizeOf(shape), -most, most) };
  }

  /** A requantisation whose quotients stay within some tens. */
  requant(x: TensorId, kind?: 'clamp' | 'values', channelAxis: number | null = null): TensorId {
    const { draw, builder } = this;
    const { lo, hi } = builder.channelRanges(x);
    const bound = [...lo, ...hi].reduce((most, v) => Math.max(most, Math.abs(v)), 1);
    const most = Math.max(1, Math.min(2 ** 28 - 1, Math.floor((draw.int(9, 40) * 2 ** 24) / bound)));
    const count = channelAxis === null ? 1 : this.shape(x)[channelAxis]!;
    const multipliers = draw.values(count, Math.ceil(most / 2), most);
    const q = builder.quotientRange(x, multipliers, channelAxis);
    const table =
      (kind ?? draw.pick(['clamp', 'values'])) === 'clamp'
        ? ({ kind: 'clamp', qLo: q.lo, qHi: q.hi, lo: draw.pick([0, -8, -100]), hi: draw.pick([7, 30, 127]) } as const)
        : ({
            kind: 'values',
            qLo: q.lo,
            qHi: q.hi,
            values: Int16Array.from(draw.values(q.hi - q.lo + 1, -60, 60)),
            label: 'random',
          } as const);
    return this.add({ kind: 'requant', name: 'requant', x, multipliers, channelAxis, table });
  }

  matmul(x: TensorId, outFeatures: number): TensorId {
    const inFeatures = this.shape(x).at(-1)!;
    const weight = this.weights(inFeatures * outFeatures);
    return this.add({
      kind: 'matmul',
      name: 'matmul',
      x,
      inFeatures,
      outFeatures,
      weight,
      bias: this.bias(outFeatures),
    });
  }

  conv(x: TensorId, outChannels: number, groups: number, w: Window2d): TensorId {
    const perGroup = this.shape(x)[0]! / groups;
    const weight = this.weights(outChannels * w.kernel[0] * w.kernel[1] * perGroup);
    return this.add({
      kind: 'conv',
      name: 'conv',
      x,
      window: w,
      groups,
      outChannels,
      weight,
      bias: this.bias(outChannels),
    });
  }

  combine(terms: readonly (readonly [TensorId, number])[], bias: BroadcastConstant | null = null): TensorId {
    return this.add({
      kind: 'combine',
      name: 'combine',
      terms: terms.map(([x, coefficient]) => ({ x, coefficient })),
      bias,
    });
  }

  maxPool(x: TensorId, w: Window2d): TensorId {
    return this.add({ kind: 'maxPool', name: 'maxPool', x, window: w });
  }
}

/** Each builds a graph and names its outputs. */
const RECIPES = {
  matmul: (s) => [s.matmul(s.input([s.draw.int(1, 9)]), s.draw.int(1, 6))],
  matmulRows: (s) => [s.requant(s.matmul(s.input([2, 3, s.draw.int(2, 5)]), 3), 'clamp', s.draw.pick([null, 0, 1, 2]))],
  denseLayers: (s) => [s.matmul(s.requant(s.matmul(s.input([5]), 6), 'clamp'), 3)],
  matmulActivations: (s) => {
    const k = s.draw.int(2, 5);
    return [s.add({ kind: 'matmulActivations', name: 'scores', a: s.input([3, k]), b: s.input([2, k]) })];
  },
  attentionHeads: (s) => {
    const x = s.input([3, 5, 3]);
    const scores = s.requant(
      s.add({ kind: 'matmulActivations', name: 'scores', a: x, b: s.input([3, 2, 3]) }),
      'values',
    );
    return [s.requant(s.matmul(scores, 3), 'clamp')];
  },
  attentionSelf: (s) => {
    const x = s.input([2, 3, 3]);
    return [
      s.requant(s.add({ kind: 'matmulActivations', name: 'scores', a: x, b: x }), 'clamp', s.draw.pick([null, 0, 1])),
    ];
  },
  conv: (s) => [
    s.requant(s.conv(s.input([3, 5, 4]), 3, 1, window([3, 2], [1, 1], [1, 0, 1, 1])), 'clamp', s.draw.pick([null, 0])),
  ],
  convDilated: (s) => [s.conv(s.input([2, 6, 5]), 2, 1, window([2, 3], [2, 1], [0, 1, 1, 2], [2, 1]))],
  convGroups: (s) => [s.requant(s.conv(s.input([6, 3, 3]), 4, 2, window([2, 2])), undefined, 0)],
  depthwise: (s) => [
    s.requant(s.conv(s.input([3, 4, 5]), 3, 3, window([3, 3], [2, 1], [1, 1, 1, 1])), 'clamp', s.draw.pick([null, 0])),
  ],
  convLayers: (s) => {
    const first = s.requant(s.conv(s.input([1, 7, 7]), 3, 1, window([3, 3])), 'clamp', 0);
    return [
      s.conv(s.add({ kind: 'sumPool', name: 'pool', x: first, window: window([2, 2], [2, 2]) }), 2, 1, window([2, 2])),
    ];
  },
  mul: (s) => [
    s.requant(
      s.add({ kind: 'mul', name: 'mul', a: s.input([3, 5]), b: s.input([3, 5]) }),
      undefined,
      s.draw.pick([null, 0, 1]),
    ),
  ],
  square: (s) => {
    const x = s.input([s.draw.int(1, 7)]);
    return [s.add({ kind: 'mul', name: 'square', a: x, b: x })];
  },
  scale: (s) => [
    s.requant(
      s.add({
        kind: 'scale',
        name: 'scale',
        x: s.input([3, 2, 3]),
        factor: s.constant([3, 1, 1], 20),
        bias: s.constant([3], 99),
      }),
    ),
  ],
  biasBroadcast: (s) => [
    s.combine([[s.input([3, 2, 5]), 3]], s.constant(s.draw.pick([[], [5], [2, 1], [3, 1, 1], [3, 2, 5]]), 500)),
  ],
  residual: (s) => {
    const x = s.input([3, 5]);
    const y = s.requant(s.matmul(x, 5), 'clamp');
    return [
      s.requant(
        s.combine([
          [x, 1],
          [y, -2],
        ]),
      ),
      y,
    ];
  },
  doubled: (s) => {
    const y = s.requant(s.matmul(s.input([4]), 5), 'clamp');
    return [
      s.combine([
        [y, 1],
        [y, 1],
      ]),
    ];
  },
  subSelf: (s) => {
    const y = s.requant(s.matmul(s.input([4]), 5), 'clamp');
    return [
      s.combine([
        [y, 1],
        [y, -1],
      ]),
    ];
  },
  sumPool: (s) => [
    s.requant(
      s.add({ kind: 'sumPool', name: 'pool', x: s.input([3, 5, 6]), window: window([3, 2], [2, 1], [1, 0, 0, 1]) }),
    ),
  ],
  reduceSum: (s) => [
    s.add({ kind: 'reduceSum', name: 'sum', x: s.input([3, 5, 2]), axes: s.draw.pick([[0], [1], [0, 2], [0, 1, 2]]) }),
  ],
  requantClamp: (s) => [s.requant(s.input(s.draw.pick([[], [1], [5], [3, 3]])), 'clamp')],
  requantValues: (s) => [s.requant(s.input(s.draw.pick([[], [1], [5], [3, 3]])), 'values')],
  requantTwoTables: (s) => {
    const x = s.input([5]);
    return [s.requant(x, 'values'), s.requant(x, 'values'), s.requant(x, 'clamp')];
  },
  requantChannels: (s) => {
    const axis = s.draw.int(0, 2);
    return [s.requant(s.input([2, 3, 5]), undefined, axis)];
  },
  maxPool: (s) => [s.maxPool(s.input([2, 4, 6]), window([2, 2], [2, 2]))],
  maxPoolOverlapping: (s) => [s.maxPool(s.requant(s.input([2, 5, 4]), 'clamp'), window([2, 2], [1, 1]))],
  maxPoolPadded: (s) => [s.maxPool(s.input([1, 5, 5]), window([3, 3], [2, 2], [1, 1, 1, 1]))],
  maxPool3x3: (s) => [
    s.matmul(s.add({ kind: 'reshape', name: 'flat', x: s.maxPool(s.input([2, 5, 4]), window([3, 3])) }, [12]), 2),
  ],
  maxPoolRow: (s) => [s.maxPool(s.input([1, 3, 6]), window([1, 5], [2, 1]))],
  maxPoolBias: (s) => {
    const x = s.requant(s.input([2, 4, 4]), 'clamp');
    return [s.maxPool(s.combine([[x, 1]], s.constant([2, 1, 1], 9)), window([2, 2], [2, 2]))];
  },
  maxPool1d: (s) => [s.maxPool(s.input([3, 1, 9]), window([1, s.draw.pick([2, 3, 5])], [1, 2]))],
  reduceMax: (s) => [
    s.add({
      kind: 'reduceMax',
      name: 'max',
      x: s.input([3, 6, 5]),
      axes: s.draw.pick([[1], [1, 2], [0, 2], [0, 1, 2]]),
    }),
  ],
  argMax: (s) => {
    const logits = s.requant(s.matmul(s.input([4]), 7), 'clamp');
    return [s.add({ kind: 'argMax', name: 'label', x: logits, axis: 0 })];
  },
  concat: (s) => {
    const [a, b] = [s.input([2, 3]), s.input([2, 4])];
    return [s.matmul(s.add({ kind: 'concat', name: 'concat', xs: [a, s.requant(b, 'clamp'), a], axis: 1 }), 3)];
  },
  concatMax: (s) => {
    const [a, b] = [s.input([3, 2]), s.requant(s.input([2, 2]), 'clamp')];
    return [
      s.add({
        kind: 'reduceMax',
        name: 'max',
        x: s.add({ kind: 'concat', name: 'concat', xs: [a, b], axis: 0 }),
        axes: [0],
      }),
    ];
  },
  sliceNegative: (s) => [
    s.requant(
      s.add(
        { kind: 'slice', name: 'slice', x: s.input([5, 6]), starts: [4, 1], steps: [s.draw.pick([-1, -2]), 2] },
        [2, 3],
      ),
    ),
  ],
  padValueConv: (s) => {
    const x = s.input([2, 3, 3]);
    const padded = s.add({
      kind: 'pad',
      name: 'pad',
      x,
      before: [0, 1, 0],
      after: [0, 1, 2],
      value: s.draw.pick([7, -5]),
    });
    return [s.requant(s.conv(padded, 2, 1, window([3, 3])), 'clamp')];
  },
  expand: (s) => [s.requant(s.add({ kind: 'expand', name: 'expand', x: s.input([3, 1, 2]) }, [3, 5, 2]))],
  expandMul: (s) => {
    const gate = s.add({ kind: 'expand', name: 'expand', x: s.requant(s.input([3, 1]), 'clamp') }, [3, 5]);
    return [s.add({ kind: 'mul', name: 'mul', a: gate, b: s.input([3, 5]) })];
  },
  transposeRequant: (s) => {
    const moved = s.add({
      kind: 'transpose',
      name: 'move',
      x: s.matmul(s.input([3, 5, 2]), 3),
      permutation: s.draw.shuffled([0, 1, 2]),
    });
    return [s.requant(moved, undefined, s.draw.pick([null, 0, 1, 2]))];
  },
  reshapeRequant: (s) => {
    const split = s.add({ kind: 'reshape', name: 'split', x: s.matmul(s.input([5]), 6) }, [2, 3]);
    return [s.requant(split, undefined, s.draw.pick([null, 0, 1]))];
  },
  flattenMatmul: (s) => {
    const y = s.requant(s.conv(s.input([1, 4, 4]), 3, 1, window([2, 2])), 'clamp');
    return [s.matmul(s.add({ kind: 'reshape', name: 'flatten', x: y }, [27]), 4)];
  },
  wiringOfSums: (s) => {
    const y = s.matmul(s.input([2, 3]), 3);
    const moved = s.add({ kind: 'transpose', name: 'move', x: y, permutation: [1, 0] });
    const cut = s.add({ kind: 'slice', name: 'cut', x: moved, starts: [2, 0], steps: [-1, 1] }, [3, 1]);
    return [s.requant(s.add({ kind: 'pad', name: 'pad', x: cut, before: [1, 0], after: [0, 2], value: 11 }))];
  },
  network: (s) => {
    const x = s.input([1, 7, 6]);
    const first = s.requant(s.conv(x, 3, 1, window([3, 3], [1, 1], [1, 1, 1, 1])), 'clamp', 0);
    const pooled = s.maxPool(first, window([2, 2], [2, 2]));
    const depth = s.requant(s.conv(pooled, 3, 3, window([3, 3], [1, 1], [1, 1, 1, 1])), 'values');
    const sum = s.combine([
      [pooled, 1],
      [depth, 1],
    ]);
    const merged = s.requant(sum, 'clamp');
    const flat = s.add({ kind: 'reshape', name: 'flatten', x: merged }, [27]);
    const label = s.add({ kind: 'argMax', name: 'label', x: s.requant(s.matmul(flat, 4), 'clamp'), axis: 0 });
    return [s.matmul(flat, 5), label];
  },
} satisfies Record<string, (s: Sketch) => TensorId[]>;

export type CaseKind = keyof typeof RECIPES;
export const CASE_KINDS = Object.keys(RECIPES) as CaseKind[];

export function randomGraphOf(kind: CaseKind, draw: Draw): IntegerGraph {
  const sketch = new Sketch(draw);
  const outputs = (RECIPES[kind] as (s: Sketch) => TensorId[])(sketch);
  return sketch.builder.finish(kind, outputs);
}

/** A batch of random inputs for a graph, evaluated. */
export function randomGroup(graph: IntegerGraph, items: number, draw: Draw): AuditGroup {
  const inputs = graph.inputs.map((id) => {
    const { shape, range } = graph.tensors[id]!;
    return draw.values(items * sizeOf(shape), range.lo, range.hi);
  });
  return {
    graph,
    built: narrow(buildProgram(graph), items),
    items,
    inputs,
    values: evaluateGraph(graph, inputs, items),
  };
}

export const randomCase = (kind: CaseKind, draw: Draw, items = draw.int(1, 3)): AuditGroup =>
  randomGroup(randomGraphOf(kind, draw), items, draw);

/** The program over smaller columns than the default ones, which tables alone make large: many chunks, less padding. */
function narrow(built: ProgramWithModel, items: number): ProgramWithModel {
  const cells = placeSlots(built.program.witness.map(({ axes }) => bitsOf(items) + bitsOfAxes(axes))).cells;
  return withModelBits(built, Math.max(MIN_COLUMN_BITS, bitsOf(Math.ceil(cells / 3))));
}

export const withModelBits = (built: ProgramWithModel, modelBits: number): ProgramWithModel => ({
  ...built,
  program: { ...built.program, modelBits },
});
