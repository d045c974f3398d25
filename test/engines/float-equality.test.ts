/** The float lane: every engine gives what the float reference gives, within 1e-4. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AssayError } from '../../common/errors.js';
import type { Engine } from '../../executor/engine.js';
import { referenceEngine } from '../../executor/engines/reference.js';
import { openTfjsWasm } from '../../executor/engines/tfjs.js';
import { readOnnx, readTensorProto } from '../../graph/index.js';
import type { OnnxModel, Tensor } from '../../graph/index.js';
import { heldOutSamples, shippedModels } from '../../models/index.js';
import { ENGINES } from './open-engines.js';

const TOLERANCE = 1e-4;

/** The largest |found - expected| / max(1, |expected|); infinite where shapes, types or special values differ. */
function deviation(found: Tensor, expected: Tensor): number {
  if (found.type !== expected.type || found.shape.join() !== expected.shape.join()) return Infinity;
  let largest = 0;
  for (let index = 0; index < expected.data.length; index++) {
    const [a, b] = [Number(found.data[index]), Number(expected.data[index])];
    if (Object.is(a, b) || a === b) continue;
    const off = Math.abs(a - b) / Math.max(1, Math.abs(b));
    largest = Math.max(largest, Number.isNaN(off) ? Infinity : off);
  }
  return largest;
}

describe.each(Object.keys(ENGINES))('%s', (name) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await ENGINES[name]!();
  });
  afterAll(() => engine.close());

  it.each(shippedModels())('$name', async ({ name: modelName, file }) => {
    const bytes = readFileSync(file);
    const model = readOnnx(bytes, file);
    const session = await engine.loadFloat(bytes, model);
    const reference = await referenceEngine().loadFloat(bytes, model);
    for (const sample of heldOutSamples(modelName, 10).samples) {
      const [found, expected] = [await session.run(sample), await reference.run(sample)];
      expect([...found.keys()]).toEqual([...expected.keys()]);
      for (const [output, tensor] of expected) expect(deviation(found.get(output)!, tensor)).toBeLessThan(TOLERANCE);
    }
    await session.close();
    await reference.close();
  });
});

const FOLDER = '../shared/onnx-node-tests';

/** The node tests that TensorFlow.js must pass at least: operators whose float form a compiled model may have. */
const NEEDED = [
  'add', 'add_bcast', 'argmax_default_axis_example', 'averagepool_2d_ceil', 'averagepool_2d_default',
  'averagepool_2d_pads', 'averagepool_2d_pads_count_include_pad', 'averagepool_2d_same_lower',
  'averagepool_2d_same_upper', 'averagepool_2d_strides', 'averagepool_1d_default', 'basic_conv_with_padding',
  'basic_conv_without_padding', 'batchnorm_example', 'clip_default_inbounds', 'concat_2d_axis_1',
  'concat_3d_axis_negative_1', 'conv_with_autopad_same', 'conv_with_strides_and_asymmetric_padding',
  'conv_with_strides_no_padding', 'conv_with_strides_padding', 'div', 'dropout_default', 'elu', 'elu_example', 'erf', 'exp',
  'flatten_axis1', 'gemm_all_attributes', 'gemm_default_matrix_bias', 'gemm_transposeB', 'globalaveragepool',
  'globalmaxpool', 'hardsigmoid', 'hardswish', 'identity', 'leakyrelu', 'leakyrelu_example', 'logsoftmax_axis_1',
  'matmul_2d', 'matmul_3d', 'matmul_4d', 'max_example', 'maxpool_1d_default', 'maxpool_2d_ceil', 'maxpool_2d_default',
  'maxpool_2d_dilations', 'maxpool_2d_pads', 'maxpool_2d_same_lower', 'maxpool_2d_same_upper', 'maxpool_2d_strides',
  'min_example', 'mul', 'mul_bcast', 'neg', 'pow', 'relu', 'sigmoid', 'softmax_axis_0', 'softmax_axis_1', 'softmax_axis_2',
  'softmax_large_number', 'sqrt', 'sub', 'sub_bcast', 'sum_example', 'tanh', 'transpose_all_permutations_3', 'transpose_default',
]; // prettier-ignore

describe.skipIf(!existsSync(FOLDER))(`tfjs-wasm on the ONNX node tests (skipped where ${FOLDER} is absent)`, () => {
  it('agrees wherever it runs, runs at least the needed ones, and refuses the rest with a typed error', async () => {
    const engine = await openTfjsWasm();
    const passed = new Set<string>();
    const failed: Record<string, string> = {};
    for (const folder of readdirSync(FOLDER).filter((name) => name.startsWith('test_'))) {
      const outcome = await check(engine, folder);
      if (outcome === 'passed') passed.add(folder.slice('test_'.length));
      else if (outcome !== 'refused') failed[folder] = outcome;
    }
    await engine.close();
    console.log(`tfjs-wasm: ${passed.size} ONNX node tests passed`);
    expect(failed).toEqual({});
    expect(NEEDED.filter((name) => !passed.has(name))).toEqual([]);
  });
});

async function check(engine: Engine, folder: string): Promise<string> {
  const data = `${FOLDER}/${folder}/test_data_set_0`;
  try {
    const bytes = readFileSync(`${FOLDER}/${folder}/model.onnx`);
    const read = readOnnx(bytes, `${folder}/model.onnx`);
    const tensor = (file: string): Tensor => readTensorProto(readFileSync(`${data}/${file}`), file);
    const feeds = new Map(read.inputs.map(({ name }, index) => [name, tensor(`input_${index}.pb`)]));
    const { model, inputs } = withConstants(read, feeds);
    const session = await engine.loadFloat(bytes, model);
    try {
      const found = await session.run(inputs);
      for (const [index, { name }] of model.outputs.entries()) {
        const off = deviation(found.get(name)!, tensor(`output_${index}.pb`));
        if (!(off < 1e-3)) return `${name} deviates by ${off}`;
      }
      return 'passed';
    } finally {
      await session.close();
    }
  } catch (error) {
    return error instanceof AssayError && error.code !== 'INTERNAL' ? 'refused' : String(error);
  }
}

/** The vectors feed shapes and axes, which are integers, at run time; a model has them as constants. */
function withConstants(model: OnnxModel, feeds: ReadonlyMap<string, Tensor>) {
  const isConstant = (name: string, index: number): boolean => index > 0 && feeds.get(name)!.type === 'int64';
  const constants = model.inputs.filter(({ name }, index) => isConstant(name, index)).map(({ name }) => name);
  return {
    model: {
      ...model,
      inputs: model.inputs.filter(({ name }) => !constants.includes(name)),
      initializers: new Map([...model.initializers, ...constants.map((name) => [name, feeds.get(name)!] as const)]),
    },
    inputs: new Map([...feeds].filter(([name]) => !constants.includes(name))),
  };
}
