/** The exported ONNX on onnxruntime's CPU engine against the reference evaluator, bit for bit. */
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { readOnnx } from '../onnx/read-onnx.js';
import { GraphBuilder } from './builder.js';
import { evaluateGraph } from './evaluate.js';
import { exportExact, type ExportOptions } from './export-exact.js';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom, type NodeCase } from './testing/random-graph.js';

const FIRST_SEED = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
const CASES = 200;

/** Every tensor of `ids` as onnxruntime computes it. */
async function runExport({ graph, inputs, items }: NodeCase, options: ExportOptions): Promise<Float64Array[]> {
  const session = await InferenceSession.create(exportExact(graph, options), {
    executionProviders: ['cpu'],
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  try {
    const feeds = Object.fromEntries(
      graph.inputs.map((id, i) => [
        `t${id}`,
        new Tensor('float32', Float32Array.from(inputs[i]!), [items, ...graph.tensors[id]!.shape]),
      ]),
    );
    const results = await session.run(feeds);
    return options.outputs.map((id) => {
      const { dims, data } = results[`t${id}`]!;
      expect(dims).toEqual([items, ...graph.tensors[id]!.shape]);
      return Float64Array.from(data as Float32Array | Float64Array);
    });
  } finally {
    await session.release();
  }
}

async function expectEqual(nodeCase: NodeCase, convolution: 'conv' | 'im2col', seed: number): Promise<void> {
  const { graph, inputs, items } = nodeCase;
  const outputs = graph.nodes.map((node) => node.output);
  const expected = evaluateGraph(graph, inputs, items);
  const found = await runExport(nodeCase, { outputs, convolution });
  outputs.forEach((id, i) => {
    const differing = found[i]!.findIndex((v, element) => v !== expected[id]![element]);
    if (differing >= 0)
      expect.fail(
        `seed ${seed}, ${convolution}: '${graph.tensors[id]!.name}' element ${differing}: onnxruntime ${found[i]![differing]}, reference ${expected[id]![differing]}`,
      );
  });
}

describe('the exact export on onnxruntime (CPU)', () => {
  it.each(NODE_KINDS)(`equals the reference on ${CASES} random cases of %s`, async (kind) => {
    for (let i = 0; i < CASES; i++) {
      const seed = (FIRST_SEED + i) >>> 0;
      const convolution = (kind === 'conv' || kind === 'sumPool') && i % 2 === 1 ? 'im2col' : 'conv';
      await expectEqual(randomNodeCase(kind, seededRandom(seed)), convolution, seed);
    }
  });

  it('equals the reference on random networks', async () => {
    for (let i = 0; i < CASES; i++) {
      const seed = (FIRST_SEED + i) >>> 0;
      await expectEqual(randomGraph(seededRandom(seed)), i % 4 === 3 ? 'im2col' : 'conv', seed);
    }
  });

  it('pads with real zeros under MaxPool, where onnxruntime would fuse the two and forget them', async () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1, 2, 2], { lo: -9, hi: -1 }, 1, 0);
    const padded = builder.add({ kind: 'pad', name: 'pad', x, before: [0, 1, 1], after: [0, 1, 1], value: 0 });
    const window = { kernel: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] } as const;
    const pooled = builder.add({ kind: 'maxPool', name: 'pool', x: padded, window });
    const graph = builder.finish('pad', [pooled]);
    const [found] = await runExport(
      { graph, inputs: [Int32Array.of(-5, -6, -7, -8)], items: 1 },
      { outputs: [pooled] },
    );
    expect([...found!]).toEqual([0, 0, 0, 0, -5, 0, 0, 0, 0]);
  });
});

describe('the file', () => {
  const hasConv = ({ nodes }: NodeCase['graph']): boolean => nodes.some(({ kind }) => kind === 'conv');
  const network = Array.from({ length: 50 }, (_, i) => randomGraph(seededRandom(i)).graph).find(hasConv)!;
  const operators = (options: ExportOptions): Set<string> =>
    new Set(readOnnx(exportExact(network, options), 'exact.onnx').nodes.map((node) => node.op));

  it('names inputs and outputs by tensor and leaves the batch free', () => {
    const outputs = network.nodes.map((node) => node.output);
    const model = readOnnx(exportExact(network, { outputs }), 'exact.onnx');
    expect(model.inputs.map(({ name, shape }) => [name, shape])).toEqual([['t0', ['N', ...network.tensors[0]!.shape]]]);
    expect(model.outputs.map(({ name, shape }) => [name, shape])).toEqual(
      outputs.map((id) => [`t${id}`, ['N', ...network.tensors[id]!.shape]]),
    );
  });

  it('holds Conv only where that was asked for', () => {
    expect(operators({ outputs: network.outputs })).toContain('Conv');
    expect(operators({ outputs: network.outputs, convolution: 'im2col' })).not.toContain('Conv');
  });

  it('holds what the outputs need and nothing else', () => {
    const first = network.nodes[0]!;
    const all = readOnnx(exportExact(network, { outputs: network.outputs }), 'all').nodes.length;
    expect(readOnnx(exportExact(network, { outputs: [first.output] }), 'first').nodes.length).toBeLessThan(all);
  });

  it('never multiplies a sum of products in float32, where a runtime would put the factor into the weights', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1, 1, 1], { lo: 0, hi: 1 }, 1, 0);
    const window = { kernel: [1, 1], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] } as const;
    const conv = { kind: 'conv', name: 'conv', x, window, groups: 1, outChannels: 1, bias: null } as const;
    const factors = [1, -1, 2, 5001];
    const outputs = factors.map((coefficient) => {
      const sum = builder.add({ ...conv, weight: Int16Array.of(2047) });
      return builder.add({ kind: 'combine', name: 'c', terms: [{ x: sum, coefficient }], bias: null });
    });
    const model = readOnnx(exportExact(builder.finish('g', outputs), { outputs }), 'exact.onnx');
    expect(model.outputs.map(({ type }) => type)).toEqual(['float32', 'float32', 'float64', 'float64']);
    const made = new Map(model.nodes.flatMap((node) => node.outputs.map((name) => [name, node.op] as const)));
    const factorsOn = model.nodes.filter(({ op }) => op === 'Mul').map(({ inputs }) => made.get(inputs[0]!));
    expect(factorsOn).toEqual(['Conv', 'Cast', 'Cast']);
  });

  it('is the same for the same graph', () => {
    expect(exportExact(network, { outputs: network.outputs })).toEqual(
      exportExact(network, { outputs: network.outputs }),
    );
  });

  it('cannot have inputs, unknown tensors or repetitions as outputs', () => {
    const output = network.outputs[0]!;
    expect(() => exportExact(network, { outputs: [0] })).toThrow('is an input of graph');
    expect(() => exportExact(network, { outputs: [999] })).toThrow('tensor 999 is not in graph');
    expect(() => exportExact(network, { outputs: [output, output] })).toThrow('is listed twice');
  });
});
