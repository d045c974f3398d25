/**
 * The start-up self-test: what a device may be used for.
 *
 * Float arithmetic is exact on integers only while an engine computes plain sums of products. Whether it does cannot
 * be read from its name: libraries choose algorithms by shape, and a driver update may change the choice. So every
 * operator kind runs on the device at extreme values, with sums just below 2^24, in shapes that invite Winograd and
 * FFT convolutions, and is compared with the reference, bit for bit.
 *
 *   1. All cases as they stand. All equal: class `exact`.
 *   2. Else all cases with convolutions written as matrix products. All equal: class `exact-im2col`.
 *   3. Else `float-only`.
 *
 * On a GPU, every model is tested once more with its own shapes before its first job (model-test.ts).
 *
 * A pass is evidence, not proof: disputes and audits are what answers for a device that errs elsewhere.
 */
import { asAssayError } from '../common/errors.js';
import { evaluateGraph, GraphBuilder, slotsOf } from '../graph/index.js';
import type { IntegerGraph, IntegerNodeKind, NewNode, RequantTable, TensorId, Window2d } from '../graph/index.js';
import type { ConvolutionForm, DeviceClass, Engine, EngineName } from './engine.js';
import { countDiffering, extremeInputs, PATTERNS, scramble } from './extreme-inputs.js';
import { bundleOfGraph } from './graph-bundle.js';

export interface SelfTestCase {
  readonly name: string;
  readonly kind: IntegerNodeKind;
  readonly form: ConvolutionForm;
  /** Elements compared. */
  readonly elements: number;
  readonly differing: number;
  /** Where the engine refused or failed: its message. */
  readonly failure: string | null;
}

export interface SelfTestReport {
  readonly engine: EngineName;
  readonly version: string;
  readonly deviceClass: DeviceClass;
  readonly cases: readonly SelfTestCase[];
  readonly elapsedMs: number;
}

export async function selfTest(engine: Engine): Promise<SelfTestReport> {
  const start = performance.now();
  const cases: SelfTestCase[] = [];
  let deviceClass: DeviceClass = 'float-only';
  for (const form of ['conv', 'im2col'] as const) {
    const results: SelfTestCase[] = [];
    for (const prepared of preparedCases()) results.push(await runCase(engine, prepared, form));
    cases.push(...results);
    if (results.every(({ failure, differing }) => failure === null && differing === 0)) {
      deviceClass = form === 'conv' ? 'exact' : 'exact-im2col';
      break;
    }
  }
  const { name, version } = engine;
  return { engine: name, version, deviceClass, cases, elapsedMs: performance.now() - start };
}

interface PreparedCase {
  readonly name: string;
  readonly graph: IntegerGraph;
  readonly inputs: readonly Int32Array[];
  /** The reference's slots. */
  readonly expected: readonly Int32Array[];
}

let prepared: readonly PreparedCase[] | null = null;

/** The same for every engine, and the reference takes longer than any of them: made once per process. */
function preparedCases(): readonly PreparedCase[] {
  prepared ??= [...selfTestGraphs()].map(([name, graph]) => {
    const inputs = extremeInputs(graph, PATTERNS);
    const values = evaluateGraph(graph, inputs, PATTERNS.length);
    return { name, graph, inputs, expected: slotsOf(graph).map((slot) => values[slot]!) };
  });
  return prepared;
}

async function runCase(
  engine: Engine,
  { name, graph, inputs, expected }: PreparedCase,
  form: ConvolutionForm,
): Promise<SelfTestCase> {
  const { kind } = graph.nodes.at(-1)!;
  const elements = expected.reduce((sum, slot) => sum + slot.length, 0);
  try {
    const session = await engine.loadExact(bundleOfGraph(graph), { convolution: form });
    try {
      const found = await session.run(inputs, PATTERNS.length);
      return { name, kind, form, elements, differing: countDiffering(expected, found), failure: null };
    } finally {
      await session.close();
    }
  } catch (error) {
    return { name, kind, form, elements, differing: elements, failure: asAssayError(error).message };
  }
}

const BYTE = { lo: -127, hi: 127 } as const;

/** Weights at both extremes and in between; the first row is all positive, so that an all-high input reaches the bound. */
function weights(rows: number, contraction: number): Int8Array {
  return Int8Array.from({ length: rows * contraction }, (_, index) => {
    const row = Math.floor(index / contraction);
    if (row === 0) return 127;
    if (row === 1) return index % 2 === 0 ? 127 : -127;
    return (scramble(index) % 255) - 127;
  });
}

