import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readOnnx } from '../../graph/onnx/index.js';
import { shippedModel, shippedModels } from '../index.js';
import { SeededRandom } from '../random.js';
import { heldOutOf, runFloat } from '../testing/onnxruntime.js';
import { predict } from './fit.js';
import { RECIPES, type ModelName } from './recipes.js';
import { trainModel } from './train-model.js';

/** The recipe's network with the weights of the shipped file. */
function shippedNetwork(name: ModelName) {
  const { layers } = RECIPES[name].build(new SeededRandom(0));
  const file = shippedModel(name).file;
  const { initializers } = readOnnx(readFileSync(file), file);
  const arrays = [...layers.parameters, ...layers.statistics];
  expect(arrays.map((array) => array.name).sort()).toEqual([...initializers.keys()].sort());
  for (const array of arrays) array.value.set(initializers.get(array.name)!.data as Float32Array);
  return layers;
}

/** Softmax of each row. */
function softmax(logits: Float64Array, classes: number): Float64Array {
  const result = logits.map(Math.exp);
  for (let first = 0; first < result.length; first += classes) {
    const row = result.subarray(first, first + classes);
    const sum = row.reduce((a, b) => a + b);
    row.forEach((value, k) => (row[k] = value / sum));
  }
  return result;
}

describe('shipped files', () => {
  it.each(shippedModels().map(({ name }) => name as ModelName))(
    '%s: onnxruntime gives the output of the trainer within 1e-4',
    async (name) => {
      const model = shippedModel(name);
      const network = shippedNetwork(name);
      const all = heldOutOf(model);
      const count = Math.min(200, all.count);
      const examples = { ...all, count, values: all.values.slice(0, (count * all.values.length) / all.count) };
      const logits = predict(network, examples);
      const expected = model.output === 'probabilities' ? softmax(logits, network.outputShape[0]!) : logits;
      const found = await runFloat(model, examples);
      expect(found.length).toBe(expected.length);
      const worst = found.reduce((error, value, i) => Math.max(error, Math.abs(value - expected[i]!)), 0);
      expect(worst).toBeLessThan(1e-4);
      // Not vacuous: the outputs differ from each other by far more.
      expect(Math.max(...found) - Math.min(...found)).toBeGreaterThan(0.5);
    },
  );
});

describe('trainModel', () => {
  it('gives the bytes of the shipped iris model', () => {
    const losses: number[] = [];
    const { bytes } = trainModel('iris', RECIPES.iris, (_epoch, loss) => losses.push(loss));
    expect(Buffer.from(bytes).equals(readFileSync(shippedModel('iris').file))).toBe(true);
    expect(losses.length).toBe(RECIPES.iris.fit.epochs);
    expect(losses[losses.length - 1]!).toBeLessThan(losses[0]! / 5);
  });

  it('gives other bytes for another seed', () => {
    const recipe = { ...RECIPES.iris, seed: 2, fit: { ...RECIPES.iris.fit, epochs: 1 } };
    const same = { ...recipe, seed: 1 };
    const train = (chosen: typeof recipe): Buffer => Buffer.from(trainModel('iris', chosen, () => undefined).bytes);
    expect(train(recipe).equals(train(same as typeof recipe))).toBe(false);
    expect(train(recipe).equals(train(recipe))).toBe(true);
  });
});
