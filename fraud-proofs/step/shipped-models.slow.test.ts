/**
 * Every operator of LeNet-5 and of the depthwise CNN, a spread of elements, one unit each: found by asking, and proved by the
 * contract. Counted, so that no case is left out unseen.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileModel, encodeInputs, evaluateGraph, readOnnx } from '../../graph/index.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import {
  COMPILE_TIMEOUT_MS,
  deployStep,
  type StepCase,
  type StepChain,
} from '../../verifier-contracts/harness/step/step-fixture.js';
import { FullTrace } from '../nodes/full-trace.js';
import { MAX_CONTRACTION } from './sums.js';
import { StepModel } from './step-model.js';
import { receiptOf } from './testing/test-claims.js';
import { play } from './testing/play.js';

/** Elements of a slot that are changed. */
const SPREAD = 24;

describe('one unit in one element', () => {
  let chain: StepChain;
  beforeAll(async () => {
    chain = await deployStep(MAX_CONTRACTION);
  }, COMPILE_TIMEOUT_MS);
  afterAll(() => chain.stop());

  it.each(['lenet5', 'mnist-dwcnn'])('of %s', async (name) => {
    const { file } = shippedModel(name);
    const bundle = compileModel(readOnnx(readFileSync(file), file), { calibration: calibrationSamples(name, 40) });
    const model = new StepModel(bundle);
    const { values: inputs, items } = encodeInputs(bundle, heldOutSamples(name, 1).samples[0]!);
    const values = evaluateGraph(bundle.graph, inputs, items);
    const right = model.slots.map((id) => values[id]!);
    const own = new FullTrace(model, right, items);
    let [injected, proved, worst] = [0, 0, 0];
    for (let slot = bundle.graph.inputs.length; slot < model.slotCount; slot++) {
      const { lo, hi } = model.infoOfSlot(slot).range;
      const { length } = right[slot]!;
      const cases: StepCase[] = [];
      for (let i = 0; i < Math.min(SPREAD, length); i++) {
        const element = Math.floor((i * length) / Math.min(SPREAD, length));
        const told = right.map((data) => data.slice());
        told[slot]![element]! += told[slot]![element]! < hi ? 1 : -1;
        expect(hi).toBeGreaterThan(lo);
        injected++;
        const trace = new FullTrace(model, told, items);
        const receipt = receiptOf(model, trace);
        const { finding } = play(own, receipt, trace.asClaim(receipt, 'own'));
        expect(finding).toMatchObject({ kind: 'fault', target: { fault: 'step', slot, element } });
        if (finding.kind === 'fault') cases.push({ receipt, fault: 'step', evidence: finding.proof.evidence });
      }
      const answers = await chain.judge(cases);
      for (const answer of answers) {
        expect(answer, `slot ${slot}`).toMatchObject({ verdict: 'fault' });
        proved++;
      }
      // One of them: elements of a slot cost about the same.
      const gas = cases.length === 0 ? 0 : await chain.transactionGas(cases.at(-1)!);
      const bytes = Math.max(...cases.map(({ evidence }) => evidence.length / 2));
      worst = Math.max(worst, gas);
      console.log(
        `${name} slot ${slot} ${model.value(model.valueOfSlot[slot]!).kind}: ${gas} gas, ${bytes} bytes of evidence`,
      );
    }
    console.log(`${name}: ${proved} of ${injected} proved, at most ${worst} gas a step`);
    expect(proved).toBe(injected);
  });
});
