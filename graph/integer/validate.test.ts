import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import type { AssayError } from '../../common/errors.js';
import { GraphBuilder } from './builder.js';
import { evaluateGraph } from './evaluate.js';
import { exportExact } from './export-exact.js';
import { seededRandom } from './testing/random-graph.js';
import { validateGraph } from './validate.js';
import type { NewNode } from './shapes.js';
import type { IntegerGraph, IntegerNode, RequantNode, TensorInfo } from './types.js';

/** The error that `action` throws. */
function errorOf(action: () => unknown): AssayError {
  try {
    action();
  } catch (error) {
    return error as AssayError;
  }
  return expect.fail('nothing was thrown');
}

const bytes = { lo: 0, hi: 255 };
const matmul = (x: number, inFeatures: number, weight: number, outFeatures = 1): NewNode => ({
  kind: 'matmul',
  name: 'fc',
  x,
  inFeatures,
  outFeatures,
  weight: new Int8Array(inFeatures * outFeatures).fill(weight),
  bias: null,
});

/** One product of K weights of 127 with inputs of 0..255, the exact sum published. */
function productOf(K: number): IntegerGraph {
  const builder = new GraphBuilder();
  return builder.finish('k', [builder.add(matmul(builder.addInput('x', [K], bytes, 1, 0), K, 127))]);
}

/** input [2, 3, 3] -> conv -> requant -> flatten -> matmul. */
function network(): IntegerGraph {
  const builder = new GraphBuilder();
  const x = builder.addInput('x', [2, 3, 3], bytes, 1, 0);
  const window = { kernel: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] } as const;
  const weight = Int8Array.from({ length: 16 }, (_, i) => i - 8);
  const conv = builder.add({
    kind: 'conv',
    name: 'conv',
    x,
    window,
    groups: 1,
    outChannels: 2,
    weight,
    bias: Int32Array.of(5, -5),
  });
  const multipliers = Int32Array.of(2 ** 18, 2 ** 19);
  const q = builder.quotientRange(conv, multipliers, 0);
  const y = builder.add({
    kind: 'requant',
    name: 'relu',
    x: conv,
    multipliers,
    channelAxis: 0,
    table: { kind: 'clamp', qLo: q.lo, qHi: q.hi, lo: 0, hi: 127 },
  });
  const flat = builder.add({ kind: 'reshape', name: 'flatten', x: y }, { shape: [8] });
  return builder.finish('network', [builder.add(matmul(flat, 8, 3, 2), { name: 'logits' })]);
}

type Mutable<T> = T extends Int8Array | Int16Array | Int32Array ? T : { -readonly [K in keyof T]: Mutable<T[K]> };

/** The network with a change made to it. */
function changed(change: (graph: Mutable<IntegerGraph>) => void): IntegerGraph {
  const graph = structuredClone(network()) as Mutable<IntegerGraph>;
  change(graph);
  return graph as IntegerGraph;
}

const requantOf = (graph: Mutable<IntegerGraph>): Mutable<RequantNode> =>
  graph.nodes.find((node) => node.kind === 'requant') as Mutable<RequantNode>;

