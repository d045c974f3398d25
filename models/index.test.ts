import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { sizeOf } from '../graph/tensor.js';
import { loadMnist } from './data/mnist.js';
import { calibrationSamples, heldOutSamples, shippedModel, shippedModels } from './index.js';
import { packageRoot } from './model-file.js';
import { RECIPES } from './train/recipes.js';

describe('shippedModels', () => {
  it('lists every recipe, with the names that its file uses', () => {
    expect(
      shippedModels()
        .map(({ name, dataset, input, output }) => [name, dataset, input, output])
        .sort(),
    ).toEqual(
      Object.entries(RECIPES)
        .map(([name, { dataset, input, output }]) => [name, dataset, input.name, output])
        .sort(),
    );
    for (const { file } of shippedModels()) expect(existsSync(file), file).toBe(true);
  });

  it('refuses a name that is not shipped', () => {
    for (const ask of [
      shippedModel,
      (name: string) => heldOutSamples(name, 1),
      (name: string) => calibrationSamples(name, 1),
    ]) {
      expect(() => ask('lenet6')).toThrow(
        expect.objectContaining({ code: 'SHIPPED_MODEL_UNKNOWN', message: expect.stringContaining('lenet5') }),
      );
    }
  });
});

describe('calibrationSamples and heldOutSamples', () => {
  it.each(shippedModels().map(({ name }) => name))('%s: one float32 tensor of batch 1 per sample', (name) => {
    const { input, dataset } = shippedModel(name);
    const shape = dataset === 'mnist' ? [1, 1, 28, 28] : [1, 4];
    const { samples, labels } = heldOutSamples(name, 20);
    expect(labels.length).toBe(20);
    const calibration = calibrationSamples(name, 20);
    for (const list of [samples, calibration]) {
      expect(list.length).toBe(20);
      for (const sample of list) {
        expect([...sample.keys()]).toEqual([input]);
        const tensor = sample.get(input)!;
        expect([tensor.type, tensor.shape, tensor.data.length]).toEqual(['float32', shape, sizeOf(shape)]);
      }
    }
    expect(calibration[0]).not.toEqual(samples[0]);
  });

  it('keeps the order of the part, and gives at most what the part holds', () => {
    const { samples, labels } = heldOutSamples('lenet5', 3);
    const part = loadMnist('heldOut', 3);
    expect(labels).toEqual(part.labels);
    expect(samples[2]!.get('image')!.data).toEqual(part.values.subarray(2 * 784, 3 * 784));
    expect(calibrationSamples('iris', 500).length).toBe(shippedModel('iris').calibrationCount);
    expect(heldOutSamples('iris', 500).samples.length).toBe(shippedModel('iris').heldOutCount);
  });

  it('refuses a count that is no whole number', () => {
    expect(() => calibrationSamples('iris', 1.5)).toThrow(
      expect.objectContaining({ code: 'SAMPLE_COUNT_OUT_OF_RANGE' }),
    );
    expect(() => heldOutSamples('lenet5', -1)).toThrow(expect.objectContaining({ code: 'SAMPLE_COUNT_OUT_OF_RANGE' }));
  });
});

describe('packageRoot', () => {
  it('is the same from the source and from the built folder', () => {
    const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'assay-root-')));
    try {
      writeFileSync(path.join(root, 'package.json'), '{}');
      for (const folder of ['models', 'dist/models']) {
        mkdirSync(path.join(root, folder), { recursive: true });
        expect(packageRoot(path.join(root, folder))).toBe(root);
      }
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it('says where there is none', () => {
    expect(() => packageRoot(path.parse(process.cwd()).root)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
  });
});
