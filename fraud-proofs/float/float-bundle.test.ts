import { readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-node';
import * as web from 'onnxruntime-web';
import { describe, expect, it } from 'vitest';
import {
  evaluateModel,
  prepareModel,
  readOnnx,
  writeOnnx,
  type OnnxNode,
  type WritableModel,
} from '../../graph/onnx/index.js';
import { generator } from '../../graph/onnx/testing/random.js';
import { FLOAT_RANGE, verifyChunks } from '../../graph/commitment/index.js';
import { encodeHeader } from '../../graph/commitment/tensor-root.js';
import { toHex } from '../../graph/commitment/encoding.js';
import { sizeOf, type Tensor } from '../../graph/tensor.js';
import { loadMnist } from '../../models/data/mnist.js';
import { modelFile } from '../../models/model-file.js';
import { commitTensor, floatHeader } from './commit-tensor.js';
import { bundleOfGraph, floatBundle } from './float-bundle.js';
import { floatModel } from './float-model.js';
import { screenFloatTrace } from './screen-float-trace.js';
import { LIES } from './testing/lies.js';
import { FLOAT_KINDS, randomGraph, randomInput } from './testing/random-graph.js';
import { runOnnxruntime, type OnnxruntimeApi } from './testing/run-onnxruntime.js';
import type { FloatGraph, FloatNode } from './types.js';

const MNIST_MODELS = ['mnist-mlp', 'lenet5', 'mnist-dwcnn'] as const;
const node: OnnxruntimeApi = ort;
const wasm = web as OnnxruntimeApi;
web.env.wasm.numThreads = 1;
const seed = Date.now() >>> 0;

const shipped = (name: string) => floatBundle(readFileSync(modelFile(name)), name);
const images = (count: number): Float32Array => Float32Array.from(loadMnist('heldOut', count).values);

describe('a shipped model as a float graph', () => {
  it.each(MNIST_MODELS)('%s gives what the ONNX model gives, and no honest run of it is slashable', async (name) => {
    const bundle = shipped(name);
    const input = images(1);
    const model = prepareModel(readOnnx(readFileSync(modelFile(name)), name));
    const expected = evaluateModel(
      model,
      new Map([['image', { type: 'float32', shape: [1, 1, 28, 28], data: input }]]),
    ).get('logits')!.data as Float32Array;
    for (const [api, options] of [
      [node, { graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 }],
      [node, { graphOptimizationLevel: 'all', intraOpNumThreads: 2 }],
      [wasm, { executionProviders: ['wasm'] }],
    ] as const) {
      const slots = await runOnnxruntime(api, bundle, [input], 1, options);
      slots.at(-1)!.forEach((value, i) => expect(Math.abs(value - expected[i]!)).toBeLessThan(1e-3));
      const screened = screenFloatTrace(bundle.graph, slots);
      expect(screened.map(({ slashable }) => slashable)).toEqual(screened.map(() => 0));
    }
  });

  it('normalisation is folded into the convolution before it', () => {
    const { graph } = shipped('mnist-dwcnn');
    expect(graph.nodes.map(({ kind }) => kind).filter((kind) => kind === 'mul')).toEqual([]);
    expect(graph.nodes.every((made) => made.kind !== 'conv' || made.bias !== null)).toBe(true);
  });

  it.each(Object.entries(LIES))('%s: elements are slashable', async (_, lie) => {
    const bundle = shipped('lenet5');
    const input = images(1);
    const slots = await lie(bundle.graph, [input], 1, (graph) =>
      runOnnxruntime(node, bundleOfGraph(graph), [input], 1),
    );
    const screened = screenFloatTrace(bundle.graph, slots);
    const worst = screened.map((slot) => slot.worst.slashable).find((finding) => finding !== null)!;
    expect(screened.reduce((sum, slot) => sum + slot.slashable, 0)).toBeGreaterThan(0);
    expect(worst.tier).toBe('slashable');
  });
});

describe(`graphs of every kind under onnxruntime, seed ${seed}`, () => {
  it.each(FLOAT_KINDS)('%s is never slashable, whatever numbers come in', async (kind) => {
    const next = generator(seed + FLOAT_KINDS.indexOf(kind));
    for (let round = 0; round < 12; round++) {
      const graph = randomGraph(next, kind);
      const items = 1 + Math.floor(next() * 3);
      const inputs = graph.inputs.map(({ value }) =>
        randomInput(next, items * sizeOf(graph.values[value]!.shape), round % 3 !== 0),
      );
      const engines = [
        [
          node,
          { graphOptimizationLevel: 'all', intraOpNumThreads: 1, extra: { session: { set_denormal_as_zero: '1' } } },
        ],
        [node, { graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 }],
        [wasm, { executionProviders: ['wasm'] }],
      ] as const;
      for (const [api, options] of engines.slice(0, round % 4 === 0 ? 3 : 2)) {
        const slots = await runOnnxruntime(api, bundleOfGraph(graph), inputs, items, options);
        const [screened] = screenFloatTrace(graph, slots);
        expect(screened!.worst.slashable, `round ${round}: ${JSON.stringify(graph.nodes[0])}`).toBeNull();
      }
    }
  });
});

describe('what a runtime would fuse', () => {
  it('is pinned by the outputs: factors, sums and activations after products', async () => {
    const next = generator(seed);
    const constant = (shape: number[]) => ({ shape, data: randomInput(next, sizeOf(shape), false) });
    const window = { kernel: [3, 3], strides: [1, 1], dilations: [1, 1], pads: [1, 1, 1, 1] } as const;
    const image = { shape: [8, 6, 6], layout: [1, 2, 0] };
    const row = { shape: [5], layout: [0] };
    const graph: FloatGraph = {
      name: 'fusible',
      inputs: [{ name: 'x', value: 0 }],
      nodes: [
        { kind: 'conv', x: 0, window, groups: 1, weight: constant([8, 3, 3, 8]), bias: constant([8]) },
        { kind: 'mul', a: 1, b: constant([8, 1, 1]) },
        { kind: 'add', a: 2, b: constant([8, 1, 1]) },
        { kind: 'add', a: 3, b: 0 },
        { kind: 'relu', x: 4 },
        { kind: 'reshape', x: 5 },
        { kind: 'dense', x: 6, weight: constant([5, 288]), bias: null },
        { kind: 'add', a: 7, b: constant([5]) },
        { kind: 'relu', x: 8 },
      ],
      values: [image, image, image, image, image, image, { shape: [288], layout: [0] }, row, row, row].map(
        (value, v) => ({
          ...value,
          name: `t${v}`,
        }),
      ),
      outputs: [{ name: 'y', value: 9 }],
    };
    const items = 4;
    const input = randomInput(next, items * 288, false);
    for (const [api, options] of [
      [node, { graphOptimizationLevel: 'all' }],
      [wasm, { executionProviders: ['wasm'], graphOptimizationLevel: 'all' }],
    ] as const) {
      const slots = await runOnnxruntime(api, bundleOfGraph(graph), [input], items, options);
      const screened = screenFloatTrace(graph, slots);
      expect(screened.map(({ slashable, escalate }) => slashable + escalate)).toEqual(graph.nodes.map(() => 0));
    }
  });
});

/** A model of one node over x [1, ...]. */
function modelOf(
  op: string,
  shape: number[],
  constants: Record<string, Tensor>,
  attributes: OnnxNode['attributes'] = new Map(),
  output = shape,
): Uint8Array {
  const model: WritableModel = {
    name: 'one',
    opset: 17,
    inputs: [{ name: 'x', type: 'float32', shape }],
    outputs: [{ name: 'y', type: 'float32', shape: output }],
    nodes: [{ name: 'n', op, domain: '', inputs: ['x', ...Object.keys(constants)], outputs: ['y'], attributes }],
    initializers: new Map(Object.entries(constants)),
  };
  return writeOnnx(model);
}
const floats = (shape: number[], data: number[]): Tensor => ({ type: 'float32', shape, data: Float32Array.from(data) });

describe('what a float graph cannot hold', () => {
  it.each<[string, Uint8Array, string]>([
    ['an operator without a step', new Uint8Array(readFileSync(modelFile('iris'))), 'Tanh'],
    [
      'a contraction too long',
      modelOf('MatMul', [1, 8193], { w: floats([8193, 1], new Array<number>(8193).fill(1)) }, undefined, [1, 1]),
      '8193',
    ],
    ['alpha', modelOf('Gemm', [1, 2], { w: floats([2, 2], [1, 2, 3, 4]) }, new Map([['alpha', 2]])), 'alpha'],
    [
      'ceil_mode',
      modelOf(
        'MaxPool',
        [1, 1, 4, 4],
        {},
        new Map<string, number | number[]>([
          ['kernel_shape', [2, 2]],
          ['ceil_mode', 1],
        ]),
        [1, 1, 3, 3],
      ),
      'ceil_mode',
    ],
    [
      'windows of padding alone',
      modelOf(
        'MaxPool',
        [1, 1, 3, 3],
        {},
        new Map([
          ['kernel_shape', [1, 1]],
          ['pads', [1, 1, 1, 1]],
        ]),
        [1, 1, 5, 5],
      ),
      'padding alone',
    ],
    ['another batch', modelOf('Relu', [2, 3], {}), '[2, 3]'],
    [
      'a constant for each item',
      modelOf('Add', [1, 2], { c: floats([3, 2], [1, 2, 3, 4, 5, 6]) }, undefined, [3, 2]),
      'batch',
    ],
  ])('%s is refused by name', (_, bytes, named) => {
    expect(() => floatBundle(bytes, 'model.onnx')).toThrow(
      expect.objectContaining({ code: 'ONNX_NODE_UNSUPPORTED', message: expect.stringContaining(named) }),
    );
  });

  it('an output that nothing computes is refused', () => {
    const c = floats([1, 2], [1, 2]);
    const model: WritableModel = {
      name: 'constant',
      opset: 17,
      inputs: [{ name: 'x', type: 'float32', shape: [1, 2] }],
      outputs: [{ name: 'y', type: 'float32', shape: [1, 2] }],
      nodes: [{ name: 'n', op: 'Add', domain: '', inputs: ['c', 'c'], outputs: ['y'], attributes: new Map() }],
      initializers: new Map([['c', c]]),
    };
    expect(() => floatBundle(writeOnnx(model), 'model.onnx')).toThrow(
      expect.objectContaining({ code: 'ONNX_NODE_UNSUPPORTED', message: expect.stringContaining('is a constant') }),
    );
  });

  it('a weight that is not finite is refused', () => {
    expect(() => floatBundle(modelOf('Add', [1, 2], { c: floats([2], [1, Infinity]) }), 'model.onnx')).toThrow(
      expect.objectContaining({ code: 'CONSTANT_NOT_FINITE' }),
    );
  });

  it('normalisation after something else is a product and a sum', async () => {
    const parameters = {
      s: floats([2], [2, 3]),
      b: floats([2], [1, -1]),
      m: floats([2], [0.5, 1]),
      v: floats([2], [4, 9]),
    };
    const bundle = floatBundle(modelOf('BatchNormalization', [1, 2, 1, 2], parameters), 'model.onnx');
    expect(bundle.graph.nodes.map(({ kind }) => kind)).toEqual(['mul', 'add']);
    const slots = await runOnnxruntime(node, bundle, [Float32Array.of(1, 2, 3, 4)], 1);
    const expected = [1 + 0.5, 1 + 1.5, -1 + 2, -1 + 3];
    slots.at(-1)!.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 4));
  });
});

