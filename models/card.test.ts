import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readOnnx } from '../graph/onnx/index.js';
import { shippedModel, shippedModels } from './index.js';
import { SeededRandom } from './random.js';
import { readCard, shareText } from './testing/card.js';
import { heldOutOf, runFloat } from './testing/onnxruntime.js';
import { countCorrect } from './train/fit.js';
import { RECIPES, type ModelName } from './train/recipes.js';

/** Least share of the held-out part that each model must get right. */
const LEAST_ACCURACY: Record<ModelName, number> = { lenet5: 0.985, 'mnist-dwcnn': 0.98, 'mnist-mlp': 0.96, iris: 0.95 };

describe('models/README.md', () => {
  const card = readCard();

  it('has a row for every shipped model', () => {
    expect(card.map(({ name }) => name).sort()).toEqual(
      shippedModels()
        .map(({ name }) => name)
        .sort(),
    );
  });

  it.each(card)('$name: size, hash, parameters and MACs are those of the file', ({ name, ...row }) => {
    const { file } = shippedModel(name);
    const bytes = readFileSync(file);
    const { initializers } = readOnnx(bytes, file);
    const { layers } = RECIPES[name as ModelName].build(new SeededRandom(0));
    const statistics = new Set(layers.statistics.map((statistic) => statistic.name));
    let parameters = 0;
    for (const [initializer, { data }] of initializers) if (!statistics.has(initializer)) parameters += data.length;
    expect({ bytes: row.bytes, sha256: row.sha256, parameters: row.parameters, macs: row.macs }).toEqual({
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      parameters,
      macs: layers.macs,
    });
    expect(bytes.length).toBeLessThan(1_000_000);
  });

  it.each(card)('$name: float accuracy is what onnxruntime measures', async ({ name, float }) => {
    const model = shippedModel(name);
    const heldOut = heldOutOf(model);
    const correct = countCorrect(await runFloat(model, heldOut), heldOut.labels);
    expect(float).toBe(shareText(correct, heldOut.count));
    expect(correct / heldOut.count).toBeGreaterThanOrEqual(LEAST_ACCURACY[name as ModelName]);
  });

  it('states the numbers of LeNet-5 that the literature gives', () => {
    expect(card.find(({ name }) => name === 'lenet5')).toMatchObject({ parameters: 61_706, macs: 416_520 });
  });
});
