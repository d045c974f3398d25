/** Real ONNX files: the reference agrees with onnxruntime on random inputs. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Tensor } from '../tensor.js';
import { evaluateModel } from './evaluate-model.js';
import { prepareModel } from './prepare-model.js';
import { readOnnx } from './read-onnx.js';
import { difference } from './testing/differences.js';
import { runOnnxruntime } from './testing/one-node.js';
import { generator, randomTensor } from './testing/random.js';
import { unsupportedNodes } from './unsupported-nodes.js';

const FOLDER = '../shared/onnx-models';
/** Float models within this; the quantised ones bit for bit. */
const TOLERANCE = { relative: 1e-4, absolute: 1e-4 };
const EXACT = { relative: 0, absolute: 0 };

describe.skipIf(!existsSync(FOLDER))(`models of ${FOLDER} (skipped where absent)`, () => {
  it.each<[file: string, dims?: Record<string, number>]>([
    ['opt-mnist.onnx'],
    ['qrelu_1/model.onnx'],
    ['qsigmoid_1/model.onnx'],
    ['qtanh_1/model.onnx'],
    ['qtdnn_10x5_101_i32_biases/model.onnx', { 'input[0]': 10 }],
  ])('%s', async (file, dims = {}) => {
    const bytes = readFileSync(`${FOLDER}/${file}`);
    const model = readOnnx(bytes, file);
    expect(unsupportedNodes(model, { dims })).toEqual([]);
    const prepared = prepareModel(model, { dims });
    const tolerance = file.startsWith('q') ? EXACT : TOLERANCE;
    const next = generator(7);
    for (let sample = 0; sample < 20; sample++) {
      const feeds = new Map<string, Tensor>();
      for (const { name, type, shape } of prepared.inputs)
        feeds.set(name, randomTensor(next, type, shape, sample < 10 ? 1 : 100));
      const expected = await runOnnxruntime(bytes, feeds);
      const found = evaluateModel(prepared, feeds);
      for (const { name } of prepared.outputs)
        expect(difference(found.get(name)!, expected.get(name)!, tolerance)).toBeNull();
    }
  });
});
