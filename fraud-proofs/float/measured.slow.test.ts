/**
 * What the sound bound lets through and what it catches, measured: honest engines at every setting, and executors that
 * run something else. Prints tables; asserted is that no honest element is slashable, and that every lie has one.
 */
import { readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-node';
import * as web from 'onnxruntime-web';
import { describe, expect, it } from 'vitest';
import { generator } from '../../graph/onnx/testing/random.js';
import { loadMnist } from '../../models/data/mnist.js';
import { modelFile } from '../../models/model-file.js';
import { bundleOfGraph, floatBundle } from './float-bundle.js';
import { screenFloatTrace, type ScreenedSlot } from './screen-float-trace.js';
import { LIES } from './testing/lies.js';
import { runOnnxruntime, type OnnxruntimeApi } from './testing/run-onnxruntime.js';
import type { FloatGraph } from './types.js';

const MODELS = ['mnist-mlp', 'lenet5', 'mnist-dwcnn'] as const;
const ITEMS = 16;
const node: OnnxruntimeApi = ort;
const wasm = web as OnnxruntimeApi;
web.env.wasm.numThreads = 1;

type Options = Parameters<typeof runOnnxruntime>[4];
const ENGINES: readonly (readonly [string, OnnxruntimeApi, Options])[] = [
  ['CPU, optimisations off, 1 thread', node, { graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 }],
  ['CPU, optimisations off, 2 threads', node, { graphOptimizationLevel: 'disabled', intraOpNumThreads: 2 }],
  ['CPU, all optimisations, 1 thread', node, { graphOptimizationLevel: 'all', intraOpNumThreads: 1 }],
  ['CPU, all optimisations, 2 threads', node, { graphOptimizationLevel: 'all', intraOpNumThreads: 2 }],
  ['WebAssembly, optimisations off', wasm, { executionProviders: ['wasm'], graphOptimizationLevel: 'disabled' }],
  ['WebAssembly, all optimisations', wasm, { executionProviders: ['wasm'], graphOptimizationLevel: 'all' }],
];

const total = (slots: readonly ScreenedSlot[], key: 'elements' | 'slashable' | 'escalate'): number =>
  slots.reduce((sum, slot) => sum + slot[key], 0);
const share = (part: number, of: number): string => `${((100 * part) / of).toFixed(2)} %`;

/** Slots that are sums of products. */
const sumsOf = (graph: FloatGraph, slots: readonly ScreenedSlot[]): ScreenedSlot[] =>
  slots.filter(({ value }) => 'weight' in graph.nodes[value - graph.inputs.length]!);

const row = (graph: FloatGraph, slots: readonly ScreenedSlot[]): Record<string, string | number> => {
  const sums = sumsOf(graph, slots);
  return {
    elements: total(slots, 'elements'),
    slashable: total(slots, 'slashable'),
    sums: total(sums, 'elements'),
    'sums slashable': share(total(sums, 'slashable'), total(sums, 'elements')),
    'sums escalate': share(total(sums, 'escalate'), total(sums, 'elements')),
  };
};

/** One layer of `depth` products each, inputs and weights normally distributed. */
function wideLayer(next: () => number, depth: number): { graph: FloatGraph; input: Float32Array } {
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const rows = 32;
  const weight = { shape: [rows, depth], data: Float32Array.from({ length: rows * depth }, normal) };
  const graph: FloatGraph = {
    name: `${depth} products`,
    inputs: [{ name: 'x', value: 0 }],
    nodes: [{ kind: 'dense', x: 0, weight, bias: null }],
    values: [
      { name: 'x', shape: [depth], layout: [0] },
      { name: 'y', shape: [rows], layout: [0] },
    ],
    outputs: [{ name: 'y', value: 1 }],
  };
  return { graph, input: Float32Array.from({ length: ITEMS * depth }, normal) };
}

const WIDE = [256, 1024, 4096, 8192];
const WIDE_LIES = ['int8 weights', 'bfloat16 weights', 'bfloat16 operands', 'TF32 operands'];

describe('float executions, measured', () => {
  it('honest engines are never slashable', async () => {
    const table: Record<string, Record<string, string | number>> = {};
    let elements = 0;
    for (const name of MODELS) {
      const bundle = floatBundle(readFileSync(modelFile(name)), name);
      const input = Float32Array.from(loadMnist('heldOut', ITEMS).values);
      for (const [engine, api, options] of ENGINES) {
        const slots = await runOnnxruntime(api, bundle, [input], ITEMS, options);
        const screened = screenFloatTrace(bundle.graph, slots);
        table[`${name}, ${engine}`] = row(bundle.graph, screened);
        elements += total(screened, 'elements');
        expect(total(screened, 'slashable'), `${name}, ${engine}`).toBe(0);
      }
    }
    const next = generator(1);
    for (const depth of WIDE) {
      const { graph, input } = wideLayer(next, depth);
      for (const [engine, api, options] of ENGINES) {
        const screened = screenFloatTrace(
          graph,
          await runOnnxruntime(api, bundleOfGraph(graph), [input], ITEMS, options),
        );
        table[`${graph.name}, ${engine}`] = row(graph, screened);
        expect(total(screened, 'slashable'), `${graph.name}, ${engine}`).toBe(0);
      }
    }
    console.table(table);
    expect(elements).toBeGreaterThan(100_000 * ENGINES.length);
  });

  it('lies, by tier', async () => {
    const table: Record<string, Record<string, string | number>> = {};
    for (const name of MODELS) {
      const { graph } = floatBundle(readFileSync(modelFile(name)), name);
      const input = Float32Array.from(loadMnist('heldOut', ITEMS).values);
      for (const [what, lie] of Object.entries(LIES)) {
        const slots = await lie(graph, [input], ITEMS, (other) =>
          runOnnxruntime(node, bundleOfGraph(other), [input], ITEMS),
        );
        const screened = screenFloatTrace(graph, slots);
        table[`${name}, ${what}`] = row(graph, screened);
        expect(total(screened, 'slashable'), `${name}, ${what}`).toBeGreaterThan(0);
      }
    }
    const next = generator(2);
    for (const depth of WIDE) {
      const { graph, input } = wideLayer(next, depth);
      for (const what of WIDE_LIES) {
        const slots = await LIES[what]!(graph, [input], ITEMS, (other) =>
          runOnnxruntime(node, bundleOfGraph(other), [input], ITEMS),
        );
        table[`${graph.name}, ${what}`] = row(graph, screenFloatTrace(graph, slots));
      }
    }
    console.table(table);
  });
});
