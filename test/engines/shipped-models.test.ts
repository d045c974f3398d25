/**
 * Every shipped model, compiled, on 1,000 inputs: all engines give the reference's integers in every slot of the trace.
 */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { compileModel, encodeInputs, evaluateGraph, readOnnx, sizeOf, slotsOf } from '../../graph/index.js';
import type { Bundle } from '../../graph/index.js';
import { seededRandom } from '../../graph/integer/testing/random-graph.js';
import { calibrationSamples, heldOutSamples, shippedModels } from '../../models/index.js';
import type { ShippedModel } from '../../models/index.js';
import { ENGINES } from './open-engines.js';

const INPUTS = 1000;
const BATCH = 250;
const SEED = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);

function compile(model: ShippedModel): Bundle {
  const calibration = calibrationSamples(model.name, 100);
  return compileModel(readOnnx(readFileSync(model.file), model.file), { calibration });
}

/** Held-out samples, as many as there are, then random integers of the input's range with both ends among them. */
function inputsOf(model: ShippedModel, bundle: Bundle): Int32Array {
  const [id] = bundle.graph.inputs;
  const { shape, range } = bundle.graph.tensors[id!]!;
  const size = sizeOf(shape);
  const real = heldOutSamples(model.name, INPUTS - 100).samples.map(
    (sample) => encodeInputs(bundle, sample).values[0]!,
  );
  const random = seededRandom(SEED);
  const inputs = new Int32Array(INPUTS * size);
  for (let item = 0; item < INPUTS; item++) {
    const own = inputs.subarray(item * size, (item + 1) * size);
    if (item < real.length) own.set(real[item]!);
    else if (item % 10 === 0) own.fill(range.hi);
    else if (item % 10 === 1) own.fill(range.lo);
    else own.forEach((_, index) => (own[index] = range.lo + Math.floor(random() * (range.hi - range.lo + 1))));
  }
  return inputs;
}

/** What the reference computes for the 1,000 inputs, in batches. */
interface Expectation {
  readonly bundle: Bundle;
  readonly batches: readonly Int32Array[];
  /** Per batch, per slot. */
  readonly values: readonly (readonly Int32Array[])[];
}

function expectation(model: ShippedModel): Expectation {
  const bundle = compile(model);
  const inputs = inputsOf(model, bundle);
  const size = inputs.length / INPUTS;
  const batches = Array.from({ length: INPUTS / BATCH }, (_, batch) =>
    inputs.subarray(batch * BATCH * size, (batch + 1) * BATCH * size),
  );
  const slots = slotsOf(bundle.graph);
  const values = batches.map((batch) => {
    const all = evaluateGraph(bundle.graph, [batch], BATCH);
    return slots.map((slot) => all[slot]!);
  });
  return { bundle, batches, values };
}

describe.each(shippedModels())('$name', (model) => {
  let expected: Expectation;
  beforeAll(() => {
    expected = expectation(model);
  }, 300_000);

  it.each(Object.keys(ENGINES))(`%s: 0 differences on ${INPUTS} inputs`, async (name) => {
    const { bundle, batches, values } = expected;
    const { graph } = bundle;
    const slots = slotsOf(graph);
    const engine = await ENGINES[name]!();
    const session = await engine.loadExact(bundle);
    let compared = 0;
    for (const [batch, inputs] of batches.entries()) {
      const found = await session.run([inputs], BATCH);
      slots.forEach((slot, index) => {
        const right = values[batch]![index]!;
        const at = found[index]!.findIndex((value, element) => value !== right[element]);
        if (at >= 0) {
          const { name: tensor } = graph.tensors[slot]!;
          const what = `batch ${batch}, ${tensor}, element ${at}: expected ${right[at]}, found ${found[index]![at]}`;
          expect.fail(`ASSAY_SEED=${SEED}: ${what}`);
        }
        expect(found[index]!.length).toBe(right.length);
        compared += right.length;
      });
    }
    expect(compared).toBe(INPUTS * slots.reduce((sum, slot) => sum + sizeOf(graph.tensors[slot]!.shape), 0));
    await session.close();
    await engine.close();
  });
});
