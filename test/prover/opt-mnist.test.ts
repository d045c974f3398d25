/** A real model with max pooling, proved on real digits; skipped where ../shared/onnx-models is absent. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { optMnistSample } from '../../benchmarks/models.js';
import { openEngine, outputsFrom } from '../../executor/index.js';
import { compileModel, encodeInputs, readOnnx } from '../../graph/index.js';
import { calibrationSamples, heldOutSamples } from '../../models/index.js';
import { checkProof, decodeModelKey } from '../../prover/index.js';
import { provedBatch } from './proved-model.js';

const FILE = '../shared/onnx-models/opt-mnist.onnx';
const DIGITS = 4;

test.skipIf(!existsSync(FILE))(`opt-mnist, ${DIGITS} digits (skipped without ${FILE})`, async () => {
  const bundle = compileModel(readOnnx(readFileSync(FILE), FILE), {
    calibration: calibrationSamples('lenet5', 50).map(optMnistSample),
  });
  const { samples, labels } = heldOutSamples('lenet5', DIGITS);
  const digits = samples.map(optMnistSample);
  const { key, proof } = await provedBatch(bundle, digits);
  const verdict = checkProof(proof, [decodeModelKey(key, 'key')], { acceptDevelopmentSrs: true });
  if (verdict.verdict === 'invalid') throw new Error(verdict.reason);
  const [group] = verdict.groups;
  const scores = group!.outputs[0]!;
  const found = Array.from({ length: DIGITS }, (_, item) => {
    const own = [...scores.subarray(10 * item, 10 * (item + 1))];
    return own.indexOf(Math.max(...own));
  });
  expect(found).toEqual([...labels]);

  // The same integers as onnxruntime gives for the exact graph.
  const engine = await openEngine('onnxruntime-cpu');
  const session = await engine.loadExact(bundle);
  const inputs = [Int32Array.from(digits.flatMap((digit) => [...encodeInputs(bundle, digit).values[0]!]))];
  expect(outputsFrom(bundle, await session.run(inputs, DIGITS))).toEqual(group!.outputs);
  await session.close();
  await engine.close();
});