describe('accumulator bounds', () => {
  it('take K = 518 and refuse K = 519 in float32: 519 * 127 * 255 = 16,807,815 passes 2^24', () => {
    validateGraph(productOf(518), { realisation: 'float32' });
    const error = errorOf(() => validateGraph(productOf(519), { realisation: 'float32' }));
    expect(error.code).toBe('BOUND_EXCEEDED');
    expect(error.message).toBe(
      "matmul node 'fc': channel 0: a partial sum may reach 16807815, but float32 is exact only below 2^24",
    );
    expect(error.mend).toContain('split');
    expect(error.meta).toMatchObject({ node: 'fc', channel: 0, bound: 16807815, limit: 2 ** 24 });
  });

  it('take K = 66,311 and refuse K = 66,312: the largest sum passes 2^31', () => {
    validateGraph(productOf(66_311));
    const error = errorOf(() => productOf(66_312));
    expect(error.code).toBe('BOUND_EXCEEDED');
    expect(error.message).toBe(
      "matmul node 'fc': channel 0: a partial sum may reach 2147514120, but must stay below 2^31",
    );
  });

  it('count partial sums, not the final one: 600 weights of 127 and 600 of -127', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1200], bytes, 1, 0);
    const weight = Int8Array.from({ length: 1200 }, (_, k) => (k < 600 ? 127 : -127));
    const graph = builder.finish('cancel', [
      builder.add({ kind: 'matmul', name: 'fc', x, inFeatures: 1200, outFeatures: 1, weight, bias: null }),
    ]);
    expect(errorOf(() => validateGraph(graph, { realisation: 'float32' })).meta).toMatchObject({
      bound: 1200 * 127 * 255,
    });
  });

  it('name the channel that is too large', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [4], bytes, 1, 0);
    const bias = Int32Array.of(0, 0, 2 ** 31 - 1);
    const node: NewNode = {
      kind: 'matmul',
      name: 'fc',
      x,
      inFeatures: 4,
      outFeatures: 3,
      weight: new Int8Array(12).fill(1),
      bias,
    };
    expect(errorOf(() => builder.add(node)).message).toContain('channel 2');
  });

  it('are met by splitting in the export: 0 differences at K = 519 and 70,000 with every input at its extreme', async () => {
    for (const [K, weight] of [
      [519, 127],
      [70_000, 119],
    ] as const) {
      const builder = new GraphBuilder();
      const graph = builder.finish('k', [builder.add(matmul(builder.addInput('x', [K], bytes, 1, 0), K, weight))]);
      const session = await InferenceSession.create(exportExact(graph, { outputs: graph.outputs }));
      const x = new Int32Array(K).fill(255);
      const result = await session.run({ t0: new Tensor('float32', Float32Array.from(x), [1, K]) });
      expect(result['t1']!.type).toBe('float64');
      expect(Number(result['t1']!.data[0])).toBe(K * weight * 255);
      expect(evaluateGraph(graph, [x], 1)[1]![0]).toBe(K * weight * 255);
    }
  });
});

describe('the magnitude of a node', () => {
  const LIMIT = 2 ** 31;
  const window = { kernel: [1, 1], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] } as const;
  const alternating = (length: number): Int16Array => Int16Array.from({ length }, (_, i) => (i % 2 ? -2048 : 2048));
  const full = { lo: 2048, hi: 2048 };
  const wide = { lo: 2 ** 24 - 2, hi: 2 ** 24 - 1 };
  /** x - z with a small range and a magnitude of nearly 2^25. */
  const difference = (builder: GraphBuilder, shape: readonly number[]): number =>
    builder.add({
      kind: 'combine',
      name: 'difference',
      terms: [
        { x: builder.addInput('x', shape, wide, 1, 0), coefficient: 1 },
        { x: builder.addInput('z', shape, wide, 1, 0), coefficient: -1 },
      ],
      bias: null,
    });

  // All but the product of activations have a range inside +-2^31, since their terms cancel.
  const cases: [string, (builder: GraphBuilder) => number][] = [
    [
      'a product by a matrix',
      (builder) => {
        const x = builder.addInput('x', [512], full, 1, 0);
        const weight = alternating(512);
        return builder.add({ kind: 'matmul', name: 'n', x, inFeatures: 512, outFeatures: 1, weight, bias: null });
      },
    ],
    [
      'a convolution',
      (builder) => {
        const x = builder.addInput('x', [512, 1, 1], full, 1, 0);
        const weight = alternating(512);
        return builder.add({ kind: 'conv', name: 'n', x, window, groups: 1, outChannels: 1, weight, bias: null });
      },
    ],
    [
      'a product of activations',
      (builder) => {
        const x = builder.addInput('x', [1, 512], full, 1, 0);
        return builder.add({ kind: 'matmulActivations', name: 'n', a: x, b: x });
      },
    ],
    [
      'a scale with a bias',
      (builder) => {
        const x = builder.addInput('x', [1], full, 1, 0);
        const factor = { shape: [], data: Int32Array.of(-2048) };
        return builder.add({
          kind: 'scale',
          name: 'n',
          x,
          factor,
          bias: { shape: [], data: Int32Array.of(LIMIT - 1) },
        });
      },
    ],
    [
      'a pooling sum',
      (builder) => {
        const x = difference(builder, [1, 8, 9]);
        return builder.add({ kind: 'sumPool', name: 'n', x, window: { ...window, kernel: [8, 9] } });
      },
    ],
    [
      'a sum along axes',
      (builder) => builder.add({ kind: 'reduceSum', name: 'n', x: difference(builder, [8, 9]), axes: [0, 1] }),
    ],
    [
      'a combination',
      (builder) => {
        const [x, z] = ['x', 'z'].map((name) => builder.addInput(name, [1], wide, 1, 0)) as [number, number];
        const terms = [
          { x, coefficient: 64 },
          { x: z, coefficient: -65 },
        ];
        return builder.add({ kind: 'combine', name: 'n', terms, bias: null });
      },
    ],
    [
      'a combination with a bias',
      (builder) => {
        const x = builder.addInput('x', [1], { lo: 0, hi: 1 }, 1, 0);
        const bias = { shape: [], data: Int32Array.of(LIMIT - 1) };
        return builder.add({ kind: 'combine', name: 'n', terms: [{ x, coefficient: -1 }], bias });
      },
    ],
  ];
  it.each(cases)('refuses 2^31 in %s', (_, add) => {
    const error = errorOf(() => add(new GraphBuilder()));
    expect(error).toMatchObject({ code: 'BOUND_EXCEEDED', meta: { node: 'n', channel: 0, limit: LIMIT } });
    expect((error.meta as { bound: number }).bound).toBeGreaterThanOrEqual(LIMIT);
  });

  it('may be 2^31 - 1', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1], { lo: 0, hi: 1 }, 1, 0);
    const bias = { shape: [], data: Int32Array.of(LIMIT - 2) };
    const y = builder.add({ kind: 'combine', name: 'n', terms: [{ x, coefficient: 1 }], bias });
    expect(builder.finish('g', [y]).tensors[y]!.range.hi).toBe(LIMIT - 1);
  });

  it('refuses a difference of equal large terms, in a graph that no builder made', () => {
    const builder = new GraphBuilder();
    const shifted = (name: string): number => {
      const x = builder.addInput(name, [1], { lo: 0, hi: 15 }, 1, 0);
      const bias = { shape: [], data: Int32Array.of(LIMIT - 101) };
      return builder.add({ kind: 'combine', name: 'shifted', terms: [{ x, coefficient: 1 }], bias });
    };
    const terms = (coefficient: number): { x: number; coefficient: number }[] => [
      { x: 1, coefficient },
      { x: 3, coefficient: -coefficient },
    ];
    expect([shifted('x'), shifted('z')]).toEqual([1, 3]);
    const y = builder.add(
      { kind: 'combine', name: 'difference', terms: terms(0), bias: null },
      { range: { lo: 1 - LIMIT, hi: LIMIT - 1 } },
    );
    const graph = structuredClone(builder.finish('g', [y])) as Mutable<IntegerGraph>;
    const node = graph.nodes.at(-1) as Mutable<Extract<IntegerNode, { kind: 'combine' }>>;
    node.terms = terms(2 ** 26 + 12345);
    const error = errorOf(() => validateGraph(graph as IntegerGraph));
    expect(error.code).toBe('BOUND_EXCEEDED');
    expect(error.mend).toContain('coefficients');
  });
});

