/** Where EZKL is installed: a proof of a model of one product is checked, tampered with, and taken to another key. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeOnnx } from '../../../graph/onnx/write-onnx.js';
import { verifyEzkl } from './ezkl-file.js';
import { EzklProver } from './ezkl-prover.js';
import { Ezkl, ezklPython } from './ezkl.js';

const OTHER_HASH = '00'.repeat(32);

/** y = relu(W x): no lookup table, so that a circuit of 2^k small k does. */
const tinyModel = (): Uint8Array =>
  writeOnnx({
    name: 'tiny',
    opset: 17,
    inputs: [{ name: 'x', type: 'float32', shape: [1, 2] }],
    outputs: [{ name: 'y', type: 'float32', shape: [1, 2] }],
    nodes: [
      { name: 'product', op: 'Gemm', domain: '', inputs: ['x', 'w'], outputs: ['h'], attributes: new Map() },
      { name: 'relu', op: 'Relu', domain: '', inputs: ['h'], outputs: ['y'], attributes: new Map() },
    ],
    initializers: new Map([['w', { type: 'float32', shape: [2, 2], data: Float32Array.of(1, 2, -3, 0.5) }]]),
  });

test.skipIf(ezklPython() === null)('EZKL, installed: a proof holds, and no other does', async () => {
  const ezkl = await Ezkl.open(1);
  const prover = new EzklProver(ezkl, mkdtempSync(join(tmpdir(), 'assay-ezkl-test-')), tinyModel(), 'resources');
  try {
    const sample = new Map([['x', { type: 'float32' as const, shape: [1, 2], data: Float32Array.of(1, 0.25) }]]);
    const { logrows } = await prover.calibrate([sample]);
    await prover.setUp(logrows);
    const made = await prover.prove(sample, logrows);
    const [file, key] = [prover.proofFile(made), prover.key(logrows)];
    const verdict = await verifyEzkl(ezkl, file, key);
    expect(verdict).toMatchObject({ verdict: 'valid', inputs: [[1, 0.25]] });
    // 1 * 1 - 3 * 0.25 and 1 * 2 + 0.5 * 0.25, to EZKL's fixed point.
    if (verdict.verdict === 'valid')
      verdict.outputs[0]!.forEach((value, i) => expect(value).toBeCloseTo([0.25, 2.125][i]!, 1));

    const opened = JSON.parse(file.proof) as { instances: string[][]; pretty_public_inputs: unknown };
    const changed = structuredClone(opened);
    changed.instances[0]![2] = `01${changed.instances[0]![2]!.slice(2)}`;
    expect(await verifyEzkl(ezkl, { ...file, proof: JSON.stringify(changed) }, key)).toMatchObject({
      verdict: 'invalid',
    });
    // The readable outputs are bound by nothing: they are not what is shown.
    const decorated = { ...opened, pretty_public_inputs: null };
    const shown = await verifyEzkl(ezkl, { ...file, proof: JSON.stringify(decorated) }, key);
    expect(shown).toEqual(verdict);
    const short = { ...opened, instances: [opened.instances[0]!.slice(1)] };
    expect(await verifyEzkl(ezkl, { ...file, proof: JSON.stringify(short) }, key)).toMatchObject({
      verdict: 'invalid',
    });
    expect(await verifyEzkl(ezkl, { ...file, modelHash: OTHER_HASH }, key)).toMatchObject({ verdict: 'undetermined' });
    expect(await verifyEzkl(ezkl, file, { ...key, srsHash: OTHER_HASH })).toMatchObject({ verdict: 'undetermined' });
  } finally {
    await ezkl.close();
    prover.discard();
  }
});
