/**
 * The backend node tests of ONNX: every folder whose nodes are all operators of ours must give the expected
 * outputs; every other folder stands in `node-tests.unsupported.json` with its reason, so that a newly failing
 * or newly passing one shows as a difference.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { AssayError } from '../../common/errors.js';
import type { Tensor } from '../tensor.js';
import { evaluateModel } from './evaluate-model.js';
import type { OnnxModel } from './model.js';
import { prepareModel } from './prepare-model.js';
import { readOnnx } from './read-onnx.js';
import { readTensorProto } from './read-tensor-proto.js';
import { difference } from './testing/differences.js';

const FOLDER = '../shared/onnx-node-tests';
const TOLERANCE = { relative: 1e-3, absolute: 1e-5 };

/** Folders whose expected output is not what the standard says. */
const WRONG_VECTORS: ReadonlyMap<string, string> = new Map([
  ...['2D_int8_float16', '2D_int8_float32', '3D_int8_float16', '3D_int8_float32'].map((variant): [string, string] => [
    `test_qlinearmatmul_${variant}`,
    'the expected output wraps (20 for -236) where QLinearMatMul saturates; onnxruntime saturates as we do',
  ]),
  [
    'test_cast_FLOAT_to_BFLOAT16',
    'the expected output truncates (0.498046875 for 0.49968487) where Cast rounds to the nearest, 0.5',
  ],
]);

it.skipIf(!existsSync(FOLDER))(`agrees with the node tests of ONNX (skipped where ${FOLDER} is absent)`, async () => {
  const passed: string[] = [];
  const unsupported: Record<string, string> = {};
  const failed: Record<string, string> = {};
  for (const folder of readdirSync(FOLDER).sort()) {
    if (!folder.startsWith('test_')) continue;
    const outcome = check(folder);
    if (outcome === null) passed.push(folder);
    else if ('reason' in outcome) unsupported[folder] = outcome.reason;
    else if (WRONG_VECTORS.has(folder)) unsupported[folder] = WRONG_VECTORS.get(folder)!;
    else failed[folder] = outcome.failure;
  }
  console.log(`ONNX node tests: ${passed.length} passed, ${Object.keys(unsupported).length} not supported`);
  expect(failed).toEqual({});
  await expect(`${JSON.stringify(unsupported, null, 2)}\n`).toMatchFileSnapshot('node-tests.unsupported.json');
});

function check(folder: string): { reason: string } | { failure: string } | null {
  const path = `${FOLDER}/${folder}`;
  const data = `${path}/test_data_set_0`;
  try {
    const model = readOnnx(readFileSync(`${path}/model.onnx`), 'model.onnx');
    const feeds = new Map<string, Tensor>();
    model.inputs.forEach(({ name, type }, index) => {
      feeds.set(
        name,
        asDeclared(readTensorProto(readFileSync(`${data}/input_${index}.pb`), `input_${index}.pb`), type),
      );
    });
    const { model: prepared, feeds: free } = prepareWithShapes(model, feeds);
    const values = evaluateModel(prepared, free);
    for (const [index, { name, type }] of model.outputs.entries()) {
      const expected = asDeclared(
        readTensorProto(readFileSync(`${data}/output_${index}.pb`), `output_${index}.pb`),
        type,
      );
      const found = difference(values.get(name)!, expected, TOLERANCE);
      if (found !== null) return { failure: `${name}: ${found}` };
    }
    return null;
  } catch (error) {
    if (!(error instanceof AssayError)) return { failure: String(error) };
    if (error.code === 'ONNX_NODE_UNSUPPORTED') {
      const nodes = error.meta['nodes'] as { op: string; reason: string }[];
      return { reason: [...new Set(nodes.map(({ op, reason }) => `${op}: ${reason}`))].join('; ') };
    }
    if (
      error.code === 'ONNX_TYPE_UNSUPPORTED' ||
      error.code === 'ONNX_OPSET_UNSUPPORTED' ||
      folder === 'test_nesterov_momentum'
    ) {
      return { reason: error.message };
    }
    return { failure: `${error.code} ${error.message}` };
  }
}

/** The vectors store bfloat16 under the type uint16. */
function asDeclared(tensor: Tensor, type: Tensor['type']): Tensor {
  return type === 'bfloat16' && tensor.type === 'uint16' ? ({ ...tensor, type } as Tensor) : tensor;
}

/**
 * The tests feed shapes, axes and slice bounds at run time; Assay wants them constant. Where the model does not
 * prepare with open inputs, those after the first are bound, then all.
 */
function prepareWithShapes(model: OnnxModel, feeds: ReadonlyMap<string, Tensor>) {
  const prepare = (free: number) => {
    const inputs = model.inputs.slice(0, free);
    const bound = model.inputs.slice(free).map(({ name }) => [name, feeds.get(name)!] as const);
    const prepared = prepareModel({ ...model, inputs, initializers: new Map([...model.initializers, ...bound]) });
    return { model: prepared, feeds: new Map(inputs.map(({ name }) => [name, feeds.get(name)!])) };
  };
  for (const free of [model.inputs.length, 1]) {
    try {
      return prepare(free);
    } catch (error) {
      if (!(error instanceof AssayError) || !error.message.includes('decides a shape')) throw error;
    }
  }
  return prepare(0);
}
