/**
 * Every operator of LeNet-5 and of the depthwise CNN, one unit in one element, up and down: every element found by asking and
 * shown to the mirror of the contract; corners, edges and a spread of elements proved to the contract. Counted, so that no
 * case is left out unseen.
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

const NAMES = ['lenet5', 'mnist-dwcnn'];
/** Elements of a slot that are shown to the contract beside its corners. */
const SPREAD = 24;

interface Prepared {
  readonly model: StepModel;
  readonly own: FullTrace;
  readonly computed: readonly number[];
}

function prepared(name: string): Prepared {
  const { file } = shippedModel(name);
  const bundle = compileModel(readOnnx(readFileSync(file), file), { calibration: calibrationSamples(name, 40) });
  const model = new StepModel(bundle);
  const { values: inputs, items } = encodeInputs(bundle, heldOutSamples(name, 1).samples[0]!);
  const values = evaluateGraph(bundle.graph, inputs, items);
  const slots = model.slots.map((id) => values[id]!);
  const own = new FullTrace(model, slots, items);
  return { model, own, computed: slots.map((_, slot) => slot).slice(inputs.length) };
}

/** Changes by a unit that stay in the slot's range: down, up. */
function unitsOf({ model, own }: Prepared, slot: number, element: number): number[] {
  const { lo, hi } = model.infoOfSlot(slot).range;
  const value = own.slots[slot]![element]!;
  return [-1, 1].filter((unit) => value + unit >= lo && value + unit <= hi);
}

/** The claim of a cheat who changed this element and nothing else, and what a watcher finds who asks for what he needs. */
function found({ model, own }: Prepared, slot: number, element: number, unit: number): StepCase {
  const told = own.slots[slot]!.slice();
  told[element]! += unit;
  const trace = own.withSlot(slot, told);
  const receipt = receiptOf(model, trace);
  const { finding, asked } = play(own, receipt, trace.asClaim(receipt, 'own'));
  // One look at each: an assertion of a library costs as much as the rest.
  if (
    finding.kind !== 'fault' ||
    finding.target.fault !== 'step' ||
    finding.target.slot !== slot ||
    finding.target.element !== element ||
    finding.place.committed !== String(told[element]) ||
    finding.place.recomputed !== String(own.slots[slot]![element]) ||
    asked.length > 3
  )
    expect.fail(`slot ${slot}, element ${element}, ${unit}: ${JSON.stringify(finding)}`);
  return { receipt, fault: 'step', evidence: finding.proof.evidence };
}

/** Elements at the ends of all axes, where windows meet their padding, of the first item; then a spread of all. */
function covering(shape: readonly number[], length: number): number[] {
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, side) => product * side, 1));
  const corners = shape.reduce<number[]>(
    (places, side, axis) =>
      places.flatMap((place) => [0, Math.floor(side / 2), side - 1].map((at) => place + at * strides[axis]!)),
    [0],
  );
  const spread = Array.from({ length: SPREAD }, (_, i) => Math.floor((i * length) / SPREAD));
  return [...new Set([...corners, ...spread, length - 1])].sort((a, b) => a - b);
}

describe('one unit in one element, found by asking and shown to the mirror of the contract', () => {
  // findFault hands evidence out only when checkStep has found the fault in it.
  it.each(NAMES)('every element of every slot of %s', (name) => {
    const given = prepared(name);
    let [elements, faults] = [0, 0];
    for (const slot of given.computed)
      for (let element = 0; element < given.own.slots[slot]!.length; element++) {
        const units = unitsOf(given, slot, element);
        expect(units.length).toBeGreaterThan(0);
        for (const unit of units) found(given, slot, element, unit);
        elements++;
        faults += units.length;
      }
    console.log(`${name}: ${faults} of ${faults} faults in ${elements} elements found and shown`);
  });
});

describe('one unit in one element, proved to the contract', () => {
  let chain: StepChain;
  beforeAll(async () => {
    chain = await deployStep(MAX_CONTRACTION);
  }, COMPILE_TIMEOUT_MS);
  afterAll(() => chain.stop());

  it.each(NAMES)('all slots of %s: corners, middles of edges, and a spread', async (name) => {
    const given = prepared(name);
    let [injected, proved, worst] = [0, 0, 0];
    for (const slot of given.computed) {
      const { shape } = given.model.infoOfSlot(slot);
      const cases = covering(shape, given.own.slots[slot]!.length).flatMap((element) =>
        unitsOf(given, slot, element).map((unit) => found(given, slot, element, unit)),
      );
      injected += cases.length;
      for (let i = 0; i < cases.length; i += 64)
        for (const answer of await chain.judge(cases.slice(i, i + 64))) {
          expect(answer, `slot ${slot}`).toMatchObject({ verdict: 'fault' });
          proved++;
        }
      // One of them: elements of a slot cost about the same.
      const gas = await chain.transactionGas(cases.at(-1)!);
      const bytes = Math.max(...cases.map(({ evidence }) => evidence.length / 2));
      worst = Math.max(worst, gas);
      const { kind } = given.model.value(given.model.valueOfSlot[slot]!);
      console.log(`${name} slot ${slot} ${kind}: ${gas} gas, ${bytes} bytes of evidence`);
    }
    console.log(`${name}: ${proved} of ${injected} proved, at most ${worst} gas a step`);
    expect(proved).toBe(injected);
  });
});
