import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERROR_CODES } from '../common/errors.js';
import { errorDocs } from './error-docs.js';

test('docs/errors.md lists exactly the codes of common/errors.ts (npm run docs:errors)', () => {
  expect(readFileSync('docs/errors.md', 'utf8')).toBe(errorDocs());
});

test('codes are sorted, so that two additions rarely touch the same line', () => {
  const codes = Object.keys(ERROR_CODES);
  expect(codes).toEqual([...codes].sort());
});