describe('sizes', () => {
  it('of a tensor stay below 2^28 elements', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1, 1, 1], bytes, 1, 0);
    const expand: NewNode = { kind: 'expand', name: 'n', x };
    builder.add(expand, { shape: [1, 1, 2 ** 28 - 1] });
    for (const grow of [
      () => builder.add(expand, { shape: [1, 1, 2 ** 28] }),
      () => builder.add({ kind: 'pad', name: 'n', x, before: [0, 0, 0], after: [0, 0, 2 ** 28 - 1], value: 0 }),
    ]) {
      const error = errorOf(grow);
      expect(error.code).toBe('GRAPH_INVALID');
      expect(error.message).toContain("node 'n': output shape [1, 1, 268435456] must have");
    }
    expect(errorOf(() => builder.addInput('wide', [2 ** 14, 2 ** 14], bytes, 1, 0)).message).toContain(
      'fewer than 2^28',
    );
  });

  it('of all tensors together stay below 2^28 elements per item', () => {
    const builder = new GraphBuilder();
    let x = builder.addInput('x', [1, 1, 1], bytes, 1, 0);
    for (const axis of [0, 1, 2])
      x = builder.add(
        { kind: 'expand', name: 'n', x },
        { shape: [axis === 0 ? 1 : 2 ** 12, axis < 2 ? 1 : 2 ** 11, 2 ** 4] },
      );
    const graph = (): IntegerGraph => builder.finish('g', [x]);
    expect(graph().outputs).toEqual([x]);
    x = builder.add({ kind: 'transpose', name: 't', x, permutation: [1, 0, 2] });
    const error = errorOf(graph);
    expect(error.code).toBe('GRAPH_INVALID');
    expect(error.message).toContain('elements per item together');
  });

  it('of a rank are at most 255, of a kernel at most 2^16 taps', () => {
    const builder = new GraphBuilder();
    builder.addInput('x', new Array<number>(255).fill(1), bytes, 1, 0);
    expect(errorOf(() => builder.addInput('y', new Array<number>(256).fill(1), bytes, 1, 0)).message).toContain(
      'its rank is 256',
    );
    const x = builder.addInput('plane', [1, 300, 300], bytes, 1, 0);
    const window = { kernel: [256, 256], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] } as const;
    builder.add({ kind: 'sumPool', name: 'n', x, window });
    const wide = { ...window, kernel: [256, 257] } as const;
    expect(errorOf(() => builder.add({ kind: 'sumPool', name: 'n', x, window: wide })).message).toContain('65792 taps');
  });
});