describe('identity of a float graph', () => {
  const graph = randomGraph(generator(5), 'conv');
  const [conv] = graph.nodes as [Extract<FloatNode, { kind: 'conv' }>];
  const digest = (change: Partial<FloatGraph>): string => floatModel({ ...graph, ...change }).digest;
  const withConv = (change: Partial<typeof conv>): string => digest({ nodes: [{ ...conv, ...change }] });
  const withValue = (change: Partial<FloatGraph['values'][number]>): string =>
    digest({ values: [graph.values[0]!, { ...graph.values[1]!, ...change }] });

  it('names of tensors and of the graph are labels; nothing else is', () => {
    expect(withValue({ name: 'other' })).toBe(digest({}));
    expect(digest({ name: 'other' })).toBe(digest({}));
    const { window, weight } = conv;
    const [, , out] = [0, 0, weight.shape[0]!];
    const others = [
      withConv({ window: { ...window, kernel: [window.kernel[0] + 1, window.kernel[1]] } }),
      withConv({ window: { ...window, strides: [window.strides[1] + 1, 3] } }),
      withConv({ window: { ...window, dilations: [3, 3] } }),
      withConv({ window: { ...window, pads: [9, 0, 0, 0] } }),
      withConv({ groups: conv.groups + 1 }),
      withConv({ weight: { ...weight, data: weight.data.map((value) => -value) } }),
      withConv({ weight: { ...weight, shape: [...weight.shape].reverse().concat(1) } }),
      withConv({ bias: { shape: [out], data: new Float32Array(out).fill(7) } }),
      withValue({ layout: [...graph.values[1]!.layout].reverse() }),
      withValue({ shape: [7, 7, 7] }),
      digest({ inputs: [{ name: 'other', value: 0 }] }),
      digest({ outputs: [{ name: 'other', value: 1 }] }),
      digest({ outputs: [{ name: 'out', value: 0 }] }),
      digest({ nodes: [{ kind: 'maxPool', x: 0, window }] }),
      digest({ nodes: [{ kind: 'averagePool', x: 0, window, countsPadding: true }] }),
      digest({ nodes: [{ kind: 'averagePool', x: 0, window, countsPadding: false }] }),
      digest({ nodes: [{ kind: 'relu', x: 0 }] }),
      digest({ nodes: [{ kind: 'reshape', x: 0 }] }),
      digest({ nodes: [{ kind: 'sub', a: 0, b: { shape: [1, 1, 1], data: Float32Array.of(1) } }] }),
      digest({ nodes: [{ kind: 'sub', b: 0, a: { shape: [1, 1, 1], data: Float32Array.of(1) } }] }),
      digest({}),
    ];
    expect(new Set(others).size).toBe(others.length);
  });

  it('a tensor of floats is never read as one of integers: its bits come with its own range', () => {
    const shape = [3];
    const { root, elements } = commitTensor({ shape, layout: [0] }, Float32Array.of(1, 2, 3), 1);
    const opening = {
      header: { range: FLOAT_RANGE, shape, layout: [0], items: 1, chunkCount: 1 },
      first: 0,
      chunks: [toHex(elements)],
      siblings: [],
    };
    const values = Int32Array.of(0x3f800000, 0x40000000, 0x40400000);
    expect(verifyChunks(toHex(root), opening)).toEqual({ valid: true, firstElement: 0, values });
    expect(toHex(encodeHeader(opening.header))).toBe(toHex(floatHeader(shape, [0], 1)));
    for (const range of [
      { lo: -(2 ** 31), hi: 2 ** 31 - 1 },
      { lo: 0, hi: 2 ** 31 - 1 },
      { lo: 0, hi: -1 },
    ]) {
      const header = { ...opening.header, range };
      expect(verifyChunks(toHex(root), { ...opening, header })).toMatchObject({ valid: false });
    }
  });

  it('bits of NaN and minus zero are committed as they are', () => {
    const bits = Uint32Array.of(0x7f800001, 0xffc00123, 0x80000000);
    const { elements } = commitTensor({ shape: [3], layout: [0] }, new Float32Array(bits.buffer), 1);
    expect(toHex(elements)).toBe('0x7f800001ffc0012380000000');
  });
});
