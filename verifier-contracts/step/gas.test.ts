/** What one step costs as a transaction of its own, calldata counted: what a model is accepted by. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildEvidence } from '../../fraud-proofs/step/build-evidence.js';
import { encodeEvidence } from '../../fraud-proofs/step/encode-evidence.js';
import { StepModel } from '../../fraud-proofs/step/step-model.js';
import { bundleOf, claimOf } from '../../fraud-proofs/step/testing/test-claims.js';
import { evaluateGraph, slotsOf } from '../../graph/index.js';
import { GraphBuilder } from '../../graph/integer/builder.js';
import { withLayouts } from '../../graph/integer/layout.js';
import { seededRandom } from '../../graph/integer/testing/random-graph.js';
import { COMPILE_TIMEOUT_MS, deployStep, type StepChain } from '../harness/step/step-fixture.js';

let chain: StepChain;
beforeAll(async () => {
  chain = await deployStep(16_384);
}, COMPILE_TIMEOUT_MS);
afterAll(() => chain.stop());

const random = seededRandom(5);
const bytes = (length: number): Int8Array => Int8Array.from({ length }, () => Math.floor(random() * 255) - 127);

/** Gas of showing that the last slot's middle element is wrong. */
async function gasOf(shape: number[], build: (b: GraphBuilder, x: number) => number): Promise<number> {
  const b = new GraphBuilder();
  const x = b.addInput('x', shape, { lo: -128, hi: 127 }, 1, 0);
  const graph = withLayouts(b.finish('gas', [build(b, x)]));
  const model = new StepModel(bundleOf(graph));
  const values = evaluateGraph(graph, [Int32Array.from(bytes(shape.reduce((p, s) => p * s, 1)))], 1);
  const slots = slotsOf(graph).map((id) => values[id]!);
  const element = Math.floor(slots.at(-1)!.length / 2);
  slots.at(-1)![element]! ^= 1;
  const claim = claimOf(model, slots, 1);
  const evidence = encodeEvidence(buildEvidence(model, claim, { fault: 'step', slot: slots.length - 1, element })!);
  return chain.transactionGas({ receipt: claim.receipt, fault: 'step', evidence });
}

const matmul =
  (inFeatures: number) =>
  (b: GraphBuilder, x: number): number =>
    b.add({ kind: 'matmul', name: 'y', x, inFeatures, outFeatures: 9, weight: bytes(9 * inFeatures), bias: null });

it('matmul of 400 bytes: below 0.25 M', async () => {
  expect(await gasOf([400], matmul(400))).toBeLessThan(250_000);
});

it('matmul of 16,384 bytes: below 2 M', async () => {
  expect(await gasOf([16_384], matmul(16_384))).toBeLessThan(2_000_000);
});

it('conv of 5 x 5 x 16: below 0.3 M', async () => {
  const window = { kernel: [5, 5], strides: [1, 1], dilations: [1, 1], pads: [2, 2, 2, 2] } as const;
  const conv = (b: GraphBuilder, x: number): number =>
    b.add({ kind: 'conv', name: 'y', x, window, groups: 1, outChannels: 8, weight: bytes(3200), bias: null });
  expect(await gasOf([16, 12, 12], conv)).toBeLessThan(300_000);
});

it('matmul over a flattened pooling, four reads to each of 400 products: below 0.65 M', async () => {
  const window = { kernel: [2, 2], strides: [2, 2], dilations: [1, 1], pads: [0, 0, 0, 0] } as const;
  const pooled = (b: GraphBuilder, x: number): number => {
    const sum = b.add({ kind: 'sumPool', name: 'sum', x, window });
    return matmul(400)(b, b.add({ kind: 'reshape', name: 'flat', x: sum }, { shape: [400] }));
  };
  expect(await gasOf([16, 10, 10], pooled)).toBeLessThan(650_000);
});