describe('operands of products', () => {
  const product = (range: { lo: number; hi: number }): GraphBuilder => {
    const builder = new GraphBuilder();
    builder.addInput('x', [1], range, 1, 0);
    return builder;
  };
  it('reach 2048 and no further', () => {
    product({ lo: -2048, hi: 2048 }).add(matmul(0, 1, 1));
    expect(errorOf(() => product({ lo: 0, hi: 2049 }).add(matmul(0, 1, 1))).message).toBe(
      "matmul node 'fc': operand 'x' may reach 2049, but an operand of a product must stay within 2^11",
    );
  });
  it('include weights and factors', () => {
    const base = { name: 'n', x: 0 };
    const wide = Int16Array.of(2049);
    const factor = { shape: [], data: Int32Array.of(-2049) };
    expect(
      errorOf(() =>
        product(bytes).add({ ...base, kind: 'matmul', inFeatures: 1, outFeatures: 1, weight: wide, bias: null }),
      ).code,
    ).toBe('BOUND_EXCEEDED');
    expect(errorOf(() => product(bytes).add({ ...base, kind: 'scale', factor, bias: null })).code).toBe(
      'BOUND_EXCEEDED',
    );
  });
});

describe('requantisation', () => {
  const cases: [string, (node: Mutable<RequantNode>) => void, string][] = [
    ['M = 0', (node) => node.multipliers.set([0]), 'multiplier 0 is outside 1..2^28-1'],
    ['M = 2^28', (node) => node.multipliers.set([2 ** 28]), 'multiplier 268435456 is outside'],
    ['too few M', (node) => (node.multipliers = Int32Array.of(1)), 'multipliers has 1 elements, expected 2'],
    ['q beyond every table', (node) => node.multipliers.set([2 ** 28 - 1]), 'tables cover at most [-2^15, 2^16)'],
    ['a table one too small', (node) => node.table.qHi--, 'but the proved range is'],
    ['a table one too large', (node) => node.table.qLo--, 'but the proved range is'],
    [
      'a clamp above int16 and uint16',
      (node) => node.table.kind === 'clamp' && (node.table.hi = 2 ** 16),
      'leaves [-2^15, 2^16)',
    ],
    ['a clamp upside down', (node) => node.table.kind === 'clamp' && (node.table.lo = 200), 'the lower one first'],
    [
      'outputs outside the declared range',
      (node) => node.table.kind === 'clamp' && (node.table.hi = 128),
      'declares the range 0..127',
    ],
    ['a channel axis that is none', (node) => (node.channelAxis = 3), 'channelAxis 3 is no axis'],
  ];
  it.each(cases)('refuses %s', (_, change, message) => {
    expect(errorOf(() => validateGraph(changed((graph) => change(requantOf(graph))))).message).toContain(message);
  });

  it('refuses |x * M + 2^23| that reaches 2^52', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1], { lo: 0, hi: 2 ** 24 - 1 }, 1, 0);
    const sum = builder.add({ kind: 'combine', name: 'sum', terms: [{ x, coefficient: 2 }], bias: null });
    const error = errorOf(() => builder.quotientRange(sum, Int32Array.of(2 ** 28 - 1), null));
    expect(error.message).toContain('must stay below 2^52');
  });

  it('refuses values of the wrong number', () => {
    const graph = changed((g) => {
      const node = requantOf(g);
      node.table = {
        kind: 'values',
        qLo: node.table.qLo,
        qHi: node.table.qHi,
        values: new Int16Array(3),
        label: 'none',
      };
    });
    expect(errorOf(() => validateGraph(graph)).message).toContain('its table has 3 values');
  });
});

