/** Real files: compiled, run, compared with the float reference, the recorded outputs and onnxruntime. */
import { existsSync, readFileSync } from 'node:fs';
import ort from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { readOnnx } from '../onnx/read-onnx.js';
import type { Tensor } from '../tensor.js';
import { compileModel } from './compile.js';
import { runBundle } from './testing/compare.js';
import { random, randomFloats, floats } from './testing/models.js';
import { readNpz } from './testing/npz.js';

const FOLDER = '../shared/onnx-models';
const present = existsSync(FOLDER);
const QUANTISED = ['qrelu_1', 'qsigmoid_1', 'qtanh_1', 'qtdnn_10x5_101_i32_biases'] as const;

if (!present) console.warn(`${FOLDER} is absent: tests of real ONNX files are skipped`);

describe.skipIf(!present)('quantised models of tract', () => {
  test.each(QUANTISED)('%s agrees with its recorded outputs and with onnxruntime', async (folder) => {
    const file = `${FOLDER}/${folder}/model.onnx`;
    const bytes = readFileSync(file);
    const io = readNpz(readFileSync(`${FOLDER}/${folder}/io.npz`));
    const recorded = io.get('input')!;
    const next = random(11);
    const samples = [recorded, ...Array.from({ length: 40 }, () => randomFloats(recorded.shape, next, 1.5))].map(
      (x) => new Map<string, Tensor>([['input', x]]),
    );
    const session = await ort.InferenceSession.create(bytes);
    const answers = new Map<ReadonlyMap<string, Tensor>, ReadonlyMap<string, Tensor>>();
    for (const sample of samples) {
      const { shape, data } = sample.get('input')!;
      const { output } = await session.run({ input: new ort.Tensor('float32', data as Float32Array, shape) });
      answers.set(
        sample,
        new Map([['output', { type: 'float32', shape: output!.dims, data: output!.data as Float32Array }]]),
      );
    }
    const bundle = compileModel(readOnnx(bytes, file), {
      calibration: samples,
      dims: { 'input[0]': recorded.shape[0]! },
      oracle: (sample) => answers.get(sample)!,
    });
    const { elements, differing, maxUnits } = bundle.report.calibration.integerDifferences!;
    console.log(`${folder}: ${differing} of ${elements} integers differ from onnxruntime, by at most ${maxUnits}`);
    expect(elements).toBeGreaterThan(0);
    // Half up against half even: only ties may differ, by one.
    expect(maxUnits).toBeLessThanOrEqual(1);
    expect(differing / elements).toBeLessThan(0.01);
    const found = runBundle(bundle, samples[0]!).get('output')!;
    const expected = io.get('output')!;
    const { scale } = bundle.graph.tensors[bundle.graph.outputs[0]!]!;
    // The recording has the frames that the file's VALID convolution cuts off at both ends.
    const cut = (expected.data.length - found.data.length) / 2;
    (found.data as Float32Array).forEach((x, i) =>
      expect(Math.abs(x - (expected.data as Float32Array)[i + cut]!)).toBeLessThanOrEqual(1.001 * scale),
    );
  });
});

describe.skipIf(!present)('opt-mnist.onnx', () => {
  test('compiles and agrees with the float model', () => {
    const file = `${FOLDER}/opt-mnist.onnx`;
    const next = random(12);
    // Blobs rather than noise, so that activations look like those of digits.
    const image = (): Tensor => {
      const [row, column, radius] = [8 + 12 * next(), 8 + 12 * next(), 3 + 6 * next()];
      return floats([1, 1, 28, 28], (i) =>
        Math.round(255 * Math.exp(-(((Math.floor(i / 28) - row) ** 2 + ((i % 28) - column) ** 2) / radius ** 2))),
      );
    };
    const samples = (count: number) => Array.from({ length: count }, () => new Map([['Input3', image()]]));
    const bundle = compileModel(readOnnx(readFileSync(file), file), { calibration: samples(12), heldOut: samples(8) });
    const { report } = bundle;
    console.log(
      `opt-mnist: label agreement ${report.heldOut!.labelAgreement}, mean error ${report.heldOut!.meanAbsError.toFixed(1)}, warnings ${JSON.stringify(report.warnings)}`,
    );
    expect(report.parameters).toBe(5994);
    expect(report.heldOut!.labelAgreement).toBeGreaterThanOrEqual(0.75);
    expect(report.largestAccumulator.magnitude).toBeLessThan(2 ** 24);
    expect(bundle.inputs[0]).toMatchObject({ name: 'Input3', shape: [1, 1, 28, 28], batched: true });
  });
});
