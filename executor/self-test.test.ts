import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AssayError } from '../common/errors.js';
import { slotsOf } from '../graph/index.js';
import type { Engine, ExactOptions, ExactSession } from './engine.js';
import { openOnnxruntime } from './engines/onnxruntime.js';
import { referenceEngine } from './engines/reference.js';
import { openTfjsWasm } from './engines/tfjs.js';
import { selfTest } from './self-test.js';
import { NODE_KINDS } from '../graph/integer/testing/random-graph.js';

/** What the reference gives for each case of the self-test: computed once, as the fault makes no difference to it. */
const right = new Map<string, Int32Array[]>();

/** The reference, with its results changed as a faulty device would. */
function faulty(change: (slot: Int32Array, kind: string, options: ExactOptions | undefined) => void): Engine {
  const honest = referenceEngine();
  return {
    ...honest,
    loadExact: async (bundle, options): Promise<ExactSession> => {
      const session = await honest.loadExact(bundle);
      const { graph } = bundle;
      return {
        ...session,
        run: async (inputs, items) => {
          const known = right.get(graph.name) ?? (await session.run(inputs, items));
          right.set(graph.name, known);
          const slots = known.map((slot) => slot.slice());
          slotsOf(graph).forEach((id, index) => {
            const node = graph.nodes.find(({ output }) => output === id);
            if (node !== undefined) change(slots[index]!, node.kind, options);
          });
          return slots;
        },
      };
    },
  };
}

describe('the self-test', () => {
  it('runs every operator kind', async () => {
    const { cases } = await selfTest(referenceEngine());
    expect([...new Set(cases.map(({ kind }) => kind))].sort()).toEqual([...NODE_KINDS].sort());
  });

  it('gives the class exact-im2col where only convolutions as such are wrong', async () => {
    const report = await selfTest(
      faulty((slot, kind, options) => {
        if (kind === 'conv' && options?.convolution === 'conv') slot[slot.length - 1]! += 1;
      }),
    );
    expect(report.deviceClass).toBe('exact-im2col');
    const wrong = report.cases.filter(({ differing }) => differing > 0);
    expect(new Set(wrong.map(({ kind, form }) => `${kind} ${form}`))).toEqual(new Set(['conv conv']));
  });

  it.each(NODE_KINDS)('gives the class float-only where one element of %s is one unit off', async (wrongKind) => {
    const report = await selfTest(
      faulty((slot, kind) => {
        if (kind === wrongKind) slot[0]! += 1;
      }),
    );
    expect(report.deviceClass).toBe('float-only');
  });

  it('gives the class float-only to an engine that fails, and keeps its message', async () => {
    const engine = faulty(() => {
      throw new AssayError('ENGINE_FAILED', 'out of device memory');
    });
    const report = await selfTest(engine);
    expect(report.deviceClass).toBe('float-only');
    expect(report.cases[0]!.failure).toBe('out of device memory');
  });
});

describe.each([
  ['onnxruntime-cpu', () => openOnnxruntime('cpu')],
  ['tfjs-wasm', () => openTfjsWasm()],
] as const)('%s', (name, open) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await open();
  });
  afterAll(() => engine.close());

  it('passes the self-test', async () => {
    const report = await selfTest(engine);
    expect(report.engine).toBe(name);
    expect(report.cases.filter(({ differing, failure }) => differing > 0 || failure !== null)).toEqual([]);
    expect(report.deviceClass).toBe('exact');
  });
});