describe('storage rules', () => {
  it.each([
    'matmul',
    'mul',
    'sumPool',
    'reduceSum',
    'reduceMax',
    'argMax',
    'scale',
    'maxPool',
    'conv',
    'matmulActivations',
  ] as const)('refuse %s of an accumulator', (kind) => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1, 1, 1], { lo: 0, hi: 1 }, 1, 0);
    const acc = builder.add(matmul(x, 1, 1), { name: 'acc' });
    const view = builder.add({ kind: 'transpose', name: 'view', x: acc, permutation: [0, 2, 1] }, { name: 'view' });
    const window = { kernel: [1, 1], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] } as const;
    const nodes: Record<typeof kind, NewNode> = {
      matmul: matmul(view, 1, 1),
      mul: { kind: 'mul', name: 'n', a: x, b: view },
      sumPool: { kind: 'sumPool', name: 'n', x: view, window },
      maxPool: { kind: 'maxPool', name: 'n', x: view, window },
      conv: {
        kind: 'conv',
        name: 'n',
        x: view,
        window,
        groups: 1,
        outChannels: 1,
        weight: Int8Array.of(1),
        bias: null,
      },
      reduceSum: { kind: 'reduceSum', name: 'n', x: view, axes: [0] },
      reduceMax: { kind: 'reduceMax', name: 'n', x: view, axes: [0] },
      argMax: { kind: 'argMax', name: 'n', x: view, axis: 0 },
      scale: { kind: 'scale', name: 'n', x: view, factor: { shape: [], data: Int32Array.of(1) }, bias: null },
      matmulActivations: { kind: 'matmulActivations', name: 'n', a: view, b: x },
    };
    const error = errorOf(() => builder.add(nodes[kind]));
    expect(error.message).toContain("reads 'view', an accumulator that was not requantised");
    expect(error.mend).toContain('requant');
  });

  it('refuse an accumulator that is published and read, and one that is neither', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [2], bytes, 1, 0);
    const acc = builder.add(matmul(x, 2, 1, 2), { name: 'acc' });
    const copy = builder.add({ kind: 'reshape', name: 'copy', x: acc }, { shape: [2, 1] });
    builder.finish('chain', [copy]);
    expect(errorOf(() => builder.finish('both', [acc, copy])).message).toContain(
      'is a graph output and read by a node',
    );
    const label = builder.add({ kind: 'argMax', name: 'label', x, axis: 0 });
    expect(errorOf(() => builder.finish('dead', [label])).message).toContain(
      "accumulator 'copy:reshape' is neither read",
    );
  });
});

