import { describe, expect, it } from 'vitest';
import { evaluateGraph, inputRoot, outputRoot, slotsOf, traceRoot } from '../graph/index.js';
import type { ExactSession } from './engine.js';
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
