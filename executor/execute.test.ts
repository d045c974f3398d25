import { describe, expect, it } from 'vitest';
import { TraceHasher } from '../graph/commitment/wasm/trace-hasher.js';
import { evaluateGraph, inputRoot, makeBundle, outputRoot, slotsOf, traceRoot } from '../graph/index.js';
import type { ExactSession } from './engine.js';
import { openEngine } from './engines.js';
import { referenceEngine } from './engines/reference.js';
import { executeJob } from './execute.js';
import { images, smallClassifier } from './testing/digits.js';

const bundle = smallClassifier(1);
const { graph } = bundle;

describe('executeJob', () => {
  it('gives outputs, slots and the commitments to them', async () => {
    const inputs = images(3, 1);
    const session = await referenceEngine().loadExact(bundle);
    const found = await executeJob(session, bundle, inputs, 3);
    const values = evaluateGraph(graph, inputs, 3);
    const slots = slotsOf(graph).map((id) => values[id]!);
    const outputs = graph.outputs.map((id) => values[id]!);
    expect(found).toEqual({
      slots,
      outputs,
      inputRoot: inputRoot(graph, inputs, 3),
      outputRoot: outputRoot(graph, outputs, 3),
      traceRoot: traceRoot(graph, slots, 3),
      opCount: slots.length,
    });
  });

  it('commits the slots of the table alone; receipts state the number of all', async () => {
    const bounded = makeBundle({ ...bundle, committedSlots: [0, 3] });
    const inputs = images(3, 1);
    const full = await executeJob(await referenceEngine().loadExact(bundle), bundle, inputs, 3);
    for (const name of ['reference', 'onnxruntime-cpu', 'tfjs-wasm'] as const) {
      const engine = await openEngine(name);
      const session = await engine.loadExact(bounded);
      const found = await executeJob(session, bounded, inputs, 3);
      const slots = [full.slots[0]!, full.slots[3]!];
      const trace = traceRoot(graph, slots, 3, [0, 3]);
      expect(found, name).toEqual({ ...full, slots, traceRoot: trace });
      expect(found.opCount).toBe(4);
      await session.close();
      await engine.close();
    }
  });

  it('gives the same commitments while other threads hash', async () => {
    const hasher = await TraceHasher.open(2);
    const session = await (await openEngine('onnxruntime-cpu')).loadExact(bundle);
    // Enough elements to be shared out, then too few.
    for (const items of [300, 1, 200]) {
      const inputs = images(items, items);
      const alone = await executeJob(session, bundle, inputs, items);
      expect(await executeJob(session, bundle, inputs, items, hasher)).toEqual(alone);
      const values = evaluateGraph(graph, inputs, items);
      const slots = slotsOf(graph).map((id) => values[id]!);
      expect(alone.traceRoot).toBe(traceRoot(graph, slots, items));
    }
    await session.close();
    await hasher.close();
  });

  it('commits to what is returned, whatever the session has handed over before', async () => {
    const honest = await referenceEngine().loadExact(bundle);
    const session: ExactSession = {
      ...honest,
      run: async (inputs, items, onTensor) => {
        const slots = await honest.run(inputs, items);
        slots.forEach((values, position) => onTensor?.(position, new Int32Array(values.length)));
        return slots;
      },
    };
    const inputs = images(2, 1);
    expect(await executeJob(session, bundle, inputs, 2)).toEqual(await executeJob(honest, bundle, inputs, 2));
  });

  it('takes no other number of slots than the model commits', async () => {
    const honest = await referenceEngine().loadExact(bundle);
    const session: ExactSession = {
      ...honest,
      run: async (inputs, items) => (await honest.run(inputs, items)).slice(1),
    };
    await expect(executeJob(session, bundle, images(1, 1), 1)).rejects.toMatchObject({
      code: 'ENGINE_NOT_EXACT',
      message: expect.stringContaining('commits 4 slots, 3 were computed'),
    });
  });

  const refused: [string, Int32Array[], number][] = [
    ['an element above its range', [images(1, 1)[0]!.fill(128, 63)], 1],
    ['an element below its range', [images(1, 1)[0]!.fill(-1, 0, 1)], 1],
    ['too few elements', [images(1, 1)[0]!.subarray(1)], 1],
    ['another number of items', images(2, 1), 3],
    ['no items', [new Int32Array(0)], 0],
    ['too many inputs', [...images(1, 1), ...images(1, 2)], 1],
  ];
  it.each(refused)('refuses %s before anything runs', async (_, inputs, items) => {
    const session: ExactSession = {
      sizeBytes: 0,
      run: () => expect.unreachable('the session must not run'),
      close: async () => undefined,
    };
    await expect(executeJob(session, bundle, inputs, items)).rejects.toMatchObject({ code: 'INPUT_RANGE' });
  });

  it("commits to no value that a tensor's range rules out", async () => {
    const honest = await referenceEngine().loadExact(bundle);
    const session: ExactSession = {
      ...honest,
      run: async (inputs, items) => {
        const slots = await honest.run(inputs, items);
        slots[1]![0] = 128;
        return slots;
      },
    };
    await expect(executeJob(session, bundle, images(1, 1), 1)).rejects.toMatchObject({ code: 'ENGINE_NOT_EXACT' });
  });
});
