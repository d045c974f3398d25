/** Estimates of supports.ts against the gas that transactions to the contract take. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  compileModel,
  encodeInputs,
  evaluateGraph,
  GraphBuilder,
  readOnnx,
  type IntegerGraph,
} from '../../graph/index.js';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import { COMPILE_TIMEOUT_MS, deployStep, type StepChain } from '../../verifier-contracts/harness/step/step-fixture.js';
import { buildEvidence } from './build-evidence.js';
import { encodeEvidence } from './encode-evidence.js';
import { StepModel } from './step-model.js';
import { stepCosts } from './supports.js';
import { MAX_CONTRACTION } from './sums.js';
import { bundleOf, claimOf } from './testing/test-claims.js';

let chain: StepChain;
beforeAll(async () => {
  chain = await deployStep(MAX_CONTRACTION);
}, COMPILE_TIMEOUT_MS);
afterAll(() => chain.stop());

/** Largest gas over estimate of all slots. */
async function compare(
  name: string,
  graph: IntegerGraph,
  inputs: readonly Int32Array[],
  items: number,
  perSlot: number,
): Promise<void> {
  const model = new StepModel(bundleOf(graph));
  const values = evaluateGraph(graph, inputs, items);
  const right = model.slots.map((id) => values[id]!);
  for (const cost of stepCosts(model)) {
    const { slot } = cost;
    const { length } = right[slot]!;
    let most = 0;
    for (let i = 0; i < Math.min(perSlot, length); i++) {
      const element = Math.floor(((i + 0.5) * length) / Math.min(perSlot, length));
      const wrong = right.map((data) => data.slice());
      const { lo, hi } = model.infoOfSlot(slot).range;
      if (lo === hi) continue;
      wrong[slot]![element]! += wrong[slot]![element]! < hi ? 1 : -1;
      const claim = claimOf(model, wrong, items);
      const evidence = encodeEvidence(buildEvidence(model, claim, { fault: 'step', slot, element })!);
      most = Math.max(most, await chain.transactionGas({ receipt: claim.receipt, fault: 'step', evidence }));
    }
    if (most === 0) continue;
    console.log(`${name} ${cost.operator}: ${most} gas, estimated ${cost.gas} (${(cost.gas / most).toFixed(2)})`);
    expect(most, `${name} ${cost.operator}`).toBeLessThanOrEqual(cost.gas);
  }
}

it.each(['lenet5', 'mnist-dwcnn', 'mnist-mlp', 'iris'])('%s', async (name) => {
  const { file } = shippedModel(name);
  const bundle = compileModel(readOnnx(readFileSync(file), file), { calibration: calibrationSamples(name, 40) });
  const { values, items } = encodeInputs(bundle, heldOutSamples(name, 1).samples[0]!);
  await compare(name, bundle.graph, values, items, 4);
});

it.each([1024, 4608, 16_384])('a contraction of %i products', async (K) => {
  const draw = seededRandom(K);
  const builder = new GraphBuilder();
  const x = builder.addInput('x', [K], { lo: -128, hi: 127 }, 1, 0);
  const int8 = (length: number): Int8Array => Int8Array.from({ length }, () => Math.floor(draw() * 256) - 128);
  const y = builder.add({
    kind: 'matmul',
    name: 'y',
    x,
    inFeatures: K,
    outFeatures: 2,
    weight: int8(2 * K),
    bias: null,
  });
  await compare(`K ${K}`, builder.finish('long', [y]), [Int32Array.from(int8(K))], 1, 1);
});

it('random nodes and networks', async () => {
  const draw = seededRandom(31);
  for (const kind of NODE_KINDS)
    for (let i = 0; i < 3; i++) {
      const { graph, inputs, items } = randomNodeCase(kind, draw);
      await compare(kind, graph, inputs, items, 2);
    }
  for (let i = 0; i < 10; i++) {
    const { graph, inputs, items } = randomGraph(draw);
    await compare('network', graph, inputs, items, 2);
  }
});
