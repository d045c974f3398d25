import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { shippedModel } from '../index.js';
import { RECIPES } from './recipes.js';
import { trainModel } from './train-model.js';

// The quick test beside this one does the same for iris; the two convolutional models take some ten minutes each.
it('gives the bytes of the shipped mnist-mlp model', { timeout: 600_000 }, () => {
  const { bytes } = trainModel('mnist-mlp', RECIPES['mnist-mlp'], () => undefined);
  expect(Buffer.from(bytes).equals(readFileSync(shippedModel('mnist-mlp').file))).toBe(true);
});
