import { describe, expect, it } from 'vitest';
import { GraphBuilder, type IntegerGraph } from '../../graph/index.js';
import { randomGraph, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { requireSupported, STEP_GAS_LIMIT, supports } from './supports.js';

function product(K: number): IntegerGraph {
  const builder = new GraphBuilder();
  const x = builder.addInput('x', [K], { lo: -1, hi: 1 }, 1, 0);
  const weight = new Int8Array(K).fill(1);
  return builder.finish('product', [
    builder.add({ kind: 'matmul', name: 'fc', x, inFeatures: K, outFeatures: 1, weight, bias: null }),
  ]);
}

describe('supports', () => {
  it('random networks, and a contraction of any length whose sums can be asked for', () => {
    const random = seededRandom(5);
    for (let i = 0; i < 5; i++) expect(supports(randomGraph(random).graph)).toBeNull();
    expect(supports(product(40_000))).toBeNull();
    expect(supports(product(4096), 8)).toBeNull();
  });

  it('refuses more parts than an answer has', () => {
    expect(() => requireSupported(product(4097), 8)).toThrow(
      expect.objectContaining({
        code: 'DISPUTE_UNSUPPORTED',
        meta: expect.objectContaining({ cost: 513, limit: 512 }),
      }),
    );
  });

  it('refuses two long contractions under one element', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [64], { lo: -1, hi: 1 }, 1, 0);
    const fc = {
      kind: 'matmul',
      x,
      inFeatures: 64,
      outFeatures: 2,
      weight: new Int8Array(128).fill(1),
      bias: null,
    } as const;
    const terms = [fc, fc].map((node, i) => ({ x: builder.add({ ...node, name: `fc${i}` }), coefficient: 1 }));
    const graph = builder.finish('two', [builder.add({ kind: 'combine', name: 'sum', terms, bias: null })]);
    expect(supports(graph)).toBeNull();
    expect(supports(graph, 32)).toContain("combine 'sum'");
  });

  it('refuses a step that reads too much, naming the operator and the mend', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [1, 120, 120], { lo: 0, hi: 1 }, 1, 0);
    const pads = [1, 1, 1, 1] as const;
    const window = { kernel: [100, 100], strides: [20, 20], dilations: [1, 1], pads } as const;
    const graph = builder.finish('pool', [builder.add({ kind: 'maxPool', name: 'max', x, window })]);
    expect(() => requireSupported(graph)).toThrow(
      expect.objectContaining({
        code: 'DISPUTE_UNSUPPORTED',
        message: expect.stringContaining("maxPool 'max'"),
        mend: expect.any(String),
        meta: expect.objectContaining({ limit: STEP_GAS_LIMIT }),
      }),
    );
  });

  it('refuses operators that are nested too deep, and descriptors that are too long', () => {
    const builder = new GraphBuilder();
    let x = builder.addInput('x', [2], { lo: -1, hi: 1 }, 1, 0);
    for (let i = 0; i < 25; i++)
      x = builder.add({ kind: 'combine', name: `c${i}`, terms: [{ x, coefficient: -1 }], bias: null });
    expect(supports(builder.finish('deep', [x]))).toContain('25 operators');
    const wide = new GraphBuilder();
    const one = wide.addInput('x', [1], { lo: -1, hi: 1 }, 1, 0);
    const xs = new Array<number>(120_000).fill(one);
    expect(supports(wide.finish('wide', [wide.add({ kind: 'concat', name: 'many', xs, axis: 0 })]))).toContain(
      "concat 'many'",
    );
  });
});