function window(
  kernel: [number, number],
  options: { strides?: [number, number]; dilations?: [number, number]; pads?: [number, number, number, number] } = {},
): Window2d {
  return {
    kernel,
    strides: options.strides ?? [1, 1],
    dilations: options.dilations ?? [1, 1],
    pads: options.pads ?? [0, 0, 0, 0],
  };
}

type Build = (builder: GraphBuilder) => TensorId;

/** One small graph per case, by name; each ends in the node that it tests. */
function selfTestGraphs(): Map<string, IntegerGraph> {
  const graphs = new Map<string, IntegerGraph>();
  const add = (name: string, build: Build): void => {
    const builder = new GraphBuilder();
    const output = build(builder);
    graphs.set(name, builder.finish(name, [output]));
  };
  const input = (
    builder: GraphBuilder,
    shape: readonly number[],
    range = BYTE as { lo: number; hi: number },
    name = 'x',
  ) => builder.addInput(name, shape, range, 1, 0);

  // 127 * 127 * 1040 = 16,774,160 is the largest such sum below 2^24 = 16,777,216.
  matmulCase('matmul, sums just below 2^24', 1040);
  matmulCase('matmul, sums beyond 2^24 (split)', 2100);
  function matmulCase(name: string, inFeatures: number): void {
    add(name, (builder) =>
      builder.add({
        kind: 'matmul',
        name: 'matmul',
        x: input(builder, [3, inFeatures]),
        outFeatures: 8,
        inFeatures,
        weight: weights(8, inFeatures),
        bias: Int32Array.from({ length: 8 }, (_, index) => index * 100 - 300),
      }),
    );
  }
  add('product of two activations, sums just below 2^24', (builder) =>
    builder.add({
      kind: 'matmulActivations',
      name: 'product',
      a: input(builder, [2, 3, 1040], BYTE, 'a'),
      b: input(builder, [2, 4, 1040], BYTE, 'b'),
    }),
  );

  const convolutions: [string, number, number, number, number, Window2d][] = [
    // 3 x 3 with stride 1 is Winograd's home; 115 * 9 = 1035 products reach 0.995 * 2^24.
    ['3x3, sums just below 2^24', 115, 9, 8, 1, window([3, 3], { pads: [1, 1, 1, 1] })],
    ['3x3, 32 to 32 channels', 32, 16, 32, 1, window([3, 3], { pads: [1, 1, 1, 1] })],
    ['3x3, stride 2', 16, 12, 16, 1, window([3, 3], { strides: [2, 2], pads: [1, 0, 0, 1] })],
    ['5x5', 8, 12, 8, 1, window([5, 5], { pads: [2, 2, 2, 2] })],
    ['7x7, stride 2', 3, 20, 8, 1, window([7, 7], { strides: [2, 2], pads: [3, 3, 3, 3] })],
    ['1x1', 256, 5, 16, 1, window([1, 1])],
    ['1x5, as in 1-D models', 16, 9, 8, 1, window([1, 5], { pads: [0, 2, 0, 2] })],
    ['3x3, depthwise', 16, 12, 16, 16, window([3, 3], { pads: [1, 1, 1, 1] })],
    ['3x3, 4 groups', 16, 10, 8, 4, window([3, 3])],
    ['3x3, dilated, stride 2', 8, 13, 8, 1, window([3, 3], { strides: [2, 2], dilations: [2, 2], pads: [2, 2, 2, 2] })],
  ];
  for (const [name, channels, side, outChannels, groups, at] of convolutions) {
    add(`convolution ${name}`, (builder) =>
      builder.add({
        kind: 'conv',
        name: 'conv',
        x: input(builder, [channels, side, side]),
        window: at,
        groups,
        outChannels,
        weight: weights(outChannels, (channels / groups) * at.kernel[0] * at.kernel[1]),
        bias: Int32Array.from({ length: outChannels }, (_, index) => 7 * index - 20),
      }),
    );
  }

  const shape = [6, 5, 7];
  const wide = { lo: -(2 ** 22), hi: 2 ** 22 };
  add('combine', (builder) =>
    builder.add({
      kind: 'combine',
      name: 'combine',
      terms: [
        { x: input(builder, shape, wide, 'a'), coefficient: 1 },
        { x: input(builder, shape, wide, 'b'), coefficient: -2 },
      ],
      bias: { shape: [6, 1, 1], data: Int32Array.from([1, -1, 1000, -1000, 0, 7]) },
    }),
  );
  add('scale', (builder) =>
    builder.add({
      kind: 'scale',
      name: 'scale',
      x: input(builder, shape, { lo: -2048, hi: 2048 }),
      factor: { shape: [6, 1, 1], data: Int32Array.from([2048, -2048, 1, -1, 0, 2047]) },
      bias: { shape: [7], data: Int32Array.from([0, 1, -1, 2, -2, 3, -3]) },
    }),
  );
  add('product', (builder) =>
    builder.add({
      kind: 'mul',
      name: 'mul',
      a: input(builder, shape, { lo: -2047, hi: 2048 }, 'a'),
      b: input(builder, shape, { lo: -2048, hi: 2047 }, 'b'),
    }),
  );
  add('pooling sum', (builder) => {
    const at = window([3, 3], { strides: [2, 2], pads: [1, 1, 1, 1] });
    return builder.add({ kind: 'sumPool', name: 'sum', x: input(builder, shape, { lo: 0, hi: 2 ** 20 }), window: at });
  });
  add('sum over axes', (builder) =>
    builder.add({
      kind: 'reduceSum',
      name: 'sum',
      x: input(builder, [4, 15, 17], { lo: -65793, hi: 65793 }),
      axes: [1, 2],
    }),
  );
  add('maximum over a window', (builder) => {
    const at = window([3, 2], { strides: [2, 1], pads: [1, 0, 1, 1] });
    return builder.add({ kind: 'maxPool', name: 'max', x: input(builder, shape, { lo: -32768, hi: -5 }), window: at });
  });
  add('maximum over axes', (builder) =>
    builder.add({ kind: 'reduceMax', name: 'max', x: input(builder, shape, { lo: -32768, hi: 32767 }), axes: [0, 2] }),
  );
  add('index of the maximum, with ties', (builder) =>
    builder.add({ kind: 'argMax', name: 'argmax', x: input(builder, [3, 40], { lo: -3, hi: 3 }), axis: 1 }),
  );

  for (const form of ['clamp', 'values'] as const) {
    for (const channelAxis of [null, 0]) {
      add(`requantisation, ${form}, ${channelAxis === null ? 'one multiplier' : 'per channel'}`, (builder) => {
        const x = input(builder, shape, { lo: -(2 ** 24) + 1, hi: 2 ** 24 - 1 });
        // Odd and even, halves that must round up, the smallest, and quotients of nearly 2^15.
        const channels = Int32Array.from([1, 16777, 8388, 12345, 32766, 32767]);
        const multipliers = channelAxis === null ? Int32Array.of(32767) : channels;
        const { lo: qLo, hi: qHi } = builder.quotientRange(x, multipliers, channelAxis);
        const values = Int16Array.from({ length: qHi - qLo + 1 }, (_, index) => (scramble(index) % 65536) - 32768);
        const table: RequantTable =
          form === 'clamp'
            ? { kind: 'clamp', qLo, qHi, lo: -100, hi: 100 }
            : { kind: 'values', qLo, qHi, values, label: 'scattered' };
        return builder.add({ kind: 'requant', name: 'requant', x, multipliers, channelAxis, table });
      });
    }
  }

  const wire = (name: string, node: (x: TensorId) => NewNode, outShape?: readonly number[]): void =>
    add(name, (builder) => {
      const x = input(builder, shape, { lo: -(2 ** 23), hi: 2 ** 23 });
      return builder.add(node(x), outShape === undefined ? {} : { shape: outShape });
    });
  wire('reshape', (x) => ({ kind: 'reshape', name: 'reshape', x }), [15, 14]);
  wire('transpose', (x) => ({ kind: 'transpose', name: 'transpose', x, permutation: [2, 0, 1] }));
  wire('concat', (x) => ({ kind: 'concat', name: 'concat', xs: [x, x], axis: 1 }));
  wire('slice', (x) => ({ kind: 'slice', name: 'slice', x, starts: [5, 1, 0], steps: [-2, 1, 3] }), [3, 4, 3]);
  wire('pad', (x) => ({ kind: 'pad', name: 'pad', x, before: [0, 1, 0], after: [2, 0, 1], value: -9 }));
  add('expand', (builder) =>
    builder.add({ kind: 'expand', name: 'expand', x: input(builder, [6, 1, 7]) }, { shape: [6, 5, 7] }),
  );
  return graphs;
}
