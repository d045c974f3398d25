/** A sample of shipped-models.slow.test.ts, without a chain: lies in every slot of both networks, found by asking and shown. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { compileModel, encodeInputs, evaluateGraph, readOnnx } from '../../graph/index.js';
import { seededRandom } from '../../graph/integer/testing/random-graph.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import { FullTrace } from '../nodes/full-trace.js';
import { tamperTrace } from './inject.js';
import { StepModel } from './step-model.js';
import { play } from './testing/play.js';
import { receiptOf } from './testing/test-claims.js';

describe('one unit in one element', () => {
  it.each(['lenet5', 'mnist-dwcnn'])('of %s', (name) => {
    const draw = seededRandom(13);
    const { file } = shippedModel(name);
    const bundle = compileModel(readOnnx(readFileSync(file), file), { calibration: calibrationSamples(name, 10) });
    const model = new StepModel(bundle);
    const { values: inputs, items } = encodeInputs(bundle, heldOutSamples(name, 1).samples[0]!);
    const values = evaluateGraph(bundle.graph, inputs, items);
    const own = new FullTrace(
      model,
      model.slots.map((id) => values[id]!),
      items,
    );
    for (let slot = inputs.length; slot < model.slotCount; slot++) {
      const element = Math.floor(draw() * own.slots[slot]!.length);
      const delta = own.slots[slot]![element]! < model.infoOfSlot(slot).range.hi ? 1 : -1;
      const lie = { at: { slot }, element, delta, downstream: slot % 2 === 0 };
      const { trace } = tamperTrace(model, inputs, items, lie);
      const receipt = receiptOf(model, trace);
      const { finding, asked } = play(own, receipt, trace.asClaim(receipt, 'own'));
      expect(asked.length).toBeLessThanOrEqual(3);
      expect(finding).toMatchObject({ kind: 'fault', target: { fault: 'step', slot, element } });
      if (finding.kind === 'fault')
        expect(finding.place).toMatchObject({
          element,
          committed: String(trace.slots[slot]![element]),
          recomputed: String(own.slots[slot]![element]),
        });
    }
  });
});