describe('form', () => {
  const rename = (info: Mutable<TensorInfo>, name: string): void => void (info.name = name);
  const cases: [string, (graph: Mutable<IntegerGraph>) => void, string][] = [
    ['duplicate names', (g) => rename(g.tensors[1]!, 'x'), "two tensors are named 'x'"],
    ['no outputs', (g) => (g.outputs = []), 'at least one input and one output'],
    ['an output that is no tensor', (g) => (g.outputs = [99]), 'output 99 is no tensor'],
    ['an output listed twice', (g) => g.outputs.push(g.outputs[0]!), 'listed twice'],
    ['an output that is an input', (g) => (g.outputs = [0]), "output 'x' is an input"],
    ['nodes out of order', (g) => g.nodes.reverse(), 'which no input or earlier node computes'],
    ['a tensor computed twice', (g) => (g.nodes[1]!.output = g.nodes[0]!.output), 'is computed twice'],
    [
      'an orphan',
      (g) => g.tensors.push({ ...structuredClone(g.tensors[0]!), name: 'orphan' }),
      "tensor 'orphan' is neither",
    ],
    [
      'an operand that does not exist',
      (g) => ((g.nodes[0] as Mutable<Extract<IntegerNode, { x: number }>>).x = 77),
      'reads tensor 77',
    ],
    ['a wrong shape', (g) => (g.tensors[1]!.shape = [2, 2, 3]), 'has shape [2, 2, 3], the operator gives [2, 2, 2]'],
    ['a wrong element count', (g) => (g.tensors[3]!.shape = [9]), 'has 8 elements, the wanted shape [9] has 9'],
    ['a side of 0', (g) => (g.tensors[0]!.shape = [0, 3, 3]), 'must have sides >= 1'],
    ['a range too narrow', (g) => g.tensors[1]!.range.hi--, 'is what is proved'],
    ['a range upside down', (g) => (g.tensors[0]!.range = { lo: 3, hi: 2 }), 'the lower one first'],
    ['a fractional range', (g) => (g.tensors[0]!.range = { lo: 0.5, hi: 2 }), 'integer ends'],
    ['an input beyond float32', (g) => (g.tensors[0]!.range = { lo: 0, hi: 2 ** 24 }), 'below 2^24'],
    ['a layout that is no permutation', (g) => (g.tensors[0]!.layout = [0, 0, 1]), 'no permutation'],
    ['a zero point beyond int32', (g) => (g.tensors[0]!.zeroPoint = 2 ** 31), 'zero point 2147483648 must be an int32'],
    ['an input of 2^32 elements', (g) => (g.tensors[0]!.shape = [2 ** 32 + 2, 3, 3]), 'fewer than 2^28 elements'],
    ['a scale of 0', (g) => (g.tensors[0]!.scale = 0), 'positive finite'],
    [
      'weights of the wrong number',
      (g) => ((g.nodes[0] as Mutable<{ weight: Int8Array }>).weight = new Int8Array(15)),
      'weight has 15 elements, expected 16',
    ],
  ];
  it.each(cases)('refuses %s', (_, change, message) => {
    const error = errorOf(() => validateGraph(changed(change)));
    expect(error.code).toBe('GRAPH_INVALID');
    expect(error.message).toContain(message);
  });

  it('refuses numbers that a commitment cannot hold, also where they decide nothing', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [2], bytes, 1, 0);
    const slice = (step: number): unknown =>
      builder.add({ kind: 'slice', name: 's', x, starts: [0], steps: [step] }, { shape: [1] });
    const pad = (value: number): unknown => builder.add({ kind: 'pad', name: 'p', x, before: [0], after: [0], value });
    slice(2 ** 31 - 1);
    pad(2 ** 31 - 1);
    expect(errorOf(() => slice(2 ** 32 + 1)).message).toContain('axis 0: elements 0, 0 + 4294967297');
    expect(errorOf(() => pad(2 ** 31)).message).toContain('padding value 2147483648 must be an integer below 2^31');
  });

  it('refuses exactly the poolings with a window altogether in padding: 20,000 windows, tap by tap', () => {
    const random = seededRandom(Number(process.env['ASSAY_SEED'] ?? 5));
    const int = (lo: number, hi: number): number => lo + Math.floor(random() * (hi - lo + 1));
    let refused = 0;
    for (let i = 0; i < 20_000; i++) {
      const side = int(1, 4);
      const [kernel, stride, dilation, before, after] = [int(1, 4), int(1, 4), int(1, 5), int(0, 7), int(0, 7)];
      const count = Math.floor((side + before + after - (kernel - 1) * dilation - 1) / stride) + 1;
      if (count < 1) continue;
      const inside = (o: number): boolean =>
        Array.from({ length: kernel }, (_, k) => o * stride + k * dilation - before).some((p) => p >= 0 && p < side);
      const legal = Array.from({ length: count }, (_, o) => o).every(inside);
      const builder = new GraphBuilder();
      const across = i % 2 === 0;
      const pair = (v: number, other: number): [number, number] => (across ? [v, other] : [other, v]);
      const x = builder.addInput('x', [1, ...pair(side, 1)], bytes, 1, 0);
      const pads = across ? ([before, 0, after, 0] as const) : ([0, before, 0, after] as const);
      const window = { kernel: pair(kernel, 1), strides: pair(stride, 1), dilations: pair(dilation, 1), pads };
      const add = (): number => builder.add({ kind: 'maxPool', name: 'pool', x, window });
      if (legal) add();
      else expect(errorOf(add).message).toContain('padding altogether');
      if (!legal) refused++;
    }
    expect(refused).toBeGreaterThan(1000);
  });

  it('refuses a pooling window altogether in padding', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1, 2, 2], bytes, 1, 0);
    const window = { kernel: [1, 1], strides: [1, 1], dilations: [1, 1], pads: [1, 0, 0, 0] } as const;
    expect(errorOf(() => builder.add({ kind: 'maxPool', name: 'pool', x, window })).message).toContain(
      'padding altogether',
    );
  });

  it('leaves the builder unchanged after a refusal', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1], bytes, 1, 0);
    errorOf(() => builder.add(matmul(x, 2, 1)));
    expect(builder.finish('g', [builder.add(matmul(x, 1, 1))]).tensors).toHaveLength(2);
  });
});
