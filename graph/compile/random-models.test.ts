/**
 * Random models: every one compiles, and the integer graph follows the float model. No seed is left out.
 */
import { expect, test } from 'vitest';
import { evaluateModel } from '../onnx/evaluate-model.js';
import { float64sOf } from '../onnx/numbers.js';
import { prepareModel } from '../onnx/prepare-model.js';
import { compileModel } from './compile.js';
import { runBundle } from './testing/compare.js';
import { buildModel, random, samplesOf } from './testing/models.js';
import { randomModel } from './testing/random-model.js';

/** Largest error over all outputs, as a share of the largest output. */
function relativeError(seed: number): number {
  const { spec, inputs } = randomModel(seed);
  const model = buildModel(spec);
  const calibration = samplesOf(inputs, 10, random(seed + 1));
  const bundle = compileModel(model, { calibration });
  const prepared = prepareModel(model, {});
  let worst = 0;
  let largest = 0;
  for (const sample of calibration.slice(0, 5)) {
    const float = evaluateModel(prepared, sample);
    for (const [name, tensor] of runBundle(bundle, sample)) {
      const found = float64sOf(tensor);
      float64sOf(float.get(name)!).forEach((x, i) => {
        worst = Math.max(worst, Math.abs(x - found[i]!));
        largest = Math.max(largest, Math.abs(x));
      });
    }
  }
  return largest === 0 ? worst : worst / largest;
}

/** Rounding of every value to 8 bits adds up over at most 8 nodes; what is wrong stands far above it. */
const TOLERANCE = 0.1;

test('random models of several outputs and readers stay within a tenth of their largest output', () => {
  const wrong: string[] = [];
  for (let seed = 0; seed < 200; seed++) {
    const error = relativeError(seed);
    if (!(error < TOLERANCE)) wrong.push(`seed ${seed}: ${error.toPrecision(3)}`);
  }
  expect(wrong).toEqual([]);
}, 60_000);
